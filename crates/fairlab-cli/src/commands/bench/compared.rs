//! Two forms of the same code side by side: rows, their table, and the form in which they are kept.

use std::fmt::Display;

use fairlab::stats::table::{Align, Table, significant};
use fairlab::stats::{
    Center, Comparison, ComparisonOptions, Direction, Sample, Verdict, adjust_for_many,
};
use fairlab_results::{Row, Series};

/// One figure in two forms.
#[derive(Clone, Debug)]
pub struct Compared {
    /// What the row belongs to: a machine, a kernel.
    pub group: String,
    /// The figure.
    pub name: String,
    /// `ns`, `instructions`.
    pub unit: &'static str,
    /// One value per round, state or run: before and after.
    pub values: [Vec<f64>; 2],
    /// The comparison of the centres; nothing where a side has no values.
    pub comparison: Option<Comparison>,
}

impl Compared {
    /// Compares the medians of `before` and `after`, of which less is better.
    pub fn new(
        (group, name): (impl Into<String>, impl Into<String>),
        unit: &'static str,
        values: [Vec<f64>; 2],
        (confidence, seed): (f64, u64),
    ) -> Self {
        let options = ComparisonOptions {
            center: Center::Median,
            confidence,
            seed,
            // Ends of intervals are shown with three digits.
            resamples: 2000,
            ..ComparisonOptions::new(Direction::LowerIsBetter)
        };
        let sample = |side: usize| Sample::new(values[side].clone()).ok();
        let comparison = sample(0)
            .zip(sample(1))
            .map(|(before, after)| Comparison::of(&before, &after, &options));
        Self {
            group: group.into(),
            name: name.into(),
            unit,
            values,
            comparison,
        }
    }
}

/// How the rows of [`table`] were measured and tested.
pub fn method(rounds: impl Display, confidence: impl Display) -> String {
    format!(
        "Medians of {rounds} interleaved rounds on this host; change with its {confidence}% \
         bootstrap interval; p by Mann-Whitney U, adjusted (Holm)."
    )
}

/// Adjusts p values for the number of rows that are read together.
pub fn adjust(rows: &mut [Compared]) {
    let mut comparisons: Vec<Comparison> = rows.iter().filter_map(|row| row.comparison).collect();
    adjust_for_many(&mut comparisons);
    let mut adjusted = comparisons.into_iter();
    for row in rows.iter_mut().filter(|row| row.comparison.is_some()) {
        row.comparison = adjusted.next();
    }
}

/// A table of medians: group, name, before, after, change with interval, p and verdict.
pub fn table(rows: &[Compared], forms: [&str; 2]) -> Table {
    let mut table = Table::new([
        ("", Align::Left),
        ("", Align::Left),
        ("unit", Align::Left),
        (forms[0], Align::Right),
        (forms[1], Align::Right),
        ("change", Align::Right),
        ("p", Align::Right),
        ("verdict", Align::Left),
    ]);
    let mut group = "";
    for row in rows {
        let shown = if row.group == group { "" } else { &row.group };
        group = &row.group;
        let mut cells = vec![shown.to_owned(), row.name.clone(), row.unit.to_owned()];
        match &row.comparison {
            Some(c) => cells.extend([
                significant(c.a.median, 5),
                significant(c.b.median, 5),
                c.change_text(),
                p_text(c.adjusted_p_value),
                verdict(c).to_owned(),
            ]),
            None => cells.extend(["-", "-", "-", "-", "not measured"].map(str::to_owned)),
        }
        table.row(cells);
    }
    table
}

/// A p value as tables show it.
pub fn p_text(p: Option<f64>) -> String {
    match p {
        Some(p) if p < 0.0001 => "<0.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
        None => "-".to_owned(),
    }
}

/// What may be claimed.
pub fn verdict(comparison: &Comparison) -> &'static str {
    match comparison.verdict() {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NoDifferenceProven => "no difference proven",
    }
}

/// The rows of both forms, as results are kept. Rows without values are left out.
pub fn series(rows: &[Compared], forms: [&str; 2]) -> Vec<Series> {
    let side = |side: usize| {
        let rows = rows.iter().filter(|row| !row.values[side].is_empty());
        let rows: Vec<Row> = rows
            .map(|row| Row {
                group: row.group.clone(),
                ..Row::new(
                    row.name.clone(),
                    row.unit,
                    Some(Direction::LowerIsBetter),
                    row.values[side].clone(),
                )
            })
            .collect();
        Series::new(forms[side], rows)
    };
    vec![side(0), side(1)]
}
