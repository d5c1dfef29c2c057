//! Texts that other tools print, and that people post.
//!
//! Each kind has a parser of its own. A parser takes what it understands, line by line, and says in
//! notes where a document contradicts its own numbers; lines of prose between tables are ignored.

pub mod bloat;
pub mod hot;
pub mod map;
pub mod map_diff;
pub mod pahole;
pub mod size;
pub mod size_sysv;

use crate::error::{LayoutError, Result, shorten};
use crate::symbol::SymbolList;

/// A text that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Document {
    /// What `size` prints, or a table like it.
    Sizes(Vec<size::SizeRow>),
    /// What `size -A` prints.
    Sections(Vec<size_sysv::SectionTable>),
    /// What `nm` prints, System.map, kallsyms, or excerpts of them.
    Maps(Vec<SymbolList>),
    /// What `diff -u` says about two maps.
    MapDiff {
        /// The lines with ` ` and `-`.
        old: SymbolList,
        /// The lines with ` ` and `+`.
        new: SymbolList,
    },
    /// What `pahole` prints, or parts of it.
    Structs(Vec<pahole::PrintedStruct>),
    /// What `bloat-o-meter` prints.
    Growth(Vec<bloat::PrintedGrowth>),
}

/// The kinds of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextKind {
    Size,
    SizeSysv,
    Map,
    MapDiff,
    Pahole,
    Bloat,
    NamesAndAddresses,
}

/// Finds out what a text is and reads it.
///
/// # Errors
/// It is none of the kinds, or a line in the middle of a table cannot be read.
pub fn parse(name: &str, text: &str) -> Result<Document> {
    let Some(kind) = guess(text) else {
        let first = text.lines().find(|line| !line.trim().is_empty());
        return Err(LayoutError::UnknownFormat {
            name: name.to_owned(),
            found: match first {
                Some(line) => format!(
                    "a text without any known table, starting with `{}`",
                    shorten(line.trim())
                ),
                None => "it is empty".to_owned(),
            },
        });
    };
    match kind {
        TextKind::Size => size::parse(name, text).map(Document::Sizes),
        TextKind::SizeSysv => size_sysv::parse(name, text).map(Document::Sections),
        TextKind::Map => Ok(Document::Maps(map::parse(text, map::symbol))),
        TextKind::NamesAndAddresses => Ok(Document::Maps(map::parse(text, map::name_and_address))),
        TextKind::MapDiff => {
            let (old, new) = map_diff::parse(text);
            Ok(Document::MapDiff { old, new })
        }
        TextKind::Pahole => Ok(Document::Structs(pahole::parse(text))),
        TextKind::Bloat => Ok(Document::Growth(bloat::parse(text))),
    }
}

/// The kind that the first telling line belongs to.
fn guess(text: &str) -> Option<TextKind> {
    let mut saw_file_marks = false;
    for line in text.lines() {
        if size::is_heading(line) {
            return Some(TextKind::Size);
        }
        if size_sysv::is_heading(line) {
            return Some(TextKind::SizeSysv);
        }
        if bloat::is_heading(line) {
            return Some(TextKind::Bloat);
        }
        if pahole::is_telling(line) {
            return Some(TextKind::Pahole);
        }
        saw_file_marks |= line.starts_with("--- ") || line.starts_with("@@ ");
        let changed = line.strip_prefix(['+', '-']);
        if changed.is_some_and(|rest| map::symbol(rest).is_some())
            || (saw_file_marks && map::symbol(line.strip_prefix(' ').unwrap_or("")).is_some())
        {
            return Some(TextKind::MapDiff);
        }
        if map::symbol(line).is_some() {
            return Some(TextKind::Map);
        }
    }
    // Only when nothing else fits, since prose may look like it.
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let pairs = lines().filter(|line| map::name_and_address(line).is_some());
    (pairs.count() * 2 > lines().count()).then_some(TextKind::NamesAndAddresses)
}

/// A number as tools print it: decimal, `0x` and hexadecimal, or `0` and octal.
pub(crate) fn number(word: &str) -> Option<u64> {
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return hexadecimal(digits);
    }
    if !word.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match word.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => u64::from_str_radix(digits, 8).ok(),
        _ => word.parse().ok(),
    }
}

/// Hexadecimal digits without a prefix or sign.
pub(crate) fn hexadecimal(word: &str) -> Option<u64> {
    if word.bytes().all(|b| b.is_ascii_hexdigit()) {
        u64::from_str_radix(word, 16).ok()
    } else {
        None
    }
}
