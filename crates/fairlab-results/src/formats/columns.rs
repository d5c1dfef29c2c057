//! Plain numbers, one or several per line; words before them are the name of a row.

use std::collections::BTreeMap;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::Data;
use crate::number::number;
use crate::text::Line;

/// Words that may name a row.
const LABEL_WORDS: usize = 4;

/// Reads a run of lines of numbers, or of lines of a name and numbers.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    plain(lines, None).or_else(|| labelled(lines))
}

/// Reads plain numbers; only column `column` (from 1) when it is given.
pub(crate) fn plain(lines: &[Line], column: Option<usize>) -> Option<Found> {
    let mut columns: BTreeMap<usize, (usize, Vec<f64>)> = BTreeMap::new();
    let mut taken = 0;
    for (at, line) in lines.iter().enumerate() {
        let text = line.trimmed();
        if text.is_empty() || text.starts_with('#') {
            if taken == 0 && column.is_none() {
                return None;
            }
            continue;
        }
        let values: Option<Vec<f64>> = match column {
            // Other columns may be words.
            Some(column) => line
                .words()
                .get(column - 1)
                .and_then(|word| number(word))
                .map(|v| vec![v]),
            None => line.words().iter().map(|word| number(word)).collect(),
        };
        let Some(values) = values else {
            if column.is_some() {
                continue;
            }
            break;
        };
        for (at, value) in values.into_iter().enumerate() {
            let column = column.unwrap_or(at + 1);
            let entry = columns.entry(column).or_insert((line.number, Vec::new()));
            entry.1.push(value);
        }
        taken = at + 1;
    }
    let has_one = columns.len() == 1;
    let measures = columns.into_iter().map(|(column, (line, values))| Measure {
        data: Data::Values(values),
        ..Measure::value(
            line,
            if has_one {
                "value".to_owned()
            } else {
                format!("column {column}")
            },
            "",
            None,
            0.0,
        )
    });
    let measures: Vec<Measure> = measures.collect();
    (!measures.is_empty()).then(|| Found::new(Format::Columns, taken, measures))
}

/// `fork+exit 317 318 316`: a row with its values.
fn labelled(lines: &[Line]) -> Option<Found> {
    let mut measures = Vec::new();
    for line in lines {
        let words = line.words();
        let labels = words
            .iter()
            .take_while(|word| number(word).is_none())
            .count();
        let values: Option<Vec<f64>> = words[labels..].iter().map(|word| number(word)).collect();
        let Some(values) = values.filter(|values| !values.is_empty()) else {
            break;
        };
        let label = words[..labels].join(" ");
        let is_name =
            (1..=LABEL_WORDS).contains(&labels) && label.contains(|c: char| c.is_alphabetic());
        if !is_name {
            break;
        }
        let label = label.trim_end_matches([':', '=', ',']).trim();
        measures.push(Measure {
            data: Data::Values(values),
            ..Measure::value(line.number, label, "", None, 0.0)
        });
    }
    // One number behind one word is as likely prose.
    let count: usize = measures
        .iter()
        .map(|measure| match &measure.data {
            Data::Values(values) => values.len(),
            Data::Figures(_) => 0,
        })
        .sum();
    (count >= 2).then(|| Found::new(Format::Columns, measures.len(), measures))
}
