//! Our own table of comparisons: `row | unit | N | A | N | B | change | ... | finding`.

use super::{Grid, printed};
use crate::document::Measure;
use crate::format::Format;
use crate::formats::Found;
use crate::formats::key_value::by_unit;
use crate::model::{Data, Figures};

/// Reads both sides of each row; what was tested follows from the values and not from here.
pub(super) fn read(grid: &Grid) -> Option<Found> {
    if grid.headings.last().map(String::as_str) != Some("finding") {
        return None;
    }
    let counts: Vec<usize> = grid
        .headings
        .iter()
        .enumerate()
        .filter(|(_, heading)| *heading == "N")
        .map(|(at, _)| at)
        .collect();
    let mut measures = Vec::new();
    for (line, cells) in &grid.rows {
        let name = cells.first()?;
        for &at in &counts {
            let Some(value) = printed(cells, at + 1).map(|value| value.value) else {
                continue;
            };
            let n = printed(cells, at).filter(|n| n.value >= 1.0);
            let data = match n.map(|n| n.value as u64) {
                Some(1) => Data::Values(vec![value]),
                n => Data::Figures(Figures {
                    n,
                    mean: Some(value),
                    ..Figures::default()
                }),
            };
            let column = grid.headings.get(at + 1)?;
            let unit = grid.unit(cells);
            measures.push(Measure::of(*line, name, unit, by_unit(unit), data).in_column(column));
        }
    }
    (!measures.is_empty()).then(|| Found::new(Format::PctTable, 1, measures))
}
