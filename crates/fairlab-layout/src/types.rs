//! C types, from BTF or DWARF: the same graph for both.

pub mod btf;
pub(crate) mod dwarf;
mod names;

use std::collections::BTreeMap;

pub use self::names::Name;
use self::names::Names;

/// A type, by its number in a [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

impl TypeId {
    /// What has no type: the target of `void *`.
    pub const VOID: Self = Self(0);
}

/// All types of a file.
#[derive(Debug)]
pub struct Types {
    types: Vec<Type>,
    names: Names,
    /// Bytes of a pointer.
    pub address_size: u64,
    /// Was it read from DWARF, where alignments are stated, and not guessed from offsets?
    pub states_alignment: bool,
}

/// One type.
#[derive(Clone, Debug)]
pub enum Type {
    /// No type, or one that does not matter here.
    Void,
    /// An integer, or anything else that is only bits.
    Base {
        /// As the compiler calls it.
        name: Name,
        /// Bytes.
        size: u64,
        /// Bits, where fewer than the bytes have.
        bits: u64,
    },
    /// A pointer.
    Pointer(TypeId),
    /// An array.
    Array {
        /// Of what.
        element: TypeId,
        /// How many; `None`: not said.
        count: Option<u64>,
    },
    /// A structure or union.
    Composite(Composite),
    /// An enumeration.
    Enumeration {
        /// Its tag.
        name: Option<Name>,
        /// Bytes.
        size: u64,
        /// The constants, as they are printed.
        values: Vec<(Name, i128)>,
    },
    /// A structure or union that is only declared.
    Forward {
        /// Its tag.
        name: Name,
        /// Is it a union?
        is_union: bool,
    },
    /// Another name.
    Typedef {
        /// The name.
        name: Name,
        /// For what.
        target: TypeId,
    },
    /// `const` and the like.
    Qualified {
        /// Which.
        qualifier: Qualifier,
        /// Of what.
        target: TypeId,
    },
    /// A function's type.
    Function {
        /// What it returns.
        result: TypeId,
        /// What it takes.
        parameters: Vec<TypeId>,
        /// Does it take more (`...`)?
        is_variadic: bool,
    },
}

/// Qualifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qualifier {
    /// `const`
    Const,
    /// `volatile`
    Volatile,
    /// `restrict`
    Restrict,
    /// `_Atomic`
    Atomic,
}

/// A structure or union.
#[derive(Clone, Debug)]
pub struct Composite {
    /// Its tag.
    pub name: Option<Name>,
    /// Is it a union?
    pub is_union: bool,
    /// Bytes.
    pub size: u64,
    /// The alignment that the source demands, where debug information says so.
    pub alignment: Option<u64>,
    /// Its members.
    pub members: Vec<Member>,
}

/// A member.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name; none for anonymous structures and unions in others.
    pub name: Option<Name>,
    /// Its type.
    pub type_id: TypeId,
    /// Bits from the start.
    pub bit_offset: u64,
    /// Bits, for bit fields; 0 otherwise.
    pub bit_size: u64,
    /// The alignment that the source demands, where debug information says so.
    pub alignment: Option<u64>,
}

/// How far chains of types are followed: lying files make circles, and no compiler makes chains of
/// this length.
const DEPTH: usize = 64;

impl Types {
    /// Types of which the first is [`Type::Void`].
    pub(crate) fn new(address_size: u64) -> Self {
        Self {
            types: vec![Type::Void],
            names: Names::default(),
            address_size,
            states_alignment: false,
        }
    }

