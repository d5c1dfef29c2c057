//! hyperfine's exports: CSV in seconds, Markdown with a unit in the headings and the deviation
//! behind the mean.

use fairlab_stats::Direction::LowerIsBetter;

use super::{Grid, printed};
use crate::document::Measure;
use crate::format::Format;
use crate::formats::Found;
use crate::model::{Data, Figures};
use crate::number::loose;

/// Reads either export.
pub(super) fn read(grid: &Grid) -> Option<Found> {
    let command = grid.column("command")?;
    let (unit, place): (&str, [Option<usize>; 5]) = match bracketed(grid, "Mean [") {
        Some((mean, unit)) => (
            unit,
            [
                Some(mean),
                None,
                None,
                bracketed(grid, "Min [").map(|(at, _)| at),
                bracketed(grid, "Max [").map(|(at, _)| at),
            ],
        ),
        None => {
            let all = ["mean", "stddev", "median", "min", "max"].map(|name| grid.column(name));
            all.iter().all(Option::is_some).then_some(("s", all))?
        }
    };
    let mut measures = Vec::new();
    for (line, cells) in &grid.rows {
        let get = |at: Option<usize>| printed(cells, at?).map(|printed| printed.value);
        let [mean, stddev, median, min, max] = place;
        // `2.8 +- 3.2`
        let cell = cells.get(mean?)?;
        let (mean, spread) = match cell.split_once("+-") {
            Some((mean, spread)) => (mean, loose(spread.trim())),
            None => (cell.as_str(), None),
        };
        let figures = Figures {
            n: None,
            min: get(min),
            max: get(max),
            median: get(median),
            mean: Some(loose(mean.trim())?.value),
            stddev: get(stddev).or(spread.map(|spread| spread.value)),
            sem: None,
        };
        let name = cells.get(command)?.trim_matches('`');
        let better = Some(LowerIsBetter);
        let data = Data::Figures(figures);
        measures.push(Measure::of(*line, "time", unit, better, data).in_column(name));
    }
    let mut found = Found::new(Format::Hyperfine, 1, measures);
    found.notes.push(
        "hyperfine leaves the number of runs out of CSV and Markdown: N is unknown, and no \
         significance can be computed; its --export-json has the runs"
            .to_owned(),
    );
    (!found.measures.is_empty()).then_some(found)
}

/// The column whose heading begins so, and the unit in it: `Mean [ms]`.
fn bracketed<'a>(grid: &'a Grid, start: &str) -> Option<(usize, &'a str)> {
    grid.headings.iter().enumerate().find_map(|(at, heading)| {
        let unit = heading.strip_prefix(start)?.strip_suffix(']')?;
        Some((at, unit))
    })
}
