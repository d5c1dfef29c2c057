//! BTF, the kernel's own type format.
//!
//! # Source
//! Linux `Documentation/bpf/btf.rst`: header, kinds and their records.

use super::{Composite, Member, Qualifier, Type, TypeId, Types};
use crate::error::{LayoutError, Result};

/// Reads raw BTF. A module's BTF continues the numbers and strings of `base`, that of its kernel.
///
/// # Errors
/// The header or a record is cut off.
pub fn read(name: &str, bytes: &[u8], base: Option<&[u8]>) -> Result<Types> {
    let mut types = Types::new(8);
    let mut strings = 0;
    if let Some(base) = base {
        let base = Sections::parse(name, base, 0)?;
        strings = base.strings.len() as u64;
        base.read_types(&mut types, &base)?;
        Sections::parse(name, bytes, strings)?.read_types(&mut types, &base)?;
    } else {
        let own = Sections::parse(name, bytes, strings)?;
        own.read_types(&mut types, &own)?;
    }
    types.address_size = address_size(&types);
    Ok(types)
}

/// Does the BTF build on another? Then its numbers point beyond its own strings and types.
pub fn needs_base(bytes: &[u8]) -> bool {
    let Ok(sections) = Sections::parse("", bytes, 0) else {
        return false;
    };
    // Strings of a base start with an empty one, since 0 means "no name"; those of a module do not
    // need to, and usually continue.
    let mut reader = Reader {
        bytes: sections.types,
        position: 0,
        is_big_endian: sections.is_big_endian,
    };
    let name = reader.u32();
    sections.strings.first() != Some(&0)
        || name.is_some_and(|name| name as usize >= sections.strings.len().max(1))
}

/// `long` is as large as a pointer on every processor that Linux runs on.
fn address_size(types: &Types) -> u64 {
    let long = (1..types.len()).find_map(|i| match types.get(TypeId(u32::try_from(i).ok()?)) {
        Type::Base { name, size, .. }
            if matches!(
                types.name(*name),
                "long unsigned int" | "long int" | "unsigned long" | "long"
            ) =>
        {
            Some(*size)
        }
        _ => None,
    });
    match long {
        Some(4) => 4,
        _ => 8,
    }
}

struct Sections<'a> {
    name: &'a str,
    is_big_endian: bool,
    /// Where the types start in the file, for messages.
    start: u64,
    types: &'a [u8],
    strings: &'a [u8],
    /// Bytes of strings that come before ours, in the base.
    strings_before: u64,
}

impl<'a> Sections<'a> {
    fn parse(name: &'a str, bytes: &'a [u8], strings_before: u64) -> Result<Self> {
        let fail = |offset, problem: &str| LayoutError::Binary {
            name: name.to_owned(),
            what: "BTF header",
            offset,
            problem: problem.to_owned(),
        };
        let is_big_endian = match bytes {
            [0x9f, 0xeb, ..] => false,
            [0xeb, 0x9f, ..] => true,
            _ => return Err(fail(0, "the magic number eb9f is not there")),
        };
        let mut reader = Reader {
            bytes,
            position: 4,
            is_big_endian,
        };
        let mut next = || {
            let number = reader.u32();
            number.ok_or_else(|| fail(4, "the file ends within it; is it cut off?"))
        };
        let header = u64::from(next()?);
        let (type_offset, type_len) = (u64::from(next()?), u64::from(next()?));
        let (string_offset, string_len) = (u64::from(next()?), u64::from(next()?));
        let range = |offset: u64, len: u64, what: &str| {
            let start = header + offset;
            let range = usize::try_from(start)
                .ok()
                .zip(usize::try_from(start + len).ok());
            range
                .and_then(|(start, end)| bytes.get(start..end))
                .ok_or_else(|| fail(start, &format!("the file ends within the {what}")))
        };
        Ok(Self {
            name,
            is_big_endian,
            start: header + type_offset,
            types: range(type_offset, type_len, "types")?,
            strings: range(string_offset, string_len, "strings")?,
            strings_before,
        })
    }

