//! What was found in one input.

use core::ops::RangeInclusive;

use fairlab_stats::Direction;

use crate::format::Format;
use crate::model::Data;
use crate::number::Printed;

/// An input, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The file, or what stands for it in messages.
    pub name: String,
    /// What was understood, in the order of the text.
    pub blocks: Vec<Block>,
    /// Lines with text that no reader knows, and that label nothing.
    pub leftovers: Vec<Leftover>,
    /// What was decided on the way: encodings, decimal commas, columns.
    pub notes: Vec<String>,
}

/// A part of a text that one reader understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// What it is.
    pub format: Format,
    /// Its lines.
    pub lines: RangeInclusive<usize>,
    /// The text line that says which variant it belongs to: `before`, `vanilla`.
    pub label: Option<String>,
    /// The text line that says what it is about: a machine, a chapter.
    pub section: Option<String>,
    /// The command that was run, when the text shows it.
    pub command: Option<String>,
    /// Blocks under different labels have different numbers here.
    pub context: usize,
    /// The figures.
    pub measures: Vec<Measure>,
    /// Percentages, differences and sums that the text states beside its figures.
    pub claims: Vec<Claim>,
}

/// A figure in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The row's name.
    pub name: String,
    /// The column, when the text has one variant per column.
    pub column: Option<String>,
    /// The unit; empty when it is not known.
    pub unit: String,
    /// Which way is better, when the tool or the text says it.
    pub better: Option<Direction>,
    /// Values, or what is known about them.
    pub data: Data,
    /// The line, from 1.
    pub line: usize,
}

/// Something that a text says about its own figures, and that can be computed from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The line, from 1.
    pub line: usize,
    /// What it is about.
    pub row: String,
    /// What is said.
    pub stated: Printed,
    /// What it must follow from.
    pub from: Basis,
}

/// What a claim follows from.
#[derive(Clone, Debug, PartialEq)]
pub enum Basis {
    /// A change from the first to the second, in percent; a gain counts as positive or as negative,
    /// which the table as a whole decides.
    Percent(Printed, Printed),
    /// The second minus the first.
    Difference(Printed, Printed),
    /// The sum of these.
    Sum(Vec<Printed>),
    /// The same whole number, in another notation.
    Same(u64),
}

/// Lines that were not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The lines.
    pub lines: RangeInclusive<usize>,
    /// The first of them.
    pub text: String,
    /// Is there a number in them?
    pub has_numbers: bool,
}

impl Measure {
    /// A figure that is more than one value.
    pub(crate) fn of(
        line: usize,
        name: impl Into<String>,
        unit: impl Into<String>,
        better: Option<Direction>,
        data: Data,
    ) -> Self {
        Self {
            data,
            ..Self::value(line, name, unit, better, 0.0)
        }
    }

    /// One value.
    pub(crate) fn value(
        line: usize,
        name: impl Into<String>,
        unit: impl Into<String>,
        better: Option<Direction>,
        value: f64,
    ) -> Self {
        Self {
            name: name.into(),
            column: None,
            unit: unit.into(),
            better,
            data: Data::Values(vec![value]),
            line,
        }
    }

    /// The same in a column of this name.
    pub(crate) fn in_column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }
}
