//! Types from DWARF.
//!
//! Units are read one after the other. Of structures with the same name and size in several units
//! the first complete one is kept, since headers are compiled into every unit.

use std::collections::{BTreeMap, HashMap};

use gimli::{AttributeValue, DebuggingInformationEntry, EndianSlice, RunTimeEndian, Unit};

use super::{Composite, Member, Qualifier, Type, TypeId, Types};
use crate::elf::DebugSections;
use crate::error::{LayoutError, Result};

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;
type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// The sections that types and inlined functions are read from.
pub(crate) const SECTIONS: &[&str] = &[
    ".debug_info",
    ".debug_abbrev",
    ".debug_str",
    ".debug_line_str",
    ".debug_str_offsets",
    ".debug_addr",
    // Opening a unit reads the header of its line table.
    ".debug_line",
];

/// Prepares sections for reading.
pub(crate) fn open<'a>(sections: &'a DebugSections<'_>) -> Dwarf<'a> {
    let endian = if sections.is_big_endian {
        RunTimeEndian::Big
    } else {
        RunTimeEndian::Little
    };
    let load = |id: gimli::SectionId| {
        let bytes = sections.get(id.name());
        std::result::Result::<_, gimli::Error>::Ok(EndianSlice::new(bytes, endian))
    };
    gimli::Dwarf::load(load).unwrap_or_default()
}

/// Reads types. When `wanted` names some, only units that define one of them are kept, so a kernel
/// takes no more memory than its largest unit.
///
/// # Errors
/// The sections contradict themselves.
pub(crate) fn read(name: &str, sections: &DebugSections<'_>, wanted: &[String]) -> Result<Types> {
    let dwarf = open(sections);
    let mut types = Types::new(u64::from(sections.address_size));
    types.states_alignment = true;
    let fail = |offset: usize, error: gimli::Error| LayoutError::Binary {
        name: name.to_owned(),
        what: "DWARF unit",
        offset: offset as u64,
        problem: error.to_string(),
    };
    let mut missing: Vec<String> = wanted.to_vec();
    let mut seen = BTreeMap::new();
    let mut units = dwarf.units();
    let mut position = 0;
    while let Some(header) = units.next().map_err(|error| fail(position, error))? {
        position = header
            .debug_info_offset()
            .map_or(position, |offset| offset.0);
        let unit = dwarf.unit(header).map_err(|error| fail(position, error))?;
        let mut reader = UnitReader {
            dwarf: &dwarf,
            unit: &unit,
            types: &mut types,
            is_big_endian: sections.is_big_endian,
            ids: HashMap::new(),
            seen: &mut seen,
        };
        if !wanted.is_empty() {
            if missing.is_empty() {
                break;
            }
            let found = reader
                .defines(&missing)
                .map_err(|error| fail(position, error))?;
            if found.is_empty() {
                continue;
            }
            missing.retain(|name| !found.contains(name));
        }
        reader.read().map_err(|error| fail(position, error))?;
    }
    Ok(types)
}

struct UnitReader<'u, 'a> {
    dwarf: &'u Dwarf<'a>,
    unit: &'u Unit<Slice<'a>>,
    types: &'u mut Types,
    is_big_endian: bool,
    /// Numbers of entries by their offset in the unit. Only looked up, never walked.
    ids: HashMap<usize, TypeId>,
    /// Complete structures of earlier units.
    seen: &'u mut BTreeMap<(super::Name, bool, u64), TypeId>,
}

/// What is open while its children are read.
enum Open {
    Composite(TypeId, Composite),
    Enumeration(TypeId, Option<super::Name>, u64, Vec<(super::Name, i128)>),
    Array(TypeId, TypeId, Vec<Option<u64>>),
    Function(TypeId, TypeId, Vec<TypeId>, bool),
    Other,
}