    fn string(&self, offset: u32) -> &'a [u8] {
        let rest = self.strings.get(offset as usize..).unwrap_or(&[]);
        let end = rest.iter().position(|b| *b == 0).unwrap_or(rest.len());
        rest.get(..end).unwrap_or(&[])
    }

    fn read_types(&self, types: &mut Types, base: &Self) -> Result<()> {
        let mut reader = Reader {
            bytes: self.types,
            position: 0,
            is_big_endian: self.is_big_endian,
        };
        while reader.position < self.types.len() {
            let start = reader.position;
            let new = self
                .record(&mut reader, types, base)
                .ok_or_else(|| LayoutError::Binary {
                    name: self.name.to_owned(),
                    what: "BTF type",
                    offset: self.start + start as u64,
                    problem: format!(
                        "record {} is of an unknown kind, or the types end within it",
                        types.len()
                    ),
                })?;
            types.push(new);
        }
        Ok(())
    }

    fn record(&self, reader: &mut Reader<'_>, types: &mut Types, base: &Self) -> Option<Type> {
        let name_offset = reader.u32()?;
        let info = reader.u32()?;
        let size_or_type = reader.u32()?;
        let (count, kind, flag) = (info & 0xffff, info >> 24 & 0x1f, info >> 31 == 1);
        let string = |offset: u32| match u64::from(offset).checked_sub(self.strings_before) {
            Some(own) => self.string(u32::try_from(own).unwrap_or(u32::MAX)),
            None => base.string(offset),
        };
        let name = string(name_offset);
        let tag = |types: &mut Types| (!name.is_empty()).then(|| types.intern(name));
        let size = u64::from(size_or_type);
        let target = TypeId(size_or_type);
        // Every member takes at least 8 bytes of the file, so this cannot ask for more than it has.
        let left = (reader.bytes.len() - reader.position) / 8;
        let count = count as usize;
        Some(match kind {
            1 => {
                let encoding = reader.u32()?;
                Type::Base {
                    name: types.intern(name),
                    size,
                    bits: u64::from(encoding & 0xff),
                }
            }
            2 => Type::Pointer(target),
            3 => {
                let element = TypeId(reader.u32()?);
                let _index = reader.u32()?;
                Type::Array {
                    element,
                    count: Some(u64::from(reader.u32()?)),
                }
            }
            4 | 5 => {
                let mut members = Vec::with_capacity(count.min(left));
                for _ in 0..count {
                    let member_name = string(reader.u32()?);
                    let type_id = TypeId(reader.u32()?);
                    let offset = reader.u32()?;
                    let (bit_offset, bit_size) = if flag {
                        (offset & 0xff_ffff, offset >> 24)
                    } else {
                        (offset, 0)
                    };
                    members.push(Member {
                        name: (!member_name.is_empty()).then(|| types.intern(member_name)),
                        type_id,
                        bit_offset: u64::from(bit_offset),
                        bit_size: u64::from(bit_size),
                        alignment: None,
                    });
                }
                Type::Composite(Composite {
                    name: tag(types),
                    is_union: kind == 5,
                    size,
                    alignment: None,
                    members,
                })
            }
            6 | 19 => {
                let mut values = Vec::with_capacity(count.min(left));
                for _ in 0..count {
                    let value_name = types.intern(string(reader.u32()?));
                    let low = reader.u32()?;
                    let high = if kind == 19 { reader.u32()? } else { 0 };
                    let value = match (kind, flag) {
                        (6, true) => i128::from(low.cast_signed()),
                        (6, false) => i128::from(low),
                        (_, true) => {
                            i128::from((u64::from(high) << 32 | u64::from(low)).cast_signed())
                        }
                        (_, false) => i128::from(u64::from(high) << 32 | u64::from(low)),
                    };
                    values.push((value_name, value));
                }
                Type::Enumeration {
                    name: tag(types),
                    size,
                    values,
                }
            }
            7 => Type::Forward {
                name: types.intern(name),
                is_union: flag,
            },
            8 => Type::Typedef {
                name: types.intern(name),
                target,
            },
            9 => qualified(Qualifier::Volatile, target),
            10 => qualified(Qualifier::Const, target),
            11 => qualified(Qualifier::Restrict, target),
            // A tag says something about its target, and is transparent.
            18 => Type::Typedef {
                name: types.intern(b""),
                target,
            },
            12 => Type::Void,
            13 => {
                let mut parameters = Vec::with_capacity(count.min(left));
                let mut is_variadic = false;
                for i in 0..count {
                    let parameter_name = reader.u32()?;
                    let parameter = TypeId(reader.u32()?);
                    if i + 1 == count && parameter == TypeId::VOID && parameter_name == 0 {
                        is_variadic = true;
                    } else {
                        parameters.push(parameter);
                    }
                }
                Type::Function {
                    result: target,
                    parameters,
                    is_variadic,
                }
            }
            14 | 17 => {
                reader.u32()?;
                Type::Void
            }
            15 => {
                reader.skip(count.checked_mul(12)?)?;
                Type::Void
            }
            16 => Type::Base {
                name: types.intern(name),
                size,
                bits: size.saturating_mul(8),
            },
            _ => return None,
        })
    }
}

fn qualified(qualifier: Qualifier, target: TypeId) -> Type {
    Type::Qualified { qualifier, target }
}

struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    is_big_endian: bool,
}

impl Reader<'_> {
    fn u32(&mut self) -> Option<u32> {
        let end = self.position.checked_add(4)?;
        let bytes = self.bytes.get(self.position..end)?.try_into().ok()?;
        self.position = end;
        Some(if self.is_big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        let end = self.position.checked_add(count)?;
        self.position = self.bytes.get(..end)?.len();
        Some(())
    }
}
