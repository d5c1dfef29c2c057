//! What new variables did to those around them, and where they would do less.
//!
//! Compilers lay variables out in the reverse order of their definitions: what is defined first in
//! a file gets the highest address. A definition in the middle therefore pushes up everything that
//! is defined above it. The same definition at the top of the file comes after all others, and
//! leaves them where they were.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::lines::Variable;

/// New variables among old ones, and what became of those.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Insertion {
    /// What is new, by address.
    pub added: Vec<Sized>,
    /// The old variables that moved, up to the first that moved as far as everything after it.
    pub moved: Vec<(String, i128)>,
    /// The last old variable of the group: the first that moved by `shift`.
    pub last: String,
    /// Bytes by which everything from `last` on moved.
    pub shift: i128,
    /// Bytes of `shift` that no new variable takes: alignment.
    pub padding: i128,
    /// Variables after `last` that moved by `shift` too.
    pub followers: usize,
}

/// A variable with the size and alignment that the addresses allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sized {
    /// Its name.
    pub name: String,
    /// Bytes: as stated, or the smallest distance to a next variable in either build.
    pub size: u64,
    /// The largest alignment that its size suggests and its addresses allow.
    pub align: u64,
    /// Is the size a guess, since nothing follows it?
    pub is_guess: bool,
}

/// Another order of definitions and the addresses that it gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// The names in the order of their definitions: the first one at the top of the file.
    pub definitions: Vec<String>,
    /// The addresses that follow, rising, of the whole group.
    pub variables: Vec<Variable>,
    /// Bytes that the new variables take at the end.
    pub extra: u64,
}

/// Most new variables for which a reason and another order are worked out.
const MOST_ADDED: usize = 32;

/// Finds new variables among old ones. `None` when there are none, or when the lists differ in more
/// than what came.
pub fn insertion(old: &[Variable], new: &[Variable]) -> Option<Insertion> {
    let before: BTreeMap<&str, u64> = old.iter().map(|v| (v.name.as_str(), v.address)).collect();
    let is_added = |v: &&Variable| !before.contains_key(v.name.as_str());
    let added: Vec<&Variable> = new.iter().filter(is_added).collect();
    if added.is_empty() || added.len() > MOST_ADDED {
        return None;
    }
    let shifts: Vec<(&Variable, i128)> = new
        .iter()
        .filter_map(|v| {
            let old = before.get(v.name.as_str())?;
            Some((v, i128::from(v.address) - i128::from(*old)))
        })
        .collect();
    let (_, shift) = *shifts.last()?;
    let above = added.first()?.address;
    // The first from which on everything moved as far as the end did.
    let tail = shifts.iter().rev().take_while(|(_, s)| *s == shift).count();
    let first_of_tail = shifts.len() - tail;
    let last = match shifts.get(first_of_tail) {
        Some((last, _)) if shift != 0 && last.address > above => *last,
        _ => return None,
    };
    let moved: Vec<(String, i128)> = shifts
        .iter()
        .filter(|(v, s)| *s != 0 && v.address > above && v.address <= last.address)
        .map(|(v, s)| (v.name.clone(), *s))
        .collect();
    let added: Vec<Sized> = added
        .into_iter()
        .filter(|v| v.address < last.address)
        .map(|v| sized(v, &[old, new]))
        .collect();
    let taken: i128 = added.iter().map(|v| i128::from(v.size)).sum();
    Some(Insertion {
        added,
        moved,
        last: last.name.clone(),
        shift,
        padding: shift - taken,
        followers: tail - 1,
    })
}

/// Moves the new variables to the top of the file, one after the other in the order of their
/// definitions, so that the old ones are again where they were.
pub fn at_the_top(insertion: &Insertion, old: &[Variable], new: &[Variable]) -> Option<Proposal> {
    let last = old.iter().find(|v| v.name == insertion.last)?;
    let first_new = insertion.added.first()?;
    let start = new.iter().position(|v| v.name == first_new.name)?;
    // The group starts with the old variables of the lines that the insertion touches.
    let neighbour = start.checked_sub(1).and_then(|i| new.get(i));
    let lowest = match neighbour.and_then(|n| old.iter().find(|v| v.name == n.name)) {
        Some(found) => found.address & !127,
        None => last.address & !127,
    };
    let mut variables: Vec<Variable> = old
        .iter()
        .filter(|v| v.address >= lowest && v.address <= last.address)
        .cloned()
        .collect();
    let mut end = last.address.saturating_add(sized(last, &[old, new]).size);
    let start_of_new = end;
    // Of two new variables the one with the higher address is defined first. Moved to the top one
    // by one, the one that is moved last is the first of the file, and gets the highest address.
    for variable in insertion.added.iter().rev() {
        let address = end.checked_next_multiple_of(variable.align.max(1))?;
        variables.push(Variable {
            name: variable.name.clone(),
            address,
            size: Some(variable.size),
        });
        end = address.saturating_add(variable.size);
    }
    let definitions = variables.iter().rev().map(|v| v.name.clone()).collect();
    Some(Proposal {
        definitions,
        variables,
        extra: end - start_of_new,
    })
}

/// The size and alignment of `variable`, from what the builds say.
fn sized(variable: &Variable, builds: &[&[Variable]]) -> Sized {
    let mut size = variable.size;
    let mut common = variable.address;
    for build in builds {
        let Some(i) = build.iter().position(|v| v.name == variable.name) else {
            continue;
        };
        common |= build[i].address;
        let next = build[i + 1..]
            .iter()
            .find(|next| next.address > build[i].address);
        if variable.size.is_none()
            && let Some(next) = next
        {
            let distance = next.address - build[i].address;
            size = Some(size.map_or(distance, |size| size.min(distance)));
        }
    }
    let allowed = 1_u64 << common.trailing_zeros().min(12);
    // Pointers and smaller scalars are aligned to their size; of larger things only the addresses
    // tell.
    let align = match size {
        Some(size) if size <= 8 => (1 << size.max(1).trailing_zeros()).min(allowed),
        _ => allowed.min(8),
    };
    Sized {
        name: variable.name.clone(),
        size: size.unwrap_or(align),
        align,
        is_guess: size.is_none(),
    }
}
