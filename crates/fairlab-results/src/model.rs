//! What was measured.

use std::collections::BTreeMap;

use fairlab_stats::{Direction, Sample, Summary};

/// What was recorded about the machine and its settings: free names, free values.
pub type Environment = BTreeMap<String, serde_json::Value>;

/// The outcome of a benchmark: one or more variants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// What measured: `hackbench`, `fairlab bench fork`; empty when it is not known.
    pub tool: String,
    /// The command with its arguments; empty when it is not known.
    pub command: Vec<String>,
    /// What was recorded about machine and settings, for all series.
    pub environment: Environment,
    /// The variants, the baseline first.
    pub series: Vec<Series>,
}

/// One variant: a kernel, a setting, a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// `before`, `6.12`, a file's name.
    pub name: String,
    /// The command, where it differs from that of the other series; empty otherwise.
    pub command: Vec<String>,
    /// What was recorded for this series alone.
    pub environment: Environment,
    /// The figures, in the order of the tool.
    pub rows: Vec<Row>,
}

/// One figure of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the row belongs to, when names alone would be mistaken for each other: a tool, a
    /// machine, a block; often empty.
    pub group: String,
    /// `fork+exit`, `wakeup 99.0th`, a number of clients.
    pub name: String,
    /// `us`, `MB/s`, `bytes`; empty for counts and where it is not known.
    pub unit: String,
    /// Which way is better; `None` when nobody said.
    pub better: Option<Direction>,
    /// The numbers.
    pub data: Data,
}

/// The numbers of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// One per run, in the order of measurement; finite, at least one.
    Values(Vec<f64>),
    /// What a table says about values that it does not show.
    Figures(Figures),
}

/// What a table says about values that it does not show. At least one is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Number of values.
    pub n: Option<u64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Middle value.
    pub median: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Sample standard deviation.
    pub stddev: Option<f64>,
    /// Standard error of the mean, where a tool states it without the number of values.
    pub sem: Option<f64>,
}

impl Row {
    /// A row of values, one per run, without a group.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        unit: impl Into<String>,
        better: Option<Direction>,
        values: impl Into<Vec<f64>>,
    ) -> Self {
        Self {
            group: String::new(),
            name: name.into(),
            unit: unit.into(),
            better,
            data: Data::Values(values.into()),
        }
    }

    /// Group and name as one text: `schbench: wakeup 99.0th`.
    #[must_use]
    pub fn full_name(&self) -> String {
        if self.group.is_empty() {
            self.name.clone()
        } else {
            format!("{}: {}", self.group, self.name)
        }
    }

    /// The values as a sample; `None` when only a summary is known, or a value is not finite.
    #[must_use]
    pub fn sample(&self) -> Option<Sample> {
        match &self.data {
            Data::Values(values) => Sample::new(values.clone()).ok(),
            Data::Figures(_) => None,
        }
    }
}

impl Data {
    /// What is known about the values, computed where they are there.
    #[must_use]
    pub fn figures(&self) -> Figures {
        match self {
            Self::Figures(figures) => *figures,
            Self::Values(values) => match Sample::new(values.clone()) {
                Ok(sample) => Figures::from(sample.summary()),
                Err(_) => Figures::default(),
            },
        }
    }
}

impl Figures {
    /// The mean, or else the median: what stands for the values in a table.
    #[must_use]
    pub fn center(&self) -> Option<f64> {
        self.mean.or(self.median)
    }

    /// All six, when all are known.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        Some(Summary {
            n: self.n?,
            min: self.min?,
            max: self.max?,
            median: self.median?,
            mean: self.mean?,
            stddev: self.stddev?,
        })
    }
}

impl From<Summary> for Figures {
    fn from(summary: Summary) -> Self {
        Self {
            n: Some(summary.n),
            min: Some(summary.min),
            max: Some(summary.max),
            median: Some(summary.median),
            mean: Some(summary.mean),
            stddev: Some(summary.stddev),
            sem: None,
        }
    }
}

impl Series {
    /// A series of this name with these rows.
    #[must_use]
    pub fn new(name: impl Into<String>, rows: impl Into<Vec<Row>>) -> Self {
        Self {
            name: name.into(),
            rows: rows.into(),
            ..Self::default()
        }
    }

    /// The row of this group and name.
    #[must_use]
    pub fn row(&self, group: &str, name: &str) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.group == group && row.name == name)
    }
}
