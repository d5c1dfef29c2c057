//! Conditions for a build to pass: `p99 < +5%`.

use core::fmt;
use core::str::FromStr;

use crate::compare::{Finding, RowComparison, SeriesComparison};
use crate::number::with_suffix;
use crate::unit::in_unit;

/// What a condition looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    /// What stands for the runs.
    Center,
    Median,
    Mean,
    Min,
    Max,
    Stddev,
    /// Every single value.
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Below,
    AtMost,
    Above,
    AtLeast,
}

#[derive(Clone, Debug, PartialEq)]
enum Limit {
    /// `+5%`: the change in percent.
    Percent(f64),
    /// `+10us`: the change in a unit.
    Change(f64, String),
    /// `300us`: the value itself.
    Value(f64, String),
    /// `not worse`: no loss is proven.
    NotWorse,
}

/// A condition on rows.
///
/// ```text
/// p99 < +5%            the change of every row that has p99 (or 99.0th) in its name
/// 'wakeup*' median < 300us
/// any(fork+exit) <= +10us
/// * not worse          no row is proven worse
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    pattern: String,
    figure: Figure,
    relation: Relation,
    limit: Limit,
}

/// A row that fails a condition, or cannot be tested.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The condition as it was typed.
    pub condition: String,
    /// Series and row.
    pub row: String,
    /// What was found: `p99 is +7.31 %`.
    pub found: String,
}

/// The outcome of a condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Rows that it was about.
    pub rows: usize,
    /// Those that fail.
    pub failures: Vec<Failure>,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted =
            "ROW < +5%, ROW <= +10us, median(ROW) < 300us, any(ROW) > 100, or ROW not worse";
        let refuse = |problem: &str| Err(format!("{problem}; a condition is {wanted}"));
        let text = text.trim();
        if let Some(left) = text.strip_suffix("not worse") {
            let (pattern, figure) = subject(left);
            return Ok(Self {
                text: text.to_owned(),
                pattern,
                figure,
                relation: Relation::AtMost,
                limit: Limit::NotWorse,
            });
        }
        let Some(at) = text.find(['<', '>']) else {
            return refuse("there is no < or >");
        };
        let (left, right) = text.split_at(at);
        let (relation, right) = match (right.strip_prefix("<="), right.strip_prefix(">=")) {
            (Some(rest), _) => (Relation::AtMost, rest),
            (_, Some(rest)) => (Relation::AtLeast, rest),
            _ if right.starts_with('<') => (Relation::Below, &right[1..]),
            _ => (Relation::Above, &right[1..]),
        };
        let right: String = right.split_whitespace().collect();
        let Some((number, unit)) = with_suffix(&right) else {
            return refuse(&format!("{right:?} is not a limit"));
        };
        let has_sign = right.starts_with(['+', '-']);
        let limit = match (unit, has_sign) {
            ("%", _) => Limit::Percent(number.value),
            (unit, true) => Limit::Change(number.value, unit.to_owned()),
            (unit, false) => Limit::Value(number.value, unit.to_owned()),
        };
        let (pattern, figure) = subject(left);
        if pattern.is_empty() {
            return refuse("no row is named");
        }
        Ok(Self {
            text: text.to_owned(),
            pattern,
            figure,
            relation,
            limit,
        })
    }
}

/// Pattern and figure of `median(p99)`, `p99 median`, `p99`.
fn subject(text: &str) -> (String, Figure) {
    const WORDS: [(&str, Figure); 7] = [
        ("median", Figure::Median),
        ("mean", Figure::Mean),
        ("avg", Figure::Mean),
        ("min", Figure::Min),
        ("max", Figure::Max),
        ("stddev", Figure::Stddev),
        ("any", Figure::Any),
    ];
    let text = text.trim();
    let unquoted = |text: &str| text.trim().trim_matches(['\'', '"']).to_owned();
    for (word, figure) in WORDS {
        if let Some(inside) = text
            .strip_prefix(word)
            .and_then(|rest| rest.trim_start().strip_prefix('('))
            .and_then(|rest| rest.strip_suffix(')'))
        {
            return (unquoted(inside), figure);
        }
        // `latency max` may be a row's name too: then the row is meant, see `row_matches`.
        if let Some(rest) = text
            .strip_suffix(word)
            .filter(|rest| rest.ends_with(' ') && !matches!(word, "min" | "max"))
        {
            return (unquoted(rest), figure);
        }
    }
    (unquoted(text), Figure::Center)
}

impl Condition {
    /// Tests it on every row of every series.
    #[must_use]
    pub fn test(&self, comparisons: &[SeriesComparison]) -> Outcome {
        let mut outcome = Outcome::default();
        for series in comparisons {
            for row in series.rows.iter().filter(|row| self.is_about(row)) {
                outcome.rows += 1;
                if let Some(found) = self.failure(row) {
                    outcome.failures.push(Failure {
                        condition: self.text.clone(),
                        row: format!("{}: {}", series.name, row.full_name()),
                        found,
                    });
                }
            }
        }
        outcome
    }

    fn is_about(&self, row: &RowComparison) -> bool {
        row_matches(&self.pattern, &row.name) || row_matches(&self.pattern, &row.full_name())
    }

