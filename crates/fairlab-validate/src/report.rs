//! The results as text and as JSON.

use std::fmt::Write as _;

use fairlab_stats::table::{Align, Table};
use serde::Serialize;

use crate::agreement::{Agreement, EFFECT_THRESHOLD, Tally};
use crate::effect::Effect;
use crate::run::{CaseResult, PointResult};
use crate::scenario::Scenario;

/// A case, for JSON. Effects are parts of the baseline; positive is better.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// Its name.
    pub id: String,
    /// Where it was posted.
    pub link: Option<String>,
    /// Why it is not simulated; then there is nothing else.
    pub not_expressible: Option<String>,
    /// The published effect over all points.
    pub published: Option<f64>,
    /// The simulated one: estimate, and the ends of its interval.
    pub simulated: Option<[f64; 3]>,
    /// See [`crate::Verdict::name`].
    pub verdict: Option<&'static str>,
    /// Runs of each kernel at each point that were made.
    pub runs: Option<usize>,
    /// The points that were simulated.
    pub points: Vec<PointReport>,
    /// The points that were not, with the reason.
    pub skipped: Vec<(String, String)>,
}

/// A point, for JSON.
#[derive(Clone, Debug, Serialize)]
pub struct PointReport {
    /// As the post names it.
    pub load: String,
    /// The published effect.
    pub published: Option<f64>,
    /// The simulated one: estimate, and the ends of its interval.
    pub simulated: Option<[f64; 3]>,
    /// Median of the metric without and with the change.
    pub medians: Option<[f64; 2]>,
    /// P value of the test.
    pub p_value: Option<f64>,
    /// See [`crate::Verdict::name`].
    pub verdict: &'static str,
    /// Did the two kernels do the same, event by event?
    pub is_identical: bool,
}

/// Everything, for JSON.
#[derive(Clone, Debug, Serialize)]
pub struct FullReport {
    /// Version of this program.
    pub version: &'static str,
    /// Runs of each kernel at each point, to begin with.
    pub runs: u32,
    /// Most runs of each kernel at each point.
    pub most_runs: u32,
    /// Seed of the runs.
    pub seed: u64,
    /// Level of intervals and verdicts.
    pub confidence: f64,
    /// Published effects from this on are judged by their sign.
    pub threshold: f64,
    /// The cases.
    pub cases: Vec<CaseReport>,
    /// Over cases.
    pub by_case: TallyReport,
    /// Over points.
    pub by_point: TallyReport,
}

/// See [`Tally`].
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the fields are those of the tally")]
pub struct TallyReport {
    pub judged: usize,
    pub agree: usize,
    pub not_proven: usize,
    pub sign_right: usize,
    pub disagree: usize,
    pub below_threshold: usize,
    pub controls: usize,
    pub controls_broken: usize,
    pub controls_broken_below_threshold: usize,
    pub spearman: Option<f64>,
    pub kendall: Option<f64>,
}

impl From<&Tally> for TallyReport {
    fn from(tally: &Tally) -> Self {
        Self {
            judged: tally.judged,
            agree: tally.agree,
            not_proven: tally.not_proven,
            sign_right: tally.sign_right,
            disagree: tally.disagree,
            below_threshold: tally.small,
            controls: tally.controls,
            controls_broken: tally.broken,
            controls_broken_below_threshold: tally.barely_broken,
            spearman: tally.spearman,
            kendall: tally.kendall,
        }
    }
}

impl CaseReport {
    /// Of a case that was simulated, or of one that cannot be.
    #[must_use]
    pub fn of(scenario: &Scenario, result: Option<&CaseResult>) -> Self {
        let skipped = scenario.points.iter().filter_map(|point| {
            let reason = point.skip.clone()?;
            Some((point.load.clone(), reason))
        });
        Self {
            id: scenario.id.clone(),
            link: scenario.link.clone(),
            not_expressible: scenario.not_expressible.clone(),
            published: result.and_then(|r| r.published),
            simulated: result
                .and_then(|r| r.simulated.as_ref())
                .map(Effect::numbers),
            verdict: result.map(|r| r.verdict.name()),
            runs: result.map(CaseResult::runs),
            points: result.map_or(Vec::new(), |r| {
                r.points.iter().map(PointReport::of).collect()
            }),
            skipped: skipped.collect(),
        }
    }
}

