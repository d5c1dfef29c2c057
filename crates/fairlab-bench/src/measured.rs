//! What a measurement gave.

use fairlab_stats::Direction;

/// One figure of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the tool calls it: `fork+exit`, `wakeup 99.0th`.
    pub name: String,
    /// `us`, `s`, `MB/s`, `ops/s` ...
    pub unit: String,
    /// Which way is better.
    pub better: Direction,
    /// The value.
    pub value: f64,
}

impl Row {
    /// A row where less is better.
    pub fn lower(name: impl Into<String>, unit: impl Into<String>, value: f64) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            better: Direction::LowerIsBetter,
            value,
        }
    }

    /// A row where more is better.
    pub fn higher(name: impl Into<String>, unit: impl Into<String>, value: f64) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            better: Direction::HigherIsBetter,
            value,
        }
    }
}

/// One run of a load: what its tool would print, and the figures in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// In the tool's own form, with the line end.
    pub text: String,
    /// The figures, the most quoted first.
    pub rows: Vec<Row>,
}
