//! Functions that only one of two builds has as symbols: inlined, dropped, or no longer so.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::symbol::{SymbolList, without_numbers};

/// A function without a symbol of its own in one of two builds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gone {
    /// Its name.
    pub name: String,
    /// Bytes where it has a symbol.
    pub size: Option<u64>,
    /// A clone that took its place: `f.isra.0` for `f`.
    pub became: Option<String>,
    /// Functions into which it is inlined in the other build, with the number of places, by name.
    /// `None`: there is no debug information that could say.
    pub inlined_into: Option<Vec<(String, usize)>>,
}

/// The functions of `from` that `to` has no symbol for, in the order of addresses.
pub fn find(from: &[&SymbolList], to: &[&SymbolList]) -> Vec<Gone> {
    let mut there: BTreeMap<&str, &str> = BTreeMap::new();
    for symbol in to.iter().flat_map(|list| &list.symbols) {
        if symbol.is_code() {
            there.insert(&symbol.name, &symbol.name);
            // Clones are found by the name of what they are made from.
            let base = symbol.name.split('.').next().unwrap_or(&symbol.name);
            there.entry(base).or_insert(&symbol.name);
        }
    }
    let numberless: std::collections::BTreeSet<String> =
        there.values().map(|name| without_numbers(name)).collect();
    let mut gone: Vec<Gone> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for symbol in from.iter().flat_map(|list| &list.symbols) {
        let is_known = there.get(symbol.name.as_str()) == Some(&symbol.name.as_str())
            || numberless.contains(&without_numbers(&symbol.name));
        if !symbol.is_code() || is_known || !seen.insert(&symbol.name) {
            continue;
        }
        let base = symbol.name.split('.').next().unwrap_or(&symbol.name);
        gone.push(Gone {
            name: symbol.name.clone(),
            size: symbol.size,
            became: there.get(base).map(|name| (*name).to_owned()),
            inlined_into: None,
        });
    }
    gone
}
