//! What a simulated effect says about a published one.

use crate::agreement::EFFECT_THRESHOLD;
use crate::effect::{Effect, Sign};

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
    pub fn of(published: Option<f64>, is_control: bool, simulated: &Effect) -> Self {
        let proven = if simulated.estimate.abs() < NEGLIGIBLE {
            Sign::None
        } else {
            simulated.sign()
        };
        match (is_control, proven) {
            (true, Sign::None) => return Self::ControlHolds,
            (true, _) => return Self::ControlBroken,
            (false, _) => {}
        }
        match published {
            Some(effect) if effect.abs() >= EFFECT_THRESHOLD => match (proven, effect > 0.0) {
                (Sign::None, _) => Self::NotProven,
                (Sign::Better, true) | (Sign::Worse, false) => Self::Agrees,
                _ => Self::Disagrees,
            },
            _ => Self::Small,
        }
    }
}

/// Simulated runs vary so little that a difference of next to nothing can be proven. Below this part of the
/// baseline it stands for no published effect, and breaks no control.
pub(crate) const NEGLIGIBLE: f64 = EFFECT_THRESHOLD / 10.0;
