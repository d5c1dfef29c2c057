//! A scenario file: one published result, and what to simulate for it.

use fairlab_stats::Direction;
use serde::Deserialize;

use crate::error::{ScenarioError, place};
use crate::metric::Metric;
use crate::number::number;

/// Which way of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Times, latencies, counts of work.
    Lower,
    /// Throughput.
    Higher,
}

impl Better {
    /// As the comparison of samples calls it.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Self::Lower => Direction::LowerIsBetter,
            Self::Higher => Direction::HigherIsBetter,
        }
    }

    /// The change from `a` to `b` as a part of `a`, positive when it is better.
    #[must_use]
    pub fn effect(self, a: f64, b: f64) -> Option<f64> {
        let change = (b - a) / a;
        let signed = match self {
            Self::Lower => -change,
            Self::Higher => change,
        };
        signed.is_finite().then_some(signed)
    }
}

/// A published result, and what to simulate for it. The fields are those of the file;
/// `scenarios/README.md` describes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name, that of the file.
    pub id: String,
    /// Where it was posted.
    #[serde(default)]
    pub link: Option<String>,
    /// The commit that the result belongs to.
    #[serde(default)]
    pub commit: Option<String>,
    /// What the change does, in a sentence.
    pub change: String,
    /// The tool that was run, and what it measured.
    pub benchmark: String,
    /// The machine: a name of the catalogue or a short spec.
    #[serde(default)]
    pub machine: Option<String>,
    /// The kernel without the change.
    #[serde(default)]
    pub kernel_a: Option<String>,
    /// The kernel with the change.
    #[serde(default)]
    pub kernel_b: Option<String>,
    /// The workload; `{n}` is the point's number.
    #[serde(default)]
    pub workload: Option<String>,
    /// A workload file's text instead; `{n}` as above.
    #[serde(default)]
    pub program: Option<String>,
    /// Simulated time before measuring starts, in ms; it comes on top of the workload's own time.
    #[serde(default)]
    pub warmup_ms: u64,
    /// What is measured.
    #[serde(default)]
    pub metric: Option<String>,
    /// Which way of it is better.
    pub better: Better,
    /// Nothing should change: all points are controls.
    #[serde(default)]
    pub control: bool,
    /// Why this cannot be simulated.
    #[serde(default)]
    pub not_expressible: Option<String>,
    /// What was assumed, where the post leaves something open.
    #[serde(default)]
    pub note: Option<String>,
    /// The measured points.
    #[serde(default, rename = "point")]
    pub points: Vec<Point>,
}

/// A measured point. What it does not say is that of the scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// As the post names it.
    pub load: String,
    /// The number in the workload.
    #[serde(default)]
    pub n: Option<u64>,
    /// The measured value without the change, as posted.
    #[serde(default)]
    pub baseline: Option<String>,
    /// With the change.
    #[serde(default)]
    pub changed: Option<String>,
    /// The change in percent, as posted; positive is better.
    #[serde(default)]
    pub pct: Option<String>,
    /// See [`Scenario::machine`].
    #[serde(default)]
    pub machine: Option<String>,
    /// See [`Scenario::kernel_a`].
    #[serde(default)]
    pub kernel_a: Option<String>,
    /// See [`Scenario::kernel_b`].
    #[serde(default)]
    pub kernel_b: Option<String>,
    /// See [`Scenario::workload`].
    #[serde(default)]
    pub workload: Option<String>,
    /// See [`Scenario::metric`].
    #[serde(default)]
    pub metric: Option<String>,
    /// See [`Scenario::better`].
    #[serde(default)]
    pub better: Option<Better>,
    /// Nothing should change here.
    #[serde(default)]
    pub control: bool,
    /// Why this point is not simulated although the case is.
    #[serde(default)]
    pub skip: Option<String>,
}

impl Point {
    /// The published effect, as a part of the baseline; positive is better.
    ///
    /// It comes from the two values; from the posted percentage where they do not say it.
    #[must_use]
    pub fn effect(&self, better: Better) -> Option<f64> {
        let value = |text: &Option<String>| text.as_deref().and_then(number);
        let better = self.better.unwrap_or(better);
        let of_values = || better.effect(value(&self.baseline)?, value(&self.changed)?);
        of_values().or_else(|| value(&self.pct).map(|percent| percent / 100.0))
    }
}

impl Scenario {
    /// Reads the scenario in `text`, which comes from `file`.
    ///
    /// # Errors
    /// With its place, when something is not understood or missing.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = toml::from_str(text).map_err(|error| {
            let (line, column) = place(text, error.span().map_or(0, |span| span.start));
            ScenarioError::Syntax {
                file: file.to_owned(),
                line,
                column,
                message: error.message().to_owned(),
            }
        })?;
        scenario.check(file)?;
        Ok(scenario)
    }

    /// Can it be simulated?
    #[must_use]
    pub fn is_expressible(&self) -> bool {
        self.not_expressible.is_none()
    }

    /// The points that are simulated.
    pub fn simulated(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.skip.is_none())
    }

    /// What is measured at `point`.
    ///
    /// # Errors
    /// A sentence that says what is wanted.
    pub fn metric_of(&self, point: &Point) -> Result<Metric, String> {
        let text = point.metric.as_ref().or(self.metric.as_ref());
        text.ok_or("a metric is wanted, like \"time\"")?.parse()
    }

    fn check(&self, file: &str) -> Result<(), ScenarioError> {
        let wrong = |at: String, message: String| {
            Err(ScenarioError::Value {
                file: file.to_owned(),
                at,
                message,
            })
        };
        if self.id.is_empty()
            || file
                .strip_suffix(".toml")
                .is_some_and(|name| name != self.id)
        {
            let message = format!("'{}' is not the name of the file without .toml", self.id);
            return wrong("id".into(), message);
        }
        if !self.is_expressible() {
            return Ok(());
        }
        if self.simulated().next().is_none() {
            let message = "at least one [[point]] without 'skip' is wanted, or 'not_expressible' with the \
                           reason";
            return wrong("point".into(), message.into());
        }
        for point in self.simulated() {
            let at = |what: &str| format!("point \"{}\": {what}", point.load);
            if let Err(message) = self.metric_of(point) {
                return wrong(at("metric"), message);
            }
            let is_control = self.control || point.control;
            if !is_control && point.effect(self.better).is_none() {
                let message =
                    "baseline and changed as numbers are wanted, or pct; or 'skip' with the reason";
                return wrong(at("baseline"), message.into());
            }
        }
        Ok(())
    }
}
