//! N Min Max Median Avg Stddev Improvement

use super::{Align, Rounding, Table, percent, significant};
use crate::{Direction, Summary};

/// Digits of a number in such a table, as ministat has them.
const DIGITS: usize = 8;

/// A row per summary. Every row after the first says by how much its mean is better than that of the
/// first, in percent (negative: worse), cut towards zero as the published tables are.
#[must_use]
pub fn ministat<'a>(
    rows: impl IntoIterator<Item = (&'a str, Summary)>,
    direction: Direction,
) -> Table {
    let mut table = Table::new([
        ("", Align::Left),
        ("N", Align::Right),
        ("Min", Align::Right),
        ("Max", Align::Right),
        ("Median", Align::Right),
        ("Avg", Align::Right),
        ("Stddev", Align::Right),
        ("Improvement", Align::Right),
    ]);
    let mut baseline: Option<f64> = None;
    for (label, summary) in rows {
        let improvement = match baseline {
            None => String::new(),
            Some(0.0) => "-".to_owned(),
            Some(before) => {
                let change = (summary.mean - before) / before.abs();
                let gain = match direction {
                    Direction::LowerIsBetter => -change,
                    Direction::HigherIsBetter => change,
                };
                format!("{}%", percent(gain, Rounding::TowardsZero))
            }
        };
        baseline.get_or_insert(summary.mean);
        let number = |value| significant(value, DIGITS);
        table.row([
            label.to_owned(),
            summary.n.to_string(),
            number(summary.min),
            number(summary.max),
            number(summary.median),
            number(summary.mean),
            number(summary.stddev),
            improvement,
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_table_on_select_idle_core_is_reproduced() {
        // Ticks around the function under schbench on a Power9 with SMT8.
        let without = Summary {
            n: 130,
            min: 151.0,
            max: 1083.0,
            median: 284.0,
            mean: 322.723_08,
            stddev: 144.414_94,
        };
        let with = Summary {
            n: 164,
            min: 88.0,
            max: 610.0,
            median: 201.0,
            mean: 225.792_68,
            stddev: 106.789_43,
        };
        let rows = [("without", without), ("with", with)];
        assert_eq!(
            ministat(rows, Direction::LowerIsBetter).to_text(),
            "           N  Min   Max  Median        Avg     Stddev  Improvement\n\
             without  130  151  1083     284  322.72308  144.41494\n\
             with     164   88   610     201  225.79268  106.78943       30.03%\n"
        );
        assert!(
            ministat(rows, Direction::HigherIsBetter)
                .to_text()
                .contains("-30.03%")
        );
    }

    #[test]
    fn nothing_is_an_improvement_over_zero() {
        let zero = Summary {
            n: 1,
            min: 0.0,
            max: 0.0,
            median: 0.0,
            mean: 0.0,
            stddev: 0.0,
        };
        let text = ministat([("a", zero), ("b", zero)], Direction::LowerIsBetter).to_text();
        assert!(
            text.ends_with("b  1    0    0       0    0       0            -\n"),
            "{text}"
        );
    }
}
