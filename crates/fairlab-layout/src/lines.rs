//! Variables per cache line, in one build or two.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::symbol::{Symbol, SymbolList};

/// A variable whose place is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its address; for per-CPU variables, that in the template.
    pub address: u64,
    /// Bytes where the source states them.
    pub size: Option<u64>,
}

impl Variable {
    /// The first and the last line that it is in, as numbers of lines of `bytes`. Without a size, it
    /// counts to the line in which it starts.
    fn lines(&self, bytes: u64) -> (u64, u64) {
        let last = self
            .address
            .saturating_add(self.size.unwrap_or(1).max(1) - 1);
        (self.address / bytes, last / bytes)
    }
}

/// The variables of some lists that count, by address: the per-CPU ones where any is known to be one,
/// unless `all` are wanted.
pub fn variables(lists: &[&SymbolList], all: bool) -> Vec<Variable> {
    let percpu_only = !all
        && lists
            .iter()
            .any(|list| list.symbols.iter().any(|symbol| symbol.is_percpu));
    let mut variables: Vec<Variable> = lists
        .iter()
        .flat_map(|list| list.variables(all || !percpu_only))
        .filter(|symbol| symbol.is_percpu || !percpu_only)
        .filter_map(|symbol: &Symbol| {
            Some(Variable {
                name: symbol.name.clone(),
                address: symbol.address?,
                size: symbol.size.filter(|size| *size > 0),
            })
        })
        .collect();
    variables.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    variables
}

/// One line and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Where it starts.
    pub address: u64,
    /// The names in it, by address. A variable that continues from the line below is here too.
    pub names: Vec<String>,
}

/// Most lines that one variable is listed in; large arrays would only repeat themselves.
const MAX_LINES: u64 = 16;

/// Sorts variables into lines of `bytes`.
pub fn lines(variables: &[Variable], bytes: u64) -> Vec<Line> {
    let mut lines: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for variable in variables {
        let (first, last) = variable.lines(bytes);
        for number in first..=last.min(first.saturating_add(MAX_LINES - 1)) {
            lines.entry(number).or_default().push(variable.name.clone());
        }
    }
    lines
        .into_iter()
        .map(|(number, names)| Line {
            address: number.saturating_mul(bytes),
            names,
        })
        .collect()
}

/// A variable's line in two builds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineChange {
    /// The variable.
    pub name: String,
    /// Line and offset in it before; `None`: it is new.
    pub old: Option<Place>,
    /// Line and offset in it after; `None`: it is gone.
    pub new: Option<Place>,
    /// Bytes that it moved up.
    pub shift: Option<i128>,
    /// Who shares its line now and did not.
    pub gained: Vec<String>,
    /// Who shared its line and does not now.
    pub lost: Vec<String>,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Where its line starts.
    pub line: u64,
    /// Bytes from there.
    pub offset: u64,
    /// In how many lines it is.
    pub lines: u64,
}

impl LineChange {
    /// Did its line-mates change, or is it in another number of lines?
    pub fn is_affected(&self) -> bool {
        let lines = |place: Option<Place>| place.map(|place| place.lines);
        !self.gained.is_empty() || !self.lost.is_empty() || lines(self.old) != lines(self.new)
    }
}

/// Compares line-mates in lines of `bytes`, for all variables of either build, by new address.
pub fn compare(old: &[Variable], new: &[Variable], bytes: u64) -> Vec<LineChange> {
    let (old_lines, new_lines) = (lines(old, bytes), lines(new, bytes));
    let (old_mates, new_mates) = (mates(&old_lines), mates(&new_lines));
    let by_name = |variables: &[Variable]| -> BTreeMap<String, Variable> {
        let pairs = variables.iter().map(|v| (v.name.clone(), v.clone()));
        // The first of a repeated name counts.
        pairs.rev().collect()
    };
    let (old_by_name, new_by_name) = (by_name(old), by_name(new));
    let place = |variable: &Variable| {
        let (first, last) = variable.lines(bytes);
        Place {
            line: first.saturating_mul(bytes),
            offset: variable.address % bytes,
            lines: last - first + 1,
        }
    };
    let mut seen = BTreeSet::new();
    let gone = old.iter().filter(|v| !new_by_name.contains_key(&v.name));
    let mut changes = Vec::new();
    for variable in new.iter().chain(gone) {
        if !seen.insert(&variable.name) {
            continue;
        }
        let (a, b) = (
            old_by_name.get(&variable.name),
            new_by_name.get(&variable.name),
        );
        let empty = BTreeSet::new();
        let before = old_mates.get(variable.name.as_str()).unwrap_or(&empty);
        let after = new_mates.get(variable.name.as_str()).unwrap_or(&empty);
        let names = |set: Vec<&&str>| set.into_iter().map(|name| (*name).to_owned()).collect();
        changes.push(LineChange {
            name: variable.name.clone(),
            old: a.map(place),
            new: b.map(place),
            shift: a
                .zip(b)
                .map(|(a, b)| i128::from(b.address) - i128::from(a.address)),
            gained: names(after.difference(before).collect()),
            lost: names(before.difference(after).collect()),
        });
    }
    changes
}

/// Most names in a line that are compared with each other. Objects of a byte may crowd a line; more
/// than this is no line that anybody looks at, and the work would grow with the square.
const MAX_MATES: usize = 128;

