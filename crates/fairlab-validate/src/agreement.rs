//! How often the simulator agrees with what was published.

use fairlab_stats::{kendall, spearman};

use crate::effect::Effect;
use crate::run::{CaseResult, PointResult};
use crate::verdict::{NEGLIGIBLE, Verdict};

/// Published effects below this part of the baseline are not judged by their sign: most posts call that
/// noise.
pub const EFFECT_THRESHOLD: f64 = 0.03;

/// Signs, controls and correlation over cases, or over points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Effects that are judged by their sign.
    pub judged: usize,
    /// Proven, with the published sign.
    pub agree: usize,
    /// No difference proven.
    pub not_proven: usize,
    /// The estimate has the published sign, proven or not. An estimate of less than a tenth of the
    /// threshold has no sign.
    pub sign_right: usize,
    /// Proven, with the other sign.
    pub disagree: usize,
    /// Published effects below the threshold.
    pub small: usize,
    /// Controls.
    pub controls: usize,
    /// Controls with a proven difference.
    pub broken: usize,
    /// Of those, how many stay below the threshold.
    pub barely_broken: usize,
    /// Spearman's rho of published and simulated effects, controls left out.
    pub spearman: Option<f64>,
    /// Kendall's tau-b of the same.
    pub kendall: Option<f64>,
}

/// What a set of cases says together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Per case.
    pub cases: Tally,
    /// Per point.
    pub points: Tally,
}

/// One effect, as the tally sees it.
struct Entry {
    verdict: Verdict,
    published: Option<f64>,
    simulated: Option<f64>,
}

impl Agreement {
    /// Of these cases.
    #[must_use]
    pub fn of<'a>(cases: impl IntoIterator<Item = &'a CaseResult> + Clone) -> Self {
        let estimate = |c: &Option<Effect>| c.as_ref().map(|effect| effect.estimate);
        let case = |c: &CaseResult| Entry {
            verdict: c.verdict,
            published: c.published,
            simulated: estimate(&c.simulated),
        };
        let point = |p: &PointResult| Entry {
            verdict: p.verdict,
            published: p.published,
            simulated: estimate(&p.simulated),
        };
        let points = cases.clone().into_iter().flat_map(|c| &c.points);
        Self {
            points: Tally::of(points.map(point)),
            cases: Tally::of(cases.into_iter().map(case)),
        }
    }
}

impl Tally {
    fn of(entries: impl Iterator<Item = Entry>) -> Self {
        let mut tally = Self::default();
        let mut pairs = Vec::new();
        for entry in entries {
            let is_control = matches!(
                entry.verdict,
                Verdict::ControlHolds | Verdict::ControlBroken
            );
            let both = entry.published.zip(entry.simulated);
            if !is_control {
                pairs.extend(both);
            }
            match entry.verdict {
                Verdict::Agrees => {
                    tally.agree += 1;
                    tally.sign_right += 1;
                }
                Verdict::NotProven => {
                    tally.not_proven += 1;
                    let is_right = both.is_some_and(|(p, s)| p * s > 0.0 && s.abs() >= NEGLIGIBLE);
                    tally.sign_right += usize::from(is_right);
                }
                Verdict::Disagrees => tally.disagree += 1,
                Verdict::Small => tally.small += 1,
                Verdict::ControlHolds => tally.controls += 1,
                Verdict::ControlBroken => {
                    tally.controls += 1;
                    tally.broken += 1;
                    let barely = entry.simulated.is_some_and(|s| s.abs() < EFFECT_THRESHOLD);
                    tally.barely_broken += usize::from(barely);
                }
            }
        }
        tally.judged = tally.agree + tally.not_proven + tally.disagree;
        tally.spearman = spearman(&pairs);
        tally.kendall = kendall(&pairs);
        tally
    }

    /// The part of the judged effects whose estimate has the published sign. None when none is judged.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.sign_right as f64 / self.judged as f64)
    }
}
