//! hackbench: what it runs, then `Time: 4.401`.

use fairlab_stats::Direction::LowerIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::{after, loose};
use crate::text::Line;

/// Lines in which hackbench says what it does, some of them as the end of a wrapped line.
const TALK: [&str; 6] = [
    "Running in process mode",
    "Running in threaded mode",
    "Running with ",
    "each (== ",
    "Each sender will pass ",
    "signaling ",
];

/// Reads one line.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let line = lines.first()?;
    let text = line.trimmed();
    if TALK.iter().any(|talk| text.starts_with(talk)) {
        // `Running in ... 40 file descriptors` and, wrapped, `each (== 400 tasks)`.
        return Some(Found::talk(Format::Hackbench, 1));
    }
    let rest = after(text, "Time:")?;
    let value = loose(rest.split_whitespace().next()?)?.value;
    let measure = Measure::value(line.number, "Time", "s", Some(LowerIsBetter), value);
    Some(Found::new(Format::Hackbench, 1, vec![measure]))
}