    /// What is wrong with a row.
    fn failure(&self, row: &RowComparison) -> Option<String> {
        if self.limit == Limit::NotWorse {
            return match (row.finding(), row.change) {
                (Finding::Worse, change) => Some(format!("worse: {}", percent(change))),
                (Finding::Different, change) if row.better.is_none() => Some(format!(
                    "different ({}), and nobody said which way is better",
                    percent(change)
                )),
                _ => None,
            };
        }
        let pairs: Vec<(Option<f64>, Option<f64>)> = match self.figure {
            Figure::Any => {
                let base = Some(row.a.value);
                match &row.b.sample {
                    Some(sample) => sample
                        .values()
                        .iter()
                        .map(|value| (base, Some(*value)))
                        .collect(),
                    None => vec![(base, Some(row.b.value))],
                }
            }
            figure => vec![(self.of(figure, &row.a), self.of(figure, &row.b))],
        };
        pairs
            .into_iter()
            .find_map(|(a, b)| self.violation(row, a, b))
    }

    fn of(&self, figure: Figure, side: &crate::compare::Side) -> Option<f64> {
        match figure {
            Figure::Center | Figure::Any => Some(side.value),
            Figure::Median => side.figures.median,
            Figure::Mean => side.figures.mean,
            Figure::Min => side.figures.min,
            Figure::Max => side.figures.max,
            Figure::Stddev => side.figures.stddev,
        }
    }

    fn violation(&self, row: &RowComparison, a: Option<f64>, b: Option<f64>) -> Option<String> {
        let (Some(a), Some(b)) = (a, b) else {
            return Some("the figure is not known".to_owned());
        };
        let (found, limit, shown) = match &self.limit {
            Limit::Percent(limit) => {
                if a == 0.0 {
                    return (b != 0.0).then(|| "the baseline is 0: no percentage".to_owned());
                }
                let change = (b - a) / a.abs();
                (change * 100.0, *limit, percent(Some(change)))
            }
            Limit::Change(limit, unit) => match in_unit(*limit, unit, &row.unit) {
                Some(limit) => (b - a, limit, format!("{:+} {}", b - a, row.unit)),
                None => return Some(format!("{unit} does not fit {}", row.unit)),
            },
            Limit::Value(limit, unit) => match in_unit(*limit, unit, &row.unit) {
                Some(limit) => (b, limit, format!("{b} {}", row.unit)),
                None => return Some(format!("{unit} does not fit {}", row.unit)),
            },
            Limit::NotWorse => return None,
        };
        let holds = match self.relation {
            Relation::Below => found < limit,
            Relation::AtMost => found <= limit,
            Relation::Above => found > limit,
            Relation::AtLeast => found >= limit,
        };
        (!holds).then(|| format!("is {}", shown.trim()))
    }
}

fn percent(change: Option<f64>) -> String {
    change.map_or("no percentage".to_owned(), |change| {
        format!("{:+.2} %", change * 100.0)
    })
}

/// Does `name` have `pattern` in it? With `*` in it, the whole name has to match. `p99` stands for
/// `99.0th`, `p99.9` for `99.9th`.
#[must_use]
pub fn row_matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    if pattern.contains('*') {
        return glob(pattern.as_bytes(), name.as_bytes());
    }
    let contains_word = |word: &str| {
        name.match_indices(word).any(|(at, _)| {
            let before = name[..at].chars().next_back();
            let after = name[at + word.len()..].chars().next();
            let is_edge = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || c == '.'));
            is_edge(before) && is_edge(after)
        })
    };
    let percentile = pattern
        .strip_prefix('p')
        .filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
        .map(|digits| match digits.contains('.') {
            true => format!("{digits}th"),
            false => format!("{digits}.0th"),
        });
    contains_word(&pattern) || percentile.is_some_and(|name| contains_word(&name))
}

/// `*` matches anything.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p) == Some(&name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, from)) = star {
            p = at + 1;
            n = from + 1;
            star = Some((at, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompareOptions, Direction, Results, Series, compare};

    fn comparisons() -> Vec<SeriesComparison> {
        let row = |name: &str, values: [f64; 5]| {
            Row::new(name, "us", Some(Direction::LowerIsBetter), values)
        };
        let results = Results {
            series: vec![
                Series::new(
                    "a",
                    [
                        row("wakeup 99.0th", [100.0, 101.0, 102.0, 103.0, 104.0]),
                        row("wakeup 99.9th", [1.0; 5]),
                    ],
                ),
                Series::new(
                    "b",
                    [
                        row("wakeup 99.0th", [110.0, 111.0, 112.0, 113.0, 139.0]),
                        row("wakeup 99.9th", [1.0; 5]),
                    ],
                ),
            ],
            ..Results::default()
        };
        compare(&results, &CompareOptions::default())
    }

    use crate::Row;

    fn outcome(condition: &str) -> (usize, usize) {
        let outcome = condition.parse::<Condition>().unwrap().test(&comparisons());
        (outcome.rows, outcome.failures.len())
    }

    #[test]
    fn conditions_say_which_rows_fail() {
        // Means 102 and 117: +14.7 %; medians 102 and 112: +9.8 %.
        assert_eq!(outcome("p99 < +5%"), (1, 1));
        assert_eq!(outcome("p99 < +15%"), (1, 0));
        assert_eq!(outcome("median(p99) <= +9.9%"), (1, 0));
        assert_eq!(outcome("p99 median < +9.8%"), (1, 1));
        assert_eq!(outcome("wakeup* < +20us"), (2, 0));
        assert_eq!(outcome("any(p99) < 0.12ms"), (1, 1));
        assert_eq!(outcome("p99 < 120"), (1, 0));
        assert_eq!(outcome("* not worse"), (2, 1));
        assert_eq!(outcome("p50 < 1"), (0, 0));
    }

    #[test]
    fn a_wrong_condition_says_what_one_looks_like() {
        for text in ["p99", "p99 < much", "< 5%"] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains("a condition is ROW < +5%"), "{error}");
        }
    }
}
