//! `nm` output, System.map, /proc/kallsyms, and lists of symbols that people post.

use super::hexadecimal;
use crate::symbol::{Symbol, SymbolList};

/// A symbol as a line tells it.
pub(super) type LineParser = fn(&str) -> Option<Line>;

/// A line with a symbol.
pub(super) struct Line {
    symbol: Symbol,
    digits: usize,
}

/// `ADDRESS [SIZE] LETTER NAME [MODULE]`, `LETTER NAME`, or `NAME LETTER ADDRESS [SIZE]` as `nm -P`.
pub(super) fn symbol(line: &str) -> Option<Line> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let second = words.next()?;
    if let (Some(address), true) = (address(first), first.len() >= 4) {
        let third = words.next();
        if let Some(letter) = letter(second) {
            let name = third?;
            return is_name(name).then(|| line_of(name, Some(address), None, letter, first.len()));
        }
        let (size, letter, name) = (hexadecimal(second)?, letter(third?)?, words.next()?);
        return is_name(name)
            .then(|| line_of(name, Some(address), Some(size), letter, first.len()));
    }
    if let Some(letter) = letter(first).filter(|letter| matches!(letter, 'U' | 'w' | 'v')) {
        // An undefined symbol stands alone on its line; a sentence does not.
        let stands_alone = words.next().is_none() && line.starts_with("        ");
        return (stands_alone && is_name(second)).then(|| line_of(second, None, None, letter, 0));
    }
    let letter = letter(second)?;
    let third = words.next()?;
    let address = address(third).filter(|_| third.len() >= 4)?;
    let size = words.next().and_then(hexadecimal);
    is_name(first).then(|| line_of(first, Some(address), size, letter, third.len()))
}

/// `NAME ADDRESS` or `ADDRESS NAME`, as people type lists.
pub(super) fn name_and_address(line: &str) -> Option<Line> {
    let line = line.trim_end_matches([',', ';']);
    let mut words = line.split_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    let (name, place) = match address(second) {
        Some(place) if second.len() >= 3 => (first, place),
        _ if first.len() >= 3 => (second, address(first)?),
        _ => return None,
    };
    let name = name.trim_end_matches([':', ',', '=']);
    (is_name(name) && address(name).is_none()).then(|| line_of(name, Some(place), None, 'D', 0))
}

fn line_of(
    name: &str,
    address: Option<u64>,
    size: Option<u64>,
    letter: char,
    digits: usize,
) -> Line {
    Line {
        symbol: Symbol {
            name: name.to_owned(),
            address,
            size,
            letter,
            section: None,
            is_percpu: false,
        },
        digits,
    }
}

fn address(word: &str) -> Option<u64> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    hexadecimal(digits)
}

fn letter(word: &str) -> Option<char> {
    let mut letters = word.chars();
    let letter = letters.next()?;
    let is_letter = letter.is_ascii_alphabetic() || letter == '?' || letter == '-';
    (is_letter && letters.next().is_none()).then_some(letter)
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && !word.starts_with(['(', '"', '<', '*'])
}

/// Reads the lists in `text`. A heading, or a name that comes again after an empty line, starts a new
/// one.
pub(super) fn parse(text: &str, parser: LineParser) -> Vec<SymbolList> {
    let mut lists = Vec::new();
    let mut open = OpenList::default();
    let mut was_empty = false;
    for line in text.lines() {
        if let Some(found) = parser(line) {
            if was_empty && open.holds(&found.symbol.name) {
                open.close(&mut lists);
            }
            was_empty = false;
            open.add(found);
        } else if let Some(bytes) = line_mark(line) {
            open.mark(bytes);
        } else if line.trim().is_empty() {
            was_empty = true;
        } else {
            open.close(&mut lists);
            open.list.title = Some(heading(line));
        }
    }
    open.close(&mut lists);
    lists
}

/// The words of a heading without what decorates it.
fn heading(line: &str) -> String {
    line.trim()
        .trim_start_matches(['-', '*', '#', '='])
        .trim_end_matches(':')
        .trim()
        .to_owned()
}

/// The line size that a hand-made mark between symbols states: `---- 64B Cacheline Boundary`.
fn line_mark(line: &str) -> Option<u64> {
    let lower = line.to_ascii_lowercase();
    if !lower.contains("cacheline") && !lower.contains("cache line") {
        return None;
    }
    let digits: String = lower
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok().filter(|bytes| *bytes > 0)
}

#[derive(Default)]
struct OpenList {
    list: SymbolList,
    names: std::collections::BTreeSet<String>,
    /// Bytes of a mark that waits for the symbol below it.
    mark: Option<u64>,
}

impl OpenList {
    /// Only short lists are excerpts in which a repeated name means something.
    const EXCERPT: usize = 1000;

    fn holds(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn mark(&mut self, bytes: u64) {
        self.mark = Some(bytes);
    }

    fn add(&mut self, line: Line) {
        let symbol = line.symbol;
        if let Some(bytes) = self.mark.take() {
            let above = self.list.symbols.last().and_then(|s| s.address);
            if let (Some(above), Some(below)) = (above, symbol.address)
                && above / bytes == below / bytes
            {
                self.list.notes.push(format!(
                    "a mark says that a line of {bytes} bytes starts between {above:x} and \
                     {below:x} ({}), but both are in the line that starts at {:x}",
                    symbol.name,
                    below / bytes * bytes
                ));
            }
        }
        if self.names.len() < Self::EXCERPT {
            self.names.insert(symbol.name.clone());
        }
        self.list.digits = self.list.digits.max(line.digits);
        self.list.symbols.push(symbol);
    }

    fn close(&mut self, lists: &mut Vec<SymbolList>) {
        let mut list = std::mem::take(self).list;
        if list.symbols.is_empty() {
            return;
        }
        if list.digits == 0 {
            let largest = list.symbols.iter().filter_map(|s| s.address).max();
            list.digits = if largest > Some(u64::from(u32::MAX)) {
                16
            } else {
                8
            };
        }
        list.has_sizes = list.symbols.iter().any(|symbol| symbol.size.is_some());
        list.mark_percpu();
        let has_order = |s: &[Symbol]| s.windows(2).all(|w| w[0].address <= w[1].address);
        if list.title.is_some() && list.symbols.len() < Self::EXCERPT && !has_order(&list.symbols) {
            list.notes.push("its addresses do not rise".to_owned());
        }
        lists.push(list);
    }
}
