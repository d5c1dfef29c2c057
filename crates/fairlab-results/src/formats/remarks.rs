//! What `fairlab stats` says below its tables, so that they can be read back.

use super::Found;
use crate::format::Format;
use crate::text::Line;

/// Reads one line.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let text = lines.first()?.trimmed();
    let is_remark = (text.starts_with("values are ") && text.ends_with(" of the runs"))
        || text.ends_with(": no significance can be stated")
        || (text.starts_with("Mann-Whitney U (") && text.contains(", intervals at "))
        || text.contains(" stated figures follow from the others");
    is_remark.then(|| Found::talk(Format::Results, 1))
}
