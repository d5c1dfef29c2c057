//! bloat-o-meter: a line of sums, then one symbol per line with its old and new size.

use fairlab_stats::Direction::LowerIsBetter;

use super::Found;
use crate::document::{Basis, Claim, Measure};
use crate::format::Format;
use crate::number::{Printed, loose, printed};
use crate::text::Line;

/// Reads one report.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?;
    let net = sums(first.trimmed())?;
    let mut found = Found::new(Format::BloatOMeter, 1, Vec::new());
    let mut deltas = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(1) {
        let words = line.words();
        match words.as_slice() {
            ["Function" | "Data" | "RO" | "Name" | "Symbol", .., "delta"] => {}
            ["Total:", ..] => {
                found.lines = at + 1;
                break;
            }
            [name, old, new, delta] => {
                let (Some(a), Some(b), Some(stated)) = (size(old), size(new), printed(delta))
                else {
                    break;
                };
                for (column, value) in [("old", a), ("new", b)] {
                    found.measures.push(
                        Measure::value(
                            line.number,
                            *name,
                            "bytes",
                            Some(LowerIsBetter),
                            value.value,
                        )
                        .in_column(column),
                    );
                }
                found.claims.push(Claim {
                    line: line.number,
                    row: (*name).to_owned(),
                    stated,
                    from: Basis::Difference(a, b),
                });
                deltas.push(stated);
            }
            _ => break,
        }
        found.lines = at + 1;
    }
    if !deltas.is_empty() {
        found.claims.push(Claim {
            line: first.number,
            row: "sum of all symbols".to_owned(),
            stated: net,
            from: Basis::Sum(deltas),
        });
    }
    Some(found)
}

/// The net of `add/remove: 0/2 grow/shrink: 1/1 up/down: 4/-60 (-56)`.
fn sums(text: &str) -> Option<Printed> {
    let rest = text.strip_prefix("add/remove:")?;
    let (_, rest) = rest.split_once("up/down:")?;
    loose(rest.split_whitespace().nth(1)?)
}

/// A size; a symbol that is not there has none, which is `-`.
fn size(word: &str) -> Option<Printed> {
    match word {
        "-" => Some(Printed {
            value: 0.0,
            decimals: 0,
        }),
        _ => printed(word),
    }
}
