//! What `diff -u` says about two System.map files.

use super::map;
use crate::symbol::SymbolList;

/// The old and the new list, as far as the difference shows them.
pub(super) fn parse(text: &str) -> (SymbolList, SymbolList) {
    let (mut old_text, mut new_text) = (String::new(), String::new());
    let (mut old_title, mut new_title) = (None, None);
    let mut hunks = 0_usize;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("--- ") {
            old_title = rest.split('\t').next().map(str::to_owned);
        } else if let Some(rest) = line.strip_prefix("+++ ") {
            new_title = rest.split('\t').next().map(str::to_owned);
        } else if line.starts_with("@@") {
            hunks += 1;
        } else if let Some(rest) = line.strip_prefix('-') {
            push(&mut old_text, rest);
        } else if let Some(rest) = line.strip_prefix('+') {
            push(&mut new_text, rest);
        } else {
            let rest = line.strip_prefix(' ').unwrap_or(line);
            push(&mut old_text, rest);
            push(&mut new_text, rest);
        }
    }
    let read = |text: &str, title| {
        let mut list = map::parse(text, map::symbol)
            .into_iter()
            .reduce(|mut all, list| {
                all.symbols.extend(list.symbols);
                all
            })
            .unwrap_or_default();
        list.title = title;
        list
    };
    let mut old = read(&old_text, old_title);
    let new = read(&new_text, new_title);
    if hunks > 0 {
        old.notes.push(format!(
            "only the {hunks} part{} that the difference shows are known",
            if hunks == 1 { "" } else { "s" }
        ));
    }
    (old, new)
}

fn push(text: &mut String, line: &str) {
    if map::symbol(line).is_some() {
        text.push_str(line);
        text.push('\n');
    }
}
