//! What changed in a structure from one build to another.

use serde::Serialize;

use super::declaration;
use super::holes::Layout;
use super::print::title;
use crate::report::Table;
use crate::types::{Type, TypeId, Types};

/// A structure in two builds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StructChange {
    /// Its name with the keyword.
    pub name: String,
    /// Bytes before and after.
    pub size: (u64, u64),
    /// Bytes of holes before and after.
    pub holes: (u64, u64),
    /// Members that differ, in the order of the new build, with those that are gone at the end.
    pub members: Vec<MemberChange>,
}

/// A member in two builds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberChange {
    /// Its name.
    pub name: String,
    /// Its declaration, before and after where they differ.
    pub declaration: String,
    /// Bits from the start and size in bits before; `None`: it is new.
    pub old: Option<(u64, u64)>,
    /// Bits from the start and size in bits after; `None`: it is gone.
    pub new: Option<(u64, u64)>,
}

impl StructChange {
    /// Did anything change?
    pub fn is_change(&self) -> bool {
        self.size.0 != self.size.1 || !self.members.is_empty()
    }
}

/// A member as it is compared.
struct Flat {
    name: String,
    declaration: String,
    offset: u64,
    bits: u64,
}

/// Members that are compared at most, those of anonymous structures included.
const MOST: usize = 20_000;

/// Compares a structure of two builds.
pub fn compare(old: (&Types, TypeId), new: (&Types, TypeId)) -> StructChange {
    let (before, after) = (flat(old), flat(new));
    let mut used = vec![false; before.len()];
    let mut by_name = std::collections::BTreeMap::<&str, std::collections::VecDeque<usize>>::new();
    for (i, member) in before.iter().enumerate() {
        by_name.entry(&member.name).or_default().push_back(i);
    }
    let mut members = Vec::new();
    for member in &after {
        let found = by_name
            .get_mut(member.name.as_str())
            .and_then(|all| all.pop_front());
        let place = Some((member.offset, member.bits));
        match found.and_then(|i| {
            used[i] = true;
            before.get(i)
        }) {
            Some(old) if old.offset == member.offset && old.declaration == member.declaration => {}
            Some(old) => members.push(MemberChange {
                name: member.name.clone(),
                declaration: if old.declaration == member.declaration {
                    member.declaration.clone()
                } else {
                    format!("{} -> {}", old.declaration, member.declaration)
                },
                old: Some((old.offset, old.bits)),
                new: place,
            }),
            None => members.push(MemberChange {
                name: member.name.clone(),
                declaration: member.declaration.clone(),
                old: None,
                new: place,
            }),
        }
    }
    for (member, is_used) in before.iter().zip(used) {
        if !is_used {
            members.push(MemberChange {
                name: member.name.clone(),
                declaration: member.declaration.clone(),
                old: Some((member.offset, member.bits)),
                new: None,
            });
        }
    }
    let measure = |(types, id): (&Types, TypeId)| match types.get(id) {
        Type::Composite(composite) => {
            let layout = Layout::of(types, composite);
            (composite.size, layout.hole_bytes())
        }
        _ => (0, 0),
    };
    let ((old_size, old_holes), (new_size, new_holes)) = (measure(old), measure(new));
    StructChange {
        name: title(new.0, new.1),
        size: (old_size, new_size),
        holes: (old_holes, new_holes),
        members,
    }
}

/// All members, those of anonymous structures in between.
fn flat((types, id): (&Types, TypeId)) -> Vec<Flat> {
    let mut all = Vec::new();
    collect(types, id, 0, "", 16, &mut all);
    all
}

fn collect(types: &Types, id: TypeId, base: u64, prefix: &str, depth: usize, all: &mut Vec<Flat>) {
    let (Type::Composite(composite), Some(depth)) = (types.get(id), depth.checked_sub(1)) else {
        return;
    };
    for member in &composite.members {
        if all.len() >= MOST {
            return;
        }
        let offset = base.saturating_add(member.bit_offset);
        let name = member.name.map(|name| types.name(name));
        if let Type::Composite(inner) = types.get(member.type_id)
            && inner.name.is_none()
        {
            let prefix = match name {
                Some(name) => format!("{prefix}{name}."),
                None => prefix.to_owned(),
            };
            collect(types, member.type_id, offset, &prefix, depth, all);
            continue;
        }
        let name = format!("{prefix}{}", name.unwrap_or(""));
        let (type_part, name_part) = declaration(types, member.type_id, &name);
        let (mut text, mut bits) = (format!("{type_part} {name_part}"), member.bit_size);
        if bits > 0 {
            text.push_str(&format!(":{bits}"));
        } else {
            bits = types.size(member.type_id).saturating_mul(8);
        }
        all.push(Flat {
            name,
            declaration: text,
            offset,
            bits,
        });
    }
}

/// The changed members, with offset and size before and after in bytes (and bits), and their cache
/// lines.
pub fn table(change: &StructChange, line: u64) -> Table {
    let mut table = Table::new(["member", "old", "new", "old line", "new line", "size"]);
    let place = |bits: u64| match bits % 8 {
        0 => format!("{}", bits / 8),
        rest => format!("{}:{rest}", bits / 8),
    };
    let size = |bits: u64| match bits % 8 {
        0 => format!("{}", bits / 8),
        _ => format!("{bits} bits"),
    };
    for member in &change.members {
        let offset = |at: Option<(u64, u64)>, otherwise: &str| {
            at.map_or(otherwise.to_owned(), |(offset, _)| place(offset))
        };
        let line_of = |at: Option<(u64, u64)>| {
            at.map_or(String::new(), |(offset, _)| {
                (offset / 8 / line.max(1)).to_string()
            })
        };
        let sizes = match (member.old, member.new) {
            (Some((_, a)), Some((_, b))) if a != b => format!("{} -> {}", size(a), size(b)),
            (_, Some((_, b))) => size(b),
            (Some((_, a)), None) => size(a),
            (None, None) => String::new(),
        };
        table.row([
            member.declaration.clone(),
            offset(member.old, "new"),
            offset(member.new, "gone"),
            line_of(member.old),
            line_of(member.new),
            sizes,
        ]);
    }
    table
}
