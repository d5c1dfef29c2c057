//! Symbols and lists of them.

use std::collections::BTreeMap;

use serde::Serialize;

/// One symbol, as `nm` tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// Its address (the size of a common symbol); `None` where it is not defined here.
    pub address: Option<u64>,
    /// Bytes. `None` where the source does not say.
    pub size: Option<u64>,
    /// The letter that `nm` gives it.
    pub letter: char,
    /// Number of its section in the object; `None` in texts, and for what has none.
    pub section: Option<u32>,
    /// Is it known to exist once per CPU?
    pub is_percpu: bool,
}

impl Symbol {
    /// Is it a variable (or a constant), going by its letter?
    pub fn is_data(&self) -> bool {
        matches!(
            self.letter,
            'b' | 'B' | 'd' | 'D' | 'r' | 'R' | 'g' | 'G' | 's' | 'S' | 'v' | 'V' | 'C' | 'c' | 'u'
        )
    }

    /// Is it a function, going by its letter?
    pub fn is_code(&self) -> bool {
        matches!(self.letter, 't' | 'T' | 'w' | 'W' | 'i') && self.address.is_some()
    }
}

/// A list of symbols: the table of an object, a System.map, or an excerpt that somebody posted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SymbolList {
    /// What the text calls it, where it holds several.
    pub title: Option<String>,
    /// In the order of `nm -n`, or of the text.
    pub symbols: Vec<Symbol>,
    /// Hexadecimal digits of an address.
    pub digits: usize,
    /// Are `size`s stated by the source, and not distances to the next symbol?
    pub has_sizes: bool,
    /// Whatever the reader should know: lines that contradict each other, and the like.
    pub notes: Vec<String>,
}

impl SymbolList {
    /// The variables whose place in cache lines is of interest: the per-CPU ones if any is known to
    /// be, else all. Sorted by address.
    pub fn variables(&self, all: bool) -> Vec<&Symbol> {
        let percpu_only = !all && self.symbols.iter().any(|symbol| symbol.is_percpu);
        let mut variables: Vec<&Symbol> = self
            .symbols
            .iter()
            .filter(|symbol| symbol.is_data() && symbol.address.is_some())
            .filter(|symbol| !matches!(symbol.letter, 'C' | 'c'))
            .filter(|symbol| symbol.is_percpu || !percpu_only)
            .filter(|symbol| !is_boundary(symbol))
            .collect();
        variables.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
        variables
    }

    /// Gives every symbol without a size the distance to the next one in the same list.
    ///
    /// That is an upper limit: it includes padding, and what has no symbol.
    pub fn distances(&self) -> BTreeMap<u64, u64> {
        let mut addresses: Vec<u64> = self.symbols.iter().filter_map(|s| s.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let next = addresses.iter().skip(1).copied();
        addresses
            .iter()
            .copied()
            .zip(next)
            .map(|(address, next)| (address, next - address))
            .collect()
    }

    /// Marks what lies between the symbols with which the kernel's linker script brackets the
    /// per-CPU area, where the list has them.
    pub(crate) fn mark_percpu(&mut self) {
        let find = |name: &str| {
            let symbol = self.symbols.iter().find(|s| s.name == name)?;
            symbol.address
        };
        let (Some(start), Some(end)) = (find("__per_cpu_start"), find("__per_cpu_end")) else {
            return;
        };
        for symbol in &mut self.symbols {
            let is_inside = symbol.address.is_some_and(|a| start <= a && a < end);
            // On x86-64 the area may start at address 0, where absolute symbols are too.
            symbol.is_percpu = is_inside && !matches!(symbol.letter, 'U' | 'w' | 'v');
        }
    }
}

/// Does the symbol only mark a place? (`__per_cpu_start`, `__bss_stop` ...)
fn is_boundary(symbol: &Symbol) -> bool {
    symbol.size.is_none_or(|size| size == 0)
        && symbol.name.starts_with("__")
        && ["_start", "_end", "_load", "_begin", "_stop"]
            .iter()
            .any(|suffix| symbol.name.ends_with(suffix))
}

/// Takes every `.NUMBER` out: `count.17` and `count.23` are one variable to the reader, and
/// `f.constprop.0` is `f.constprop`.
pub fn without_numbers(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(dot) = rest.find('.') {
        short.push_str(&rest[..dot]);
        let tail = &rest[dot + 1..];
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            short.push('.');
        }
        rest = &tail[digits..];
    }
    short.push_str(rest);
    short
}