impl PointReport {
    fn of(point: &PointResult) -> Self {
        let simulated = point.simulated.as_ref();
        Self {
            load: point.load.clone(),
            published: point.published,
            simulated: simulated.map(Effect::numbers),
            medians: simulated.map(|effect| effect.medians),
            p_value: simulated.map(|effect| effect.p_value),
            verdict: point.verdict.name(),
            is_identical: point.is_identical,
        }
    }
}

fn percent(part: f64) -> String {
    format!("{:+.1}", part * 100.0)
}

fn cells(published: Option<f64>, simulated: Option<&Effect>) -> [String; 2] {
    let published = published.map_or("-".into(), percent);
    let simulated = simulated.map_or("-".into(), |effect| {
        let ends = effect.interval.map(|ends| ends.map(percent));
        let [low, high] = ends.unwrap_or_else(|| ["-", "-"].map(String::from));
        format!("{} [{low}, {high}]", percent(effect.estimate))
    });
    [published, simulated]
}

/// A case and its points as a table; effects in percent, positive is better.
#[must_use]
pub fn text_of_case(scenario: &Scenario, result: &CaseResult) -> String {
    let columns = [
        ("", Align::Left),
        ("published", Align::Right),
        ("simulated", Align::Right),
        ("verdict", Align::Left),
    ];
    let mut table = Table::new(columns);
    for point in &result.points {
        let simulated = point.simulated.as_ref();
        let [published, simulated] = cells(point.published, simulated);
        let same = if point.is_identical {
            " (same events)"
        } else {
            ""
        };
        let verdict = format!("{}{same}", point.verdict.name());
        table.row([format!("  {}", point.load), published, simulated, verdict]);
    }
    let simulated = result.simulated.as_ref();
    let [published, simulated] = cells(result.published, simulated);
    let verdict = result.verdict.name().to_owned();
    table.row(["  all".to_owned(), published, simulated, verdict]);
    let mut text = format!(
        "{}: {}\n{}",
        scenario.id,
        scenario.benchmark,
        table.to_text()
    );
    for point in &scenario.points {
        if let Some(reason) = &point.skip {
            let _ = writeln!(text, "  {}: not simulated: {reason}", point.load);
        }
    }
    text
}

/// What the cases say together. `not_expressible` are those that were not simulated.
#[must_use]
pub fn text_of_agreement(agreement: &Agreement, not_expressible: &[&Scenario]) -> String {
    let mut text = String::new();
    let threshold = EFFECT_THRESHOLD * 100.0;
    for (what, tally) in [("cases", &agreement.cases), ("points", &agreement.points)] {
        let share = tally
            .share()
            .map_or("-".into(), |s| format!("{:.0} %", s * 100.0));
        let _ = writeln!(
            text,
            "{what}: sign right in {} of {} with a published effect of {threshold:.0} % or more ({share}); \
             proven right {}, not proven {}, proven wrong {}; {} below {threshold:.0} %",
            tally.sign_right,
            tally.judged,
            tally.agree,
            tally.not_proven,
            tally.disagree,
            tally.small,
        );
        let number = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.2}"));
        let _ = writeln!(
            text,
            "{what}: rank correlation of published and simulated effects: Spearman {}, Kendall {}",
            number(tally.spearman),
            number(tally.kendall),
        );
        let _ = writeln!(
            text,
            "{what}: {} of {} controls hold; {} broken, of which {} by less than {threshold:.0} %",
            tally.controls - tally.broken,
            tally.controls,
            tally.broken,
            tally.barely_broken,
        );
    }
    if !not_expressible.is_empty() {
        let _ = writeln!(text, "\nNot expressible: {}", not_expressible.len());
        for scenario in not_expressible {
            let reason = scenario.not_expressible.as_deref().unwrap_or_default();
            let _ = writeln!(text, "  {}: {reason}", scenario.id);
        }
    }
    text
}
