//! Symbols that moved, came or went: as a table, and in the form of `diff -u`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::Table;
use crate::symbol::{Symbol, SymbolList};

/// A symbol in two builds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Its name.
    pub name: String,
    /// Address before; `None`: it is new.
    pub old: Option<u64>,
    /// Address after; `None`: it is gone.
    pub new: Option<u64>,
    /// Its letter in the build that has it, the new one first.
    pub letter: char,
}

impl Moved {
    /// Bytes that it moved up.
    pub fn shift(&self) -> Option<i128> {
        Some(i128::from(self.new?) - i128::from(self.old?))
    }
}

/// Pairs the symbols of two builds by name, in the order of new addresses, with those that are gone
/// where they were. Of a name that comes more than once, the n-th is paired with the n-th.
pub fn pair(old: &[&SymbolList], new: &[&SymbolList]) -> Vec<Moved> {
    let mut by_name: BTreeMap<(&str, bool), Vec<&Symbol>> = BTreeMap::new();
    let olds = || old.iter().flat_map(|list| &list.symbols);
    for symbol in olds().filter(|symbol| symbol.address.is_some()) {
        by_name
            .entry((&symbol.name, symbol.is_code()))
            .or_default()
            .push(symbol);
    }
    for symbols in by_name.values_mut() {
        // Taken from the end below.
        symbols.reverse();
    }
    let mut moved = Vec::new();
    for symbol in new.iter().flat_map(|list| &list.symbols) {
        let Some(address) = symbol.address else {
            continue;
        };
        let before = by_name
            .get_mut(&(symbol.name.as_str(), symbol.is_code()))
            .and_then(Vec::pop);
        moved.push(Moved {
            name: symbol.name.clone(),
            old: before.and_then(|symbol| symbol.address),
            new: Some(address),
            letter: symbol.letter,
        });
    }
    let mut gone: Vec<Moved> = by_name
        .values()
        .flatten()
        .map(|symbol| Moved {
            name: symbol.name.clone(),
            old: symbol.address,
            new: None,
            letter: symbol.letter,
        })
        .collect();
    gone.sort_by(|a, b| (a.old, &a.name).cmp(&(b.old, &b.name)));
    moved.extend(gone);
    moved
}

/// Symbols in a row that moved by the same distance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// The first and the last of them, in the order of new addresses.
    pub first: String,
    /// The last of them.
    pub last: String,
    /// How many.
    pub count: usize,
    /// Bytes up (down when negative).
    pub shift: i128,
}

/// The runs among `moved`, which is in the order of new addresses; those that stayed are left out.
pub fn runs(moved: &[Moved]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut previous = None;
    for symbol in moved {
        let Some(shift) = symbol.shift() else {
            continue;
        };
        if shift != 0 {
            match runs.last_mut() {
                Some(run) if previous == Some(shift) => {
                    run.count += 1;
                    run.last.clone_from(&symbol.name);
                }
                _ => runs.push(Run {
                    first: symbol.name.clone(),
                    last: symbol.name.clone(),
                    count: 1,
                    shift,
                }),
            }
        }
        previous = Some(shift);
    }
    runs
}

/// Old address, new address, shift; at most `limit` rows, and how many are left out.
pub fn table(moved: &[Moved], digits: usize, limit: usize) -> (Table, usize) {
    let mut table = Table::new(["symbol", "old", "new", "shift"]);
    let address = |address: Option<u64>| {
        address.map_or("-".to_owned(), |address| format!("{address:0digits$x}"))
    };
    let changed = moved.iter().filter(|symbol| symbol.shift() != Some(0));
    let mut left_out = 0;
    for symbol in changed {
        if table.rows.len() == limit {
            left_out += 1;
            continue;
        }
        let shift = match (symbol.old, symbol.new) {
            (None, _) => "new".to_owned(),
            (_, None) => "gone".to_owned(),
            _ => symbol.shift().map_or(String::new(), |s| format!("{s:+}")),
        };
        table.row([
            symbol.name.clone(),
            address(symbol.old),
            address(symbol.new),
            shift,
        ]);
    }
    (table, left_out)
}

/// A symbol as `nm -n` and System.map print it.
pub fn map_line(symbol: &Symbol, digits: usize) -> String {
    match symbol.address {
        Some(address) => format!("{address:0digits$x} {} {}\n", symbol.letter, symbol.name),
        None => format!("{:digits$} {} {}\n", "", symbol.letter, symbol.name),
    }
}

/// The list as `nm -n` prints it.
pub fn map_text(list: &SymbolList) -> String {
    list.symbols
        .iter()
        .map(|symbol| map_line(symbol, list.digits))
        .collect()
}

/// What `diff -u` says about two lists; empty when they are equal.
pub fn unified(old: &SymbolList, new: &SymbolList, names: [&str; 2]) -> String {
    let digits = old.digits.max(new.digits);
    let lines = |list: &SymbolList| -> Vec<String> {
        list.symbols
            .iter()
            .map(|symbol| map_line(symbol, digits))
            .collect()
    };
    unified_lines(&lines(old), &lines(new), names)
}

/// Lines of context around a change, as `diff -u` has them.
const CONTEXT: u32 = 3;

fn unified_lines(old: &[String], new: &[String], names: [&str; 2]) -> String {
    let mut input = imara_diff::InternedInput::default();
    input.update_before(old.iter().map(String::as_str));
    input.update_after(new.iter().map(String::as_str));
    let diff = imara_diff::Diff::compute(imara_diff::Algorithm::Myers, &input);
    let mut hunks = diff.hunks().peekable();
    if hunks.peek().is_none() {
        return String::new();
    }
    let mut text = format!("--- {}\n+++ {}\n", names[0], names[1]);
    let count = |lines: &[String]| u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let (old_count, new_count) = (count(old), count(new));
    while let Some(first) = hunks.next() {
        let mut group = vec![first];
        while let Some(next) = hunks.peek() {
            let end = group.last().map_or(0, |hunk| hunk.before.end);
            if next.before.start.saturating_sub(end) > 2 * CONTEXT {
                break;
            }
            group.extend(hunks.next());
        }
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let lead = CONTEXT.min(first.before.start);
        let tail = CONTEXT.min(old_count - last.before.end);
        let old_range = first.before.start - lead..last.before.end + tail;
        let new_range = first.after.start - lead..(last.after.end + tail).min(new_count);
        text.push_str(&format!(
            "@@ -{} +{} @@\n",
            hunk_range(&old_range),
            hunk_range(&new_range)
        ));
        let mut position = old_range.start;
        let mut push = |sign: char, lines: &[String], range: std::ops::Range<u32>| {
            for line in lines
                .get(range.start as usize..range.end as usize)
                .unwrap_or(&[])
            {
                text.push(sign);
                text.push_str(line);
            }
        };
        for hunk in &group {
            push(' ', old, position..hunk.before.start);
            push('-', old, hunk.before.clone());
            push('+', new, hunk.after.clone());
            position = hunk.before.end;
        }
        push(' ', old, position..old_range.end);
    }
    text
}

/// `start,count` from 1, where one line needs no count and none is counted from the line before.
fn hunk_range(range: &std::ops::Range<u32>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}
