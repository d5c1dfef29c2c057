//! `perf stat`: for people (with `-r`: `( +-  1.23% )`, with `-A`: a CPU first, with `-I`: a time
//! first), with `-x` and with `-j`.

mod counter;
mod json_lines;
mod people;
mod separated;

use super::Found;
use crate::format::Format;
use crate::text::Line;

pub(crate) use json_lines::is_counter as is_json_counter;
pub(crate) use people::is_interval_heading;

/// Reads from `Performance counter stats for` to the elapsed time, from the heading of `-I`, lines
/// of `-x`, or lines of `-j`.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?.trimmed();
    if first.starts_with("# started on ") {
        // What -o and --append write above each run.
        return Some(Found::talk(Format::PerfStat, 1));
    }
    people::read(lines)
        .or_else(|| json_lines::read(lines))
        .or_else(|| separated::read(lines))
}
