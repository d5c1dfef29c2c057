//! Lists of hot variables: names by hand, or what `perf c2c report` and `perf mem report` print.

use std::collections::BTreeMap;

use crate::symbol::SymbolList;

/// The names in a list typed by hand: separated by commas, blanks or lines; `#` starts a remark.
pub fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or("");
        for word in line.split([',', ' ', '\t', ';']) {
            let word = word.trim();
            if !word.is_empty() && !names.iter().any(|name| name == word) {
                names.push(word.to_owned());
            }
        }
    }
    names
}

/// Is it a report of perf, rather than a list of names?
pub fn is_perf_report(text: &str) -> bool {
    text.lines().take(200).any(|line| {
        line.contains("Shared Data Cache Line Table")
            || line.contains("Shared Cache Line Distribution Pareto")
            || line.contains("Data Symbol")
            || line.contains("Trace Event Information")
            || (line.starts_with("# Samples:") || line.starts_with("# Total Lost Samples:"))
    })
}

/// The variables of `lists` that a report of perf names, by symbol or by address, hottest first, each
/// with the number of lines that name it.
pub fn from_perf_report(text: &str, lists: &[&SymbolList]) -> Vec<(String, usize)> {
    let mut by_name = std::collections::BTreeSet::new();
    let mut by_address: BTreeMap<u64, (u64, &str)> = BTreeMap::new();
    for list in lists {
        let distances = list.distances();
        for symbol in list.symbols.iter().filter(|symbol| symbol.is_data()) {
            by_name.insert(symbol.name.as_str());
            let Some(address) = symbol.address else {
                continue;
            };
            let size = symbol.size.or_else(|| distances.get(&address).copied());
            by_address.insert(address, (size.unwrap_or(1), &symbol.name));
        }
    }
    let mut found: Vec<(String, usize)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut in_line: Vec<&str> = Vec::new();
        for word in line.split_whitespace() {
            let name = word.split('+').next().unwrap_or(word);
            if let Some(known) = by_name.get(name) {
                in_line.push(known);
            } else if let Some(digits) = word.strip_prefix("0x")
                && let Some(address) = super::hexadecimal(digits)
                && let Some((start, (size, name))) = by_address.range(..=address).next_back()
                && address - start < (*size).max(1)
            {
                in_line.push(name);
            }
        }
        in_line.dedup();
        for name in in_line {
            match found.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += 1,
                None => found.push((name.to_owned(), 1)),
            }
        }
    }
    // A stable sort: equal counts stay in the order of the report, which is by heat.
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found
}
