//! pahole: members with offset and size, holes, and the size of the whole.

use fairlab_stats::Direction::LowerIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// Reads a run of such lines.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let mut measures: Vec<Measure> = Vec::new();
    let mut last = String::new();
    let mut taken = 0;
    let mut has_mark = false;
    for (at, line) in lines.iter().enumerate() {
        let text = line.trimmed();
        // Blank lines and dots stand between the lines of a structure, and do not begin one.
        if text.is_empty() || text == "..." || text == "};" {
            if taken == 0 {
                return None;
            }
            continue;
        }
        let (column, text) = diff_sign(&line.text);
        if let Some((name, offset, size)) = member(text) {
            for (what, value) in [("offset", offset), ("size", size)] {
                let measure =
                    Measure::value(line.number, format!("{name} {what}"), "bytes", None, value);
                measures.push(Measure {
                    column: column.map(str::to_owned),
                    ..measure
                });
            }
            last = name;
        } else if let Some(found) = remark(line.number, text, &last) {
            measures.extend(found.into_iter().map(|measure| Measure {
                column: column.map(str::to_owned),
                ..measure
            }));
        } else if !(text.starts_with("struct ") && text.ends_with('{')) {
            break;
        } else {
            taken = at + 1;
            continue;
        }
        has_mark = true;
        taken = at + 1;
    }
    has_mark.then(|| Found::new(Format::Pahole, taken, measures))
}

/// The lines of a diff: those with a minus are from before.
fn diff_sign(text: &str) -> (Option<&'static str>, &str) {
    if let Some(rest) = text.strip_prefix('-') {
        (Some("before"), rest.trim())
    } else if let Some(rest) = text.strip_prefix('+') {
        (Some("after"), rest.trim())
    } else {
        (None, text.trim())
    }
}

/// `unsigned int rt_priority; /* 120 4 */`
fn member(text: &str) -> Option<(String, f64, f64)> {
    let (declaration, comment) = text.split_once("/*")?;
    let words: Vec<&str> = comment
        .trim_end()
        .strip_suffix("*/")?
        .split_whitespace()
        .collect();
    let [offset, size] = words.as_slice() else {
        return None;
    };
    // Bit fields have `12: 3` as their offset.
    let offset = number(offset.split(':').next()?)?;
    let declaration = declaration.trim().trim_end_matches(';');
    let declaration = declaration.split(" __attribute__").next()?;
    let name = declaration.split_whitespace().next_back()?;
    let name = name.split(['[', ':']).next()?.trim_matches(['*', '(', ')']);
    (!name.is_empty()).then(|| (name.to_owned(), offset, number(size).unwrap_or(0.0)))
}

/// `/* XXX 4 bytes hole, try to pack */`, `/* --- cacheline 2 boundary (128 bytes) --- */`,
/// `/* size: 7040, cachelines: 110, members: 188 */`
fn remark(line: usize, text: &str, last: &str) -> Option<Vec<Measure>> {
    let inside = text.strip_prefix("/*")?.strip_suffix("*/")?.trim();
    if let Some(rest) = inside.strip_prefix("XXX ") {
        let bytes = number(rest.split_whitespace().next()?)?;
        if !rest.contains("hole") {
            return Some(Vec::new());
        }
        let name = format!("hole after {last}");
        return Some(vec![Measure::value(
            line,
            name,
            "bytes",
            Some(LowerIsBetter),
            bytes,
        )]);
    }
    if inside.starts_with("--- cacheline ") {
        return Some(Vec::new());
    }
    let mut measures = Vec::new();
    for part in inside.split(',') {
        let (name, value) = part.split_once(':')?;
        let value = number(value.split_whitespace().next()?)?;
        let unit = match name.trim() {
            "size" | "sum members" | "sum holes" | "last cacheline" | "padding" => "bytes",
            _ => "",
        };
        let better = (name.trim() != "members").then_some(LowerIsBetter);
        measures.push(Measure::value(line, name.trim(), unit, better, value));
    }
    Some(measures)
}