impl<'a> UnitReader<'_, 'a> {
    /// The names among `wanted` of which the unit has a complete structure.
    fn defines(&self, wanted: &[String]) -> gimli::Result<Vec<String>> {
        let mut found = Vec::new();
        let mut entries = self.unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if !matches!(
                entry.tag(),
                gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type | gimli::DW_TAG_class_type
            ) || !entry.has_attr(gimli::DW_AT_byte_size)
            {
                continue;
            }
            let Some(name) = self.string(entry) else {
                continue;
            };
            let plain = |wanted: &str| {
                let short = wanted.strip_prefix("struct ");
                let short = short.or_else(|| wanted.strip_prefix("union "));
                short.unwrap_or(wanted).as_bytes() == name
            };
            if let Some(name) = wanted.iter().find(|wanted| plain(wanted))
                && !found.contains(name)
            {
                found.push(name.clone());
            }
        }
        Ok(found)
    }

    fn read(&mut self) -> gimli::Result<()> {
        let unit = self.unit;
        let mut open: Vec<(isize, Open)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            while open.last().is_some_and(|(at, _)| *at >= depth) {
                if let Some((_, done)) = open.pop() {
                    self.close(done);
                }
            }
            self.child(&mut open, entry);
            let new = self.entry(entry);
            if let Some(new) = new {
                open.push((depth, new));
            }
        }
        while let Some((_, done)) = open.pop() {
            self.close(done);
        }
        Ok(())
    }

    /// Adds `entry` to the type that it is a part of.
    fn child(&mut self, open: &mut [(isize, Open)], entry: &Entry<'a>) {
        let depth = entry.depth();
        let Some((_, parent)) = open.last_mut().filter(|(at, _)| *at + 1 == depth) else {
            return;
        };
        match (parent, entry.tag()) {
            (Open::Composite(_, composite), gimli::DW_TAG_member) => {
                if let Some(member) = self.member(entry) {
                    composite.members.push(member);
                }
            }
            (Open::Enumeration(_, _, _, values), gimli::DW_TAG_enumerator) => {
                let Some(name) = self.string(entry) else {
                    return;
                };
                let value = match entry.attr_value(gimli::DW_AT_const_value) {
                    Some(AttributeValue::Sdata(value)) => i128::from(value),
                    Some(value) => match value.udata_value() {
                        Some(value) => i128::from(value),
                        None => return,
                    },
                    None => return,
                };
                let name = self.types.intern(name);
                values.push((name, value));
            }
            (Open::Array(_, _, counts), gimli::DW_TAG_subrange_type) => {
                let count = self.unsigned(entry, gimli::DW_AT_count).or_else(|| {
                    let bound = entry.attr_value(gimli::DW_AT_upper_bound)?;
                    // A bound of -1 is an array without elements, in whatever form.
                    match bound {
                        AttributeValue::Sdata(-1)
                        | AttributeValue::Data8(u64::MAX)
                        | AttributeValue::Data4(u32::MAX)
                        | AttributeValue::Udata(u64::MAX) => Some(0),
                        _ => bound.udata_value()?.checked_add(1),
                    }
                });
                counts.push(count);
            }
            (Open::Function(_, _, parameters, _), gimli::DW_TAG_formal_parameter) => {
                let parameter = self.target(entry);
                parameters.push(parameter);
            }
            (Open::Function(_, _, _, is_variadic), gimli::DW_TAG_unspecified_parameters) => {
                *is_variadic = true;
            }
            _ => {}
        }
    }

    /// The type that `entry` starts, if it is one.
    fn entry(&mut self, entry: &Entry<'a>) -> Option<Open> {
        let tag = entry.tag();
        let size = |reader: &Self| reader.unsigned(entry, gimli::DW_AT_byte_size);
        let simple = |reader: &mut Self, new: Type| {
            let id = reader.id(entry.offset().0);
            reader.types.set(id, new);
            Some(Open::Other)
        };
        match tag {
            gimli::DW_TAG_base_type | gimli::DW_TAG_unspecified_type => {
                let name = self.string(entry).unwrap_or(b"void");
                let name = self.types.intern(name);
                let size = size(self).unwrap_or(0);
                let bits = size.saturating_mul(8);
                simple(self, Type::Base { name, size, bits })
            }
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                let target = self.target(entry);
                simple(self, Type::Pointer(target))
            }
            gimli::DW_TAG_typedef => {
                let name = self.string(entry).unwrap_or(b"");
                let name = self.types.intern(name);
                let target = self.target(entry);
                simple(self, Type::Typedef { name, target })
            }
            gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => {
                let qualifier = match tag {
                    gimli::DW_TAG_const_type => Qualifier::Const,
                    gimli::DW_TAG_volatile_type => Qualifier::Volatile,
                    gimli::DW_TAG_restrict_type => Qualifier::Restrict,
                    _ => Qualifier::Atomic,
                };
                let target = self.target(entry);
                simple(self, Type::Qualified { qualifier, target })
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type | gimli::DW_TAG_class_type => {
                let is_union = tag == gimli::DW_TAG_union_type;
                let text = self.string(entry);
                let name = text.map(|text| self.types.intern(text));
                let id = self.id(entry.offset().0);
                let is_declaration = entry.has_attr(gimli::DW_AT_declaration);
                let (Some(size), false) = (size(self), is_declaration) else {
                    let name = name.unwrap_or_else(|| self.types.intern(b""));
                    self.types.set(id, Type::Forward { name, is_union });
                    return Some(Open::Other);
                };
                let alignment = self.unsigned(entry, gimli::DW_AT_alignment);
                let members = Vec::new();
                let composite = Composite {
                    name,
                    is_union,
                    size,
                    alignment,
                    members,
                };
                Some(Open::Composite(id, composite))
            }
            gimli::DW_TAG_enumeration_type => {
                let text = self.string(entry);
                let name = text.map(|text| self.types.intern(text));
                let id = self.id(entry.offset().0);
                Some(Open::Enumeration(
                    id,
                    name,
                    size(self).unwrap_or(0),
                    Vec::new(),
                ))
            }
            gimli::DW_TAG_array_type => {
                let element = self.target(entry);
                let id = self.id(entry.offset().0);
                Some(Open::Array(id, element, Vec::new()))
            }
            gimli::DW_TAG_subroutine_type => {
                let result = self.target(entry);
                let id = self.id(entry.offset().0);
                Some(Open::Function(id, result, Vec::new(), false))
            }
            _ => None,
        }
    }

    fn close(&mut self, done: Open) {
        match done {
            Open::Composite(id, composite) => {
                if let Some(name) = composite.name {
                    let key = (name, composite.is_union, composite.size);
                    if let Some(first) = self.seen.get(&key) {
                        // Others refer to this one by its number; to them it is the first.
                        let target = *first;
                        let name = self.types.intern(b"");
                        self.types.set(id, Type::Typedef { name, target });
                        return;
                    }
                    self.seen.insert(key, id);
                }
                self.types.set(id, Type::Composite(composite));
            }
            Open::Enumeration(id, name, size, values) => {
                self.types.set(id, Type::Enumeration { name, size, values });
            }
            Open::Array(id, element, counts) => {
                // The last dimension is the innermost.
                let mut element = element;
                let (first, rest) = match counts.split_first() {
                    Some((first, rest)) => (*first, rest),
                    None => (None, &[][..]),
                };
                for count in rest.iter().rev() {
                    element = self.types.push(Type::Array {
                        element,
                        count: *count,
                    });
                }
                self.types.set(
                    id,
                    Type::Array {
                        element,
                        count: first,
                    },
                );
            }
            Open::Function(id, result, parameters, is_variadic) => {
                self.types.set(
                    id,
                    Type::Function {
                        result,
                        parameters,
                        is_variadic,
                    },
                );
            }
            Open::Other => {}
        }
    }

    fn member(&mut self, entry: &Entry<'a>) -> Option<Member> {
        // Static members have no place.
        if entry.has_attr(gimli::DW_AT_external) || entry.has_attr(gimli::DW_AT_declaration) {
            return None;
        }
        let text = self.string(entry);
        let name = text.map(|text| self.types.intern(text));
        let byte = match entry.attr_value(gimli::DW_AT_data_member_location) {
            Some(AttributeValue::Exprloc(expression)) => constant(expression).unwrap_or(0),
            Some(value) => value.udata_value().unwrap_or(0),
            None => 0,
        };
        let mut bit_offset = byte.saturating_mul(8);
        let bit_size = self.unsigned(entry, gimli::DW_AT_bit_size).unwrap_or(0);
        if let Some(bits) = self.unsigned(entry, gimli::DW_AT_data_bit_offset) {
            bit_offset = bit_offset.saturating_add(bits);
        } else if let Some(from_top) = self.unsigned(entry, gimli::DW_AT_bit_offset) {
            // DWARF 2 and 3 count from the most significant bit of the storage unit.
            let unit = self.unsigned(entry, gimli::DW_AT_byte_size).unwrap_or(4);
            let bits = if self.is_big_endian {
                from_top
            } else {
                let used = from_top.saturating_add(bit_size);
                unit.saturating_mul(8).saturating_sub(used)
            };
            bit_offset = bit_offset.saturating_add(bits);
        }
        Some(Member {
            name,
            type_id: self.target(entry),
            bit_offset,
            bit_size,
            alignment: self.unsigned(entry, gimli::DW_AT_alignment),
        })
    }

    /// The number of the entry at `offset`, also before it was read.
    fn id(&mut self, offset: usize) -> TypeId {
        if let Some(id) = self.ids.get(&offset) {
            return *id;
        }
        let id = self.types.push(Type::Void);
        self.ids.insert(offset, id);
        id
    }

    /// What `DW_AT_type` refers to.
    fn target(&mut self, entry: &Entry<'a>) -> TypeId {
        match entry.attr_value(gimli::DW_AT_type) {
            Some(AttributeValue::UnitRef(offset)) => self.id(offset.0),
            Some(AttributeValue::DebugInfoRef(offset)) => {
                match offset.to_unit_offset(&self.unit.header) {
                    Some(offset) => self.id(offset.0),
                    None => TypeId::VOID,
                }
            }
            _ => TypeId::VOID,
        }
    }

    fn string(&self, entry: &Entry<'a>) -> Option<&'a [u8]> {
        let value = entry.attr_value(gimli::DW_AT_name)?;
        let text = self.dwarf.attr_string(self.unit, value).ok()?;
        Some(text.slice())
    }

    fn unsigned(&self, entry: &Entry<'a>, attribute: gimli::DwAt) -> Option<u64> {
        entry.attr_value(attribute)?.udata_value()
    }
}

/// The number in an expression like `DW_OP_plus_uconst 8`, with which old compilers state offsets.
fn constant(expression: gimli::Expression<Slice<'_>>) -> Option<u64> {
    let mut bytes = expression.0;
    let operation = gimli::Reader::read_u8(&mut bytes).ok()?;
    let is_constant = matches!(
        gimli::DwOp(operation),
        gimli::DW_OP_plus_uconst | gimli::DW_OP_constu
    );
    is_constant
        .then(|| gimli::Reader::read_uleb128(&mut bytes).ok())
        .flatten()
}