fn mates(lines: &[Line]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut mates: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in lines {
        let names = &line.names[..line.names.len().min(MAX_MATES)];
        for name in names {
            let others = names.iter().filter(|other| *other != name);
            mates
                .entry(name)
                .or_default()
                .extend(others.map(String::as_str));
        }
    }
    mates
}

/// What became of a set of variables that are used together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetChange {
    /// The names, those that are known.
    pub names: Vec<String>,
    /// Where the lines start that hold any of them, before.
    pub old_lines: Vec<u64>,
    /// ... and after.
    pub new_lines: Vec<u64>,
}

impl SetChange {
    /// Is it in more lines than before?
    pub fn straddles_more(&self) -> bool {
        self.new_lines.len() > self.old_lines.len()
    }
}

/// The lines that hold `names`, before and after.
pub fn set_change(names: &[String], old: &[Variable], new: &[Variable], bytes: u64) -> SetChange {
    let lines_of = |variables: &[Variable]| -> Vec<u64> {
        let mut found = BTreeSet::new();
        for variable in variables.iter().filter(|v| names.contains(&v.name)) {
            let (first, last) = variable.lines(bytes);
            found.extend(first..=last.min(first.saturating_add(MAX_LINES - 1)));
        }
        found.into_iter().map(|n| n.saturating_mul(bytes)).collect()
    };
    let is_known = |name: &&String| old.iter().chain(new).any(|v| v.name == **name);
    SetChange {
        names: names.iter().filter(is_known).cloned().collect(),
        old_lines: lines_of(old),
        new_lines: lines_of(new),
    }
}

/// Sets that were in one line and are in several now, found without being told what is hot.
pub fn split_sets(changes: &[LineChange], old: &[Variable], bytes: u64) -> Vec<SetChange> {
    let place: BTreeMap<&str, &LineChange> = changes.iter().map(|c| (c.name.as_str(), c)).collect();
    let mut sets = Vec::new();
    for line in lines(old, bytes) {
        let mut new_lines = BTreeSet::new();
        let mut names = Vec::new();
        for name in &line.names {
            let Some(change) = place.get(name.as_str()) else {
                continue;
            };
            // A variable of several lines is in the middle of none.
            if change.old.is_none_or(|place| place.lines > 1) {
                continue;
            }
            let Some(place) = change.new else {
                continue;
            };
            names.push(name.clone());
            new_lines.insert(place.line);
        }
        if new_lines.len() > 1 {
            sets.push(SetChange {
                names,
                old_lines: vec![line.address],
                new_lines: new_lines.into_iter().collect(),
            });
        }
    }
    sets
}

/// A variable that probably suffers, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Victim {
    /// The variable.
    pub name: String,
    /// How bad it looks; only the order means anything.
    pub score: u64,
    /// Why, in sentences without a subject.
    pub reasons: Vec<String>,
}

/// Ranks the variables that changed for the worse. `hot` are those that are used often; when it is
/// empty, all count.
///
/// A hot variable suffers when it crosses into one more line, when a hot one that came with its line
/// is now in another, and when something new shares its line: what is written there takes the line
/// away from those who read it.
pub fn victims(changes: &[LineChange], hot: &[String], added: &BTreeSet<&str>) -> Vec<Victim> {
    let is_hot = |name: &str| hot.is_empty() || hot.iter().any(|h| h == name);
    let mut victims = Vec::new();
    for change in changes {
        let (Some(old), Some(new)) = (change.old, change.new) else {
            continue;
        };
        if !is_hot(&change.name) {
            continue;
        }
        let mut score = 0;
        let mut reasons = Vec::new();
        if new.lines > old.lines {
            score += 4;
            reasons.push(format!(
                "is in {} lines instead of {}",
                new.lines, old.lines
            ));
        }
        let parted: Vec<&str> = picked(&change.lost, |name| is_hot(name));
        if !parted.is_empty() {
            score += 3 * parted.len() as u64;
            reasons.push(format!("no longer comes with {}", join(&parted)));
        }
        let intruders: Vec<&str> = picked(&change.gained, |name| added.contains(name));
        if !intruders.is_empty() {
            score += 2 * intruders.len() as u64;
            reasons.push(format!("shares its line with {}, new", join(&intruders)));
        }
        let others: Vec<&str> = picked(&change.gained, |name| !added.contains(name));
        if !others.is_empty() {
            score += others.len() as u64;
            reasons.push(format!("shares its line with {} now", join(&others)));
        }
        if score > 0 {
            victims.push(Victim {
                name: change.name.clone(),
                score,
                reasons,
            });
        }
    }
    // A stable sort: equals stay in the order of addresses.
    victims.sort_by_key(|victim| std::cmp::Reverse(victim.score));
    victims
}

fn picked(names: &[String], wanted: impl Fn(&str) -> bool) -> Vec<&str> {
    names
        .iter()
        .map(String::as_str)
        .filter(|name| wanted(name))
        .collect()
}

/// `a, b and c`, cut off after a few.
pub fn join(names: &[&str]) -> String {
    const MOST: usize = 6;
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        _ if names.len() > MOST => {
            format!(
                "{} and {} more",
                names[..MOST].join(", "),
                names.len() - MOST
            )
        }
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