    /// The type with a number; void for one that is not there.
    pub fn get(&self, id: TypeId) -> &Type {
        self.types.get(id.0 as usize).unwrap_or(&Type::Void)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Are there none (but void)?
    pub fn is_empty(&self) -> bool {
        self.types.len() <= 1
    }

    /// The letters of a name.
    pub fn name(&self, name: Name) -> &str {
        self.names.get(name)
    }

    /// Follows typedefs and qualifiers to what is behind them.
    pub fn resolve(&self, mut id: TypeId) -> TypeId {
        for _ in 0..DEPTH {
            match self.get(id) {
                Type::Typedef { target, .. } | Type::Qualified { target, .. } => id = *target,
                _ => return id,
            }
        }
        TypeId::VOID
    }

    /// Follows what only stands for another type: tags of BTF, and repeated structures of DWARF.
    pub(crate) fn transparent(&self, mut id: TypeId) -> TypeId {
        for _ in 0..DEPTH {
            match self.get(id) {
                Type::Typedef { name, target } if self.name(*name).is_empty() => id = *target,
                _ => break,
            }
        }
        id
    }

    /// Bytes of a type.
    pub fn size(&self, id: TypeId) -> u64 {
        self.size_within(id, DEPTH)
    }

    fn size_within(&self, id: TypeId, depth: usize) -> u64 {
        let Some(depth) = depth.checked_sub(1) else {
            return 0;
        };
        match self.get(self.resolve(id)) {
            Type::Base { size, .. } | Type::Enumeration { size, .. } => *size,
            Type::Pointer(_) => self.address_size,
            Type::Array { element, count } => {
                let element = self.size_within(*element, depth);
                element.saturating_mul(count.unwrap_or(0))
            }
            Type::Composite(composite) => composite.size,
            _ => 0,
        }
    }

    /// The alignment that a type has by itself.
    pub fn natural_alignment(&self, id: TypeId) -> u64 {
        self.alignment_within(id, 16, &mut 10_000).max(1)
    }

    /// `budget` is how many types are looked at: lying files have structures that contain each other
    /// so often that the work would have no end.
    fn alignment_within(&self, id: TypeId, depth: usize, budget: &mut u32) -> u64 {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), budget.checked_sub(1)) else {
            return 1;
        };
        *budget = left;
        match self.get(self.resolve(id)) {
            Type::Base { size, .. } | Type::Enumeration { size, .. } => {
                let largest = 1 << size.checked_ilog2().unwrap_or(0).min(4);
                // i386 aligns what is larger than a pointer like a pointer within structures.
                if self.address_size == 4 {
                    largest.min(8)
                } else {
                    largest
                }
            }
            Type::Pointer(_) => self.address_size,
            Type::Array { element, .. } => self.alignment_within(*element, depth, budget),
            Type::Composite(composite) => {
                let own = composite.alignment.unwrap_or(1).max(1);
                let mut largest = own;
                for member in &composite.members {
                    largest = largest.max(self.alignment_within(member.type_id, depth, budget));
                }
                // What is not a multiple of its alignment is packed.
                if composite.size % largest == 0 {
                    largest
                } else {
                    own
                }
            }
            _ => 1,
        }
    }

    /// All structures and unions with a tag, by name and in the order of the file. A name may come
    /// more than once.
    pub fn composites(&self) -> impl Iterator<Item = (TypeId, &str, &Composite)> {
        self.types.iter().enumerate().filter_map(|(i, found)| {
            let Type::Composite(composite) = found else {
                return None;
            };
            let name = self.name(composite.name?);
            Some((TypeId(u32::try_from(i).ok()?), name, composite))
        })
    }

    /// Finds a structure or union by its tag, or by a typedef for it.
    pub fn find(&self, wanted: &str) -> Option<TypeId> {
        let plain = wanted
            .strip_prefix("struct ")
            .or_else(|| wanted.strip_prefix("union "))
            .unwrap_or(wanted)
            .trim();
        let mut best: Option<(usize, TypeId)> = None;
        for (id, name, composite) in self.composites() {
            // Of several, the one with most members: others may be from code that cheats.
            let size = composite.members.len();
            if name == plain && best.is_none_or(|(most, _)| size > most) {
                best = Some((size, id));
            }
        }
        if let Some((_, id)) = best {
            return Some(id);
        }
        self.types.iter().find_map(|found| match found {
            Type::Typedef { name, target } if self.name(*name) == plain => {
                let target = self.resolve(*target);
                matches!(self.get(target), Type::Composite(_)).then_some(target)
            }
            _ => None,
        })
    }

    /// The first structure of every tag, for comparing two files.
    pub fn by_name(&self) -> BTreeMap<(&str, bool), TypeId> {
        let mut all = BTreeMap::new();
        for (id, name, composite) in self.composites() {
            all.entry((name, composite.is_union)).or_insert(id);
        }
        all
    }

    pub(crate) fn intern(&mut self, text: &[u8]) -> Name {
        self.names.intern(text)
    }

    pub(crate) fn push(&mut self, new: Type) -> TypeId {
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(0));
        self.types.push(new);
        id
    }

    pub(crate) fn set(&mut self, id: TypeId, new: Type) {
        if let Some(place) = self.types.get_mut(id.0 as usize) {
            *place = new;
        }
    }
}
