//! Growth per symbol, in the form of the kernel's `scripts/bloat-o-meter`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::Table;
use crate::sizes::percent;
use crate::symbol::{SymbolList, without_numbers};

/// Which symbols are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Code and data.
    All,
    /// Code (`-t`).
    Code,
    /// Data, read-only or not (`-d`).
    Data,
    /// Data that can be written: one of the three tables of `-c`.
    WritableData,
    /// Data that cannot be written: one of the three tables of `-c`.
    ReadOnlyData,
}

impl Category {
    fn letters(self) -> &'static str {
        match self {
            Self::All => "tTdDbBrRvVwW",
            Self::Code => "tTwW",
            Self::Data => "dDbBrRvV",
            Self::WritableData => "dDbBvV",
            Self::ReadOnlyData => "rR",
        }
    }

    /// The heading of the first column.
    pub fn heading(self) -> &'static str {
        match self {
            Self::All | Self::Code => "Function",
            Self::Data | Self::WritableData => "Data",
            Self::ReadOnlyData => "RO Data",
        }
    }
}

/// Growth of the symbols of one category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// Which symbols.
    pub category: Category,
    /// Symbols only in the new build.
    pub added: usize,
    /// Symbols only in the old build.
    pub removed: usize,
    /// Symbols that are larger.
    pub grown: usize,
    /// Symbols that are smaller.
    pub shrunk: usize,
    /// Bytes that came.
    pub up: u64,
    /// Bytes that went.
    pub down: u64,
    /// The symbols that changed, those that grew most first.
    pub rows: Vec<GrowthRow>,
    /// Bytes of all symbols before.
    pub before: u64,
    /// Bytes of all symbols after.
    pub after: u64,
    /// Are sizes distances to the next symbol, because the source states none?
    pub is_estimate: bool,
}

/// One symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GrowthRow {
    /// Its name without the numbers that compilers append.
    pub name: String,
    /// Bytes before.
    pub old: Option<u64>,
    /// Bytes after.
    pub new: Option<u64>,
}

impl GrowthRow {
    /// Bytes that came.
    pub fn delta(&self) -> i128 {
        i128::from(self.new.unwrap_or(0)) - i128::from(self.old.unwrap_or(0))
    }
}

/// Compares the symbols of `category` in two builds.
#[doc(alias = "bloat-o-meter")]
pub fn compare(old: &[&SymbolList], new: &[&SymbolList], category: Category) -> Growth {
    let old_sizes = sizes(old, category);
    let new_sizes = sizes(new, category);
    let mut growth = Growth {
        category,
        added: 0,
        removed: 0,
        grown: 0,
        shrunk: 0,
        up: 0,
        down: 0,
        rows: Vec::new(),
        before: sum(old_sizes.values()),
        after: sum(new_sizes.values()),
        is_estimate: !old.iter().chain(new).all(|list| list.has_sizes),
    };
    let mut names: Vec<&String> = old_sizes.keys().collect();
    names.extend(
        new_sizes
            .keys()
            .filter(|name| !old_sizes.contains_key(*name)),
    );
    for name in names {
        let (a, b) = (old_sizes.get(name).copied(), new_sizes.get(name).copied());
        let row = GrowthRow {
            name: name.clone(),
            old: a,
            new: b,
        };
        let delta = row.delta();
        match (a, b) {
            (None, _) => growth.added += 1,
            (_, None) => growth.removed += 1,
            _ if delta > 0 => growth.grown += 1,
            _ if delta < 0 => growth.shrunk += 1,
            _ => continue,
        }
        let bytes = u64::try_from(delta.unsigned_abs()).unwrap_or(u64::MAX);
        if delta > 0 {
            growth.up = growth.up.wrapping_add(bytes);
        } else {
            growth.down = growth.down.wrapping_add(bytes);
        }
        growth.rows.push(row);
    }
    growth
        .rows
        .sort_by(|a, b| (b.delta(), &b.name).cmp(&(a.delta(), &a.name)));
    growth
}

fn sum<'a>(sizes: impl Iterator<Item = &'a u64>) -> u64 {
    sizes.fold(0, |sum, size| sum.wrapping_add(*size))
}

/// Bytes by name, of the symbols that count.
fn sizes(lists: &[&SymbolList], category: Category) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    for list in lists {
        let distances = if list.has_sizes {
            BTreeMap::new()
        } else {
            list.distances()
        };
        for symbol in &list.symbols {
            let Some(address) = symbol.address else {
                continue;
            };
            if !category.letters().contains(symbol.letter) || is_generated(&symbol.name) {
                continue;
            }
            let size = symbol.size.or_else(|| distances.get(&address).copied());
            let Some(size) = size.filter(|size| *size > 0) else {
                continue;
            };
            let total = sizes.entry(without_numbers(&symbol.name)).or_insert(0_u64);
            *total = total.wrapping_add(size);
        }
    }
    sizes
}

/// Does the build system make it, so that its size says nothing about a change?
fn is_generated(name: &str) -> bool {
    ["__mod_", "__se_sys", "__se_compat_sys", "__addressable_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || name == "linux_banner"
        || name == "vermagic"
}

/// The form that `bloat-o-meter` prints.
pub fn table(growth: &Growth) -> Table {
    let heading = growth.category.heading();
    let mut table = Table::new([heading, "old", "new", "delta"]);
    let net = i128::from(growth.up) - i128::from(growth.down);
    let mut text = format!(
        "add/remove: {}/{} grow/shrink: {}/{} up/down: {}/{} ({net})\n",
        growth.added,
        growth.removed,
        growth.grown,
        growth.shrunk,
        growth.up,
        -i128::from(growth.down),
    );
    text.push_str(&format!(
        "{heading:<40} {:>7} {:>7} {:>7}\n",
        "old", "new", "delta"
    ));
    let print = |size: Option<u64>| size.map_or("-".to_owned(), |size| size.to_string());
    for row in &growth.rows {
        let delta = row.delta();
        if delta == 0 {
            continue;
        }
        let (old, new) = (print(row.old), print(row.new));
        text.push_str(&format!("{:<40} {old:>7} {new:>7} {delta:>+7}\n", row.name));
        table.row([row.name.clone(), old, new, format!("{delta:+}")]);
    }
    let change = match percent(growth.before, growth.after) {
        unknown if unknown == "-" => "+inf%".to_owned(),
        change => change,
    };
    text.push_str(&format!(
        "Total: Before={}, After={}, chg {change}\n",
        growth.before, growth.after
    ));
    table.text = Some(text);
    table
}
