//! What a simulated effect says about a published one.

use fairlab_stats::{Comparison, Verdict as Proven};

use crate::agreement::EFFECT_THRESHOLD;
use crate::run::effect;

/// What a simulated effect says about a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// A difference is proven, in the published direction.
    Agrees,
    /// No difference is proven, or one that is too small to count.
    NotProven,
    /// A difference is proven, in the other direction.
    Disagrees,
    /// The published effect is below the threshold, so its sign is not judged.
    Small,
    /// Nothing should change, and no difference is proven.
    ControlHolds,
    /// Nothing should change, and a difference is proven.
    ControlBroken,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Agrees,
        Self::NotProven,
        Self::Disagrees,
        Self::Small,
        Self::ControlHolds,
        Self::ControlBroken,
    ];

    /// As tables and JSON call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::NotProven => "not proven",
            Self::Disagrees => "disagrees",
            Self::Small => "not judged",
            Self::ControlHolds => "control holds",
            Self::ControlBroken => "control broken",
        }
    }

    /// The verdict on `simulated`, where `published` was measured.
    #[must_use]
    pub fn of(published: Option<f64>, is_control: bool, simulated: &Comparison) -> Self {
        let proven = if is_negligible(simulated) {
            Proven::NoDifferenceProven
        } else {
            simulated.verdict()
        };
        match (is_control, proven) {
            (true, Proven::NoDifferenceProven) => return Self::ControlHolds,
            (true, _) => return Self::ControlBroken,
            (false, _) => {}
        }
        match published {
            Some(effect) if effect.abs() >= EFFECT_THRESHOLD => match (proven, effect > 0.0) {
                (Proven::NoDifferenceProven, _) => Self::NotProven,
                (Proven::Better, true) | (Proven::Worse, false) => Self::Agrees,
                _ => Self::Disagrees,
            },
            _ => Self::Small,
        }
    }
}

/// Simulated runs vary so little that a difference of next to nothing can be proven. Below this part of the
/// baseline it stands for no published effect, and breaks no control.
pub(crate) const NEGLIGIBLE: f64 = EFFECT_THRESHOLD / 10.0;

fn is_negligible(simulated: &Comparison) -> bool {
    effect(simulated).is_some_and(|[estimate, _, _]| estimate.abs() < NEGLIGIBLE)
}
