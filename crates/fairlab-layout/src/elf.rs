//! ELF files: sections, symbols, and the bytes of debug sections.
//!
//! Everything is read through the section table, as binutils does; nothing is trusted. A file is
//! asked only for the parts that are needed, so a kernel of several hundred megabytes costs its
//! symbol table.

mod letter;
mod relocate;

use std::borrow::Cow;

use flate2::read::ZlibDecoder;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, ReadRef};
use serde::Serialize;

use crate::error::{LayoutError, Result};
use crate::section::{Section, SectionFlags};
use crate::symbol::{Symbol, SymbolList};
use crate::unpack::read_limited;

/// One part of a file may be this large. The largest `.debug_info` known has 350 MB.
const PART_LIMIT: u64 = 1 << 30;

/// An ELF file, without its contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectFile {
    /// The member of an archive; `None` for a file of its own.
    pub member: Option<String>,
    /// 32 or 64.
    pub bits: u8,
    /// Is the most significant byte first?
    pub is_big_endian: bool,
    /// The processor, as `readelf` numbers it (`e_machine`).
    pub machine: u16,
    /// What kind of file it is.
    pub file_type: FileType,
    /// The sections that binutils knows, in the order of the file.
    pub sections: Vec<Section>,
    /// What `nm -n` prints.
    pub symbols: SymbolList,
    /// Is there DWARF, and is there BTF?
    pub has_dwarf: bool,
    /// Is there a `.BTF` section?
    pub has_btf: bool,
}

/// What kind of ELF file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileType {
    /// An object or a kernel module.
    Relocatable,
    /// A program or kernel at a fixed address.
    Executable,
    /// A shared library, or a program that may be anywhere.
    Shared,
    /// A memory dump.
    Core,
    /// Anything else.
    Other,
}

impl ObjectFile {
    /// The usual name of the processor.
    pub fn machine_name(&self) -> &'static str {
        let machine = elf::Machine(self.machine);
        match machine {
            elf::EM_X86_64 => "x86-64",
            elf::EM_386 => "i386",
            elf::EM_AARCH64 => "arm64",
            elf::EM_ARM => "arm",
            elf::EM_PPC64 if self.is_big_endian => "ppc64",
            elf::EM_PPC64 => "ppc64le",
            elf::EM_PPC => "ppc",
            elf::EM_S390 if self.bits == 64 => "s390x",
            elf::EM_S390 => "s390",
            elf::EM_RISCV => "riscv",
            elf::EM_LOONGARCH => "loongarch",
            elf::EM_MIPS => "mips",
            elf::EM_SPARCV9 => "sparc64",
            elf::EM_BPF => "bpf",
            _ => "another processor",
        }
    }
}

/// Reads sections and symbols.
///
/// # Errors
/// The headers are cut off or contradict each other.
pub fn read<'data, R: ReadRef<'data>>(name: &str, data: R) -> Result<ObjectFile> {
    match class(name, data)? {
        Class::Bits32 => Elf::<elf::FileHeader32<Endianness>, R>::parse(name, data)?.describe(),
        Class::Bits64 => Elf::<elf::FileHeader64<Endianness>, R>::parse(name, data)?.describe(),
    }
}

/// The bytes of debug sections, unpacked and relocated.
pub struct DebugSections<'data> {
    /// Is the most significant byte first?
    pub is_big_endian: bool,
    /// Bytes of an address.
    pub address_size: u8,
    sections: Vec<(&'static str, Cow<'data, [u8]>)>,
}

impl<'data> DebugSections<'data> {
    /// The section called `name`; empty when there is none.
    pub fn get(&self, name: &str) -> &[u8] {
        let found = self.sections.iter().find(|(other, _)| *other == name);
        found.map_or(&[], |(_, bytes)| bytes)
    }

    /// Takes a section out, to own it.
    pub fn take(&mut self, name: &str) -> Cow<'data, [u8]> {
        match self.sections.iter().position(|(other, _)| *other == name) {
            Some(i) => self.sections.swap_remove(i).1,
            None => Cow::Borrowed(&[]),
        }
    }
}

/// Reads the sections called `names`, those that there are.
///
/// # Errors
/// The headers, a compressed section or a relocation is broken.
pub fn debug_sections<'data, R: ReadRef<'data>>(
    name: &str,
    data: R,
    names: &[&'static str],
) -> Result<DebugSections<'data>> {
    match class(name, data)? {
        Class::Bits32 => {
            Elf::<elf::FileHeader32<Endianness>, R>::parse(name, data)?.debug_sections(names)
        }
        Class::Bits64 => {
            Elf::<elf::FileHeader64<Endianness>, R>::parse(name, data)?.debug_sections(names)
        }
    }
}

enum Class {
    Bits32,
    Bits64,
}

fn class<'data, R: ReadRef<'data>>(name: &str, data: R) -> Result<Class> {
    let head = data.read_bytes_at(0, 20).map_err(|()| {
        broken(
            name,
            "ELF header",
            0,
            "the file ends within it; is it cut off?",
        )
    })?;
    match head.get(4) {
        Some(1) => Ok(Class::Bits32),
        Some(2) => Ok(Class::Bits64),
        _ => Err(broken(
            name,
            "ELF header",
            4,
            "the class is neither 32-bit nor 64-bit",
        )),
    }
}

fn broken(
    name: &str,
    what: &'static str,
    offset: u64,
    problem: impl std::fmt::Display,
) -> LayoutError {
    LayoutError::Binary {
        name: name.to_owned(),
        what,
        offset,
        problem: problem.to_string(),
    }
}

/// A file whose section table has been found.
struct Elf<'a, 'data, H: FileHeader<Endian = Endianness>, R: ReadRef<'data>> {
    name: &'a str,
    data: R,
    header: &'data H,
    endian: Endianness,
    sections: &'data [H::SectionHeader],
    section_names: &'data [u8],
}

impl<'a, 'data, H, R> Elf<'a, 'data, H, R>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    fn parse(name: &'a str, data: R) -> Result<Self> {
        let fail = |what, offset| {
            move |error: object::read::Error| {
                broken(name, what, offset, format_args!("{error}; is it cut off?"))
            }
        };
        let header = H::parse(data).map_err(fail("ELF header", 0))?;
        let endian = header.endian().map_err(fail("ELF header", 5))?;
        let shoff = header.e_shoff(endian).into();
        let what = "ELF section table";
        let sections = header
            .section_headers(endian, data)
            .map_err(fail(what, shoff))?;
        let mut section_names: &[u8] = &[];
        if !sections.is_empty() {
            let index = header
                .section_strings_index(endian, data)
                .map_err(fail(what, shoff))?;
            let strings = sections.get(index.0).ok_or_else(|| {
                broken(
                    name,
                    what,
                    shoff,
                    "the section that should hold the names is not there",
                )
            })?;
            section_names = part(name, data, endian, strings, "ELF section names")?;
        }
        Ok(Self {
            name,
            data,
            header,
            endian,
            sections,
            section_names,
        })
    }

    fn section_name(&self, section: &H::SectionHeader) -> Cow<'data, str> {
        string_at(self.section_names, section.sh_name(self.endian))
    }

    fn describe(&self) -> Result<ObjectFile> {
        let kept: Vec<bool> = (0..self.sections.len()).map(|i| self.is_kept(i)).collect();
        let mut sections = Vec::new();
        let mut has_dwarf = false;
        let mut has_btf = false;
        let mut all = Vec::with_capacity(self.sections.len());
        for (header, is_kept) in self.sections.iter().zip(&kept) {
            let section = self.section(header);
            has_dwarf |= matches!(section.name.as_str(), ".debug_info" | ".zdebug_info");
            has_btf |= section.name == ".BTF";
            if *is_kept {
                sections.push(section.clone());
            }
            all.push(is_kept.then_some(section));
        }
        let endian = self.endian;
        Ok(ObjectFile {
            member: None,
            bits: if self.header.is_class_64() { 64 } else { 32 },
            is_big_endian: self.header.is_big_endian(),
            machine: self.header.e_machine(endian).0,
            file_type: match self.header.e_type(endian) {
                elf::ET_REL => FileType::Relocatable,
                elf::ET_EXEC => FileType::Executable,
                elf::ET_DYN => FileType::Shared,
                elf::ET_CORE => FileType::Core,
                _ => FileType::Other,
            },
            symbols: self.symbols(&all)?,
            sections,
            has_dwarf,
            has_btf,
        })
    }

    fn section(&self, header: &H::SectionHeader) -> Section {
        let endian = self.endian;
        let flags = header.sh_flags(endian);
        Section {
            name: self.section_name(header).into_owned(),
            address: header.sh_addr(endian).into(),
            size: header.sh_size(endian).into(),
            flags: SectionFlags {
                is_alloc: flags.contains(elf::SHF_ALLOC),
                is_writable: flags.contains(elf::SHF_WRITE),
                is_code: flags.contains(elf::SHF_EXECINSTR),
                has_contents: header.sh_type(endian) != elf::SHT_NOBITS,
            },
        }
    }

    /// Does binutils make a section of the header, rather than use it up itself?
    fn is_kept(&self, index: usize) -> bool {
        let endian = self.endian;
        let Some(header) = self.sections.get(index) else {
            return false;
        };
        match header.sh_type(endian) {
            elf::SHT_NULL | elf::SHT_SYMTAB | elf::SHT_SYMTAB_SHNDX => false,
            elf::SHT_STRTAB => {
                // The names of sections and symbols are used up; .dynstr and others are kept.
                let is_section_names = self
                    .header
                    .section_strings_index(endian, self.data)
                    .is_ok_and(|names| names.0 == index);
                let is_symbol_names = self.sections.iter().any(|other| {
                    other.sh_type(endian) == elf::SHT_SYMTAB
                        && other.sh_link(endian) as usize == index
                });
                !is_section_names && !is_symbol_names
            }
            elf::SHT_REL | elf::SHT_RELA => {
                let is_linked = matches!(self.header.e_type(endian), elf::ET_EXEC | elf::ET_DYN);
                let links_to_symbols = self
                    .sections
                    .get(header.sh_link(endian) as usize)
                    .is_some_and(|table| table.sh_type(endian) == elf::SHT_SYMTAB);
                let target = header.sh_info(endian) as usize;
                let has_target = target != 0
                    && self.sections.get(target).is_some_and(|section| {
                        !matches!(section.sh_type(endian), elf::SHT_REL | elf::SHT_RELA)
                    });
                is_linked || !links_to_symbols || !has_target
            }
            _ => true,
        }
    }

    fn symbols(&self, sections: &[Option<Section>]) -> Result<SymbolList> {
        let endian = self.endian;
        let mut list = SymbolList {
            digits: if self.header.is_class_64() { 16 } else { 8 },
            has_sizes: true,
            ..SymbolList::default()
        };
        let Some((table_index, table)) = self
            .sections
            .iter()
            .enumerate()
            .find(|(_, section)| section.sh_type(endian) == elf::SHT_SYMTAB)
        else {
            return Ok(list);
        };
        let what = "ELF symbol table";
        let offset = table.sh_offset(endian).into();
        self.check_size(table, what)?;
        let symbols: &[H::Sym] = table
            .data_as_array(endian, self.data)
            .map_err(|error| broken(self.name, what, offset, error))?;
        let strings = self
            .sections
            .get(table.sh_link(endian) as usize)
            .ok_or_else(|| broken(self.name, what, offset, "its names are not there"))?;
        let strings = part(self.name, self.data, endian, strings, "ELF symbol names")?;
        let extended = self.extended_indexes(table_index)?;
        let machine = self.header.e_machine(endian);
        list.symbols.reserve(symbols.len());
        for (i, symbol) in symbols.iter().enumerate().skip(1) {
            if matches!(symbol.st_type(), elf::STT_SECTION | elf::STT_FILE) {
                continue;
            }
            let name = string_at(strings, symbol.st_name(endian));
            if letter::is_special(machine, symbol.st_bind(), symbol.st_type(), &name) {
                continue;
            }
            let place = symbol.st_shndx(endian);
            let index = if place == elf::SHN_XINDEX {
                extended.get(i).map(|index| index.get(endian))
            } else if place.0 < elf::SHN_LORESERVE {
                Some(u32::from(place.0))
            } else {
                None
            };
            let section = index.and_then(|i| sections.get(i as usize)?.as_ref());
            let is_undefined = index == Some(0);
            let letter = letter::letter(
                symbol.st_bind(),
                symbol.st_type(),
                is_undefined,
                place == elf::SHN_COMMON,
                section,
            );
            list.symbols.push(Symbol {
                name: name.into_owned(),
                address: (!is_undefined).then(|| {
                    if place == elf::SHN_COMMON {
                        symbol.st_size(endian).into()
                    } else {
                        symbol.st_value(endian).into()
                    }
                }),
                size: Some(symbol.st_size(endian).into()),
                letter,
                section: index.filter(|_| section.is_some()),
                is_percpu: section.is_some_and(Section::is_percpu),
            });
        }
        sort_like_nm(&mut list.symbols);
        if !list.symbols.iter().any(|symbol| symbol.is_percpu) {
            list.mark_percpu();
        }
        Ok(list)
    }

    fn extended_indexes(&self, table: usize) -> Result<&'data [object::U32<Endianness>]> {
        let endian = self.endian;
        let found = self.sections.iter().find(|section| {
            section.sh_type(endian) == elf::SHT_SYMTAB_SHNDX
                && section.sh_link(endian) as usize == table
        });
        let Some(section) = found else {
            return Ok(&[]);
        };
        let what = "ELF extended section indexes";
        self.check_size(section, what)?;
        section
            .data_as_array(endian, self.data)
            .map_err(|error| broken(self.name, what, section.sh_offset(endian).into(), error))
    }

    fn check_size(&self, section: &H::SectionHeader, what: &str) -> Result<()> {
        check_size(self.name, section.sh_size(self.endian).into(), what)
    }

    fn debug_sections(&self, names: &[&'static str]) -> Result<DebugSections<'data>> {
        let mut found = Vec::new();
        for wanted in names {
            let position = self.sections.iter().position(|header| {
                let name = self.section_name(header);
                name == *wanted || is_zdebug(&name, wanted)
            });
            let Some(index) = position else {
                continue;
            };
            found.push((*wanted, self.debug_section(index, wanted)?));
        }
        Ok(DebugSections {
            is_big_endian: self.header.is_big_endian(),
            address_size: if self.header.is_class_64() { 8 } else { 4 },
            sections: found,
        })
    }

    fn debug_section(&self, index: usize, wanted: &'static str) -> Result<Cow<'data, [u8]>> {
        let Some(header) = self.sections.get(index) else {
            return Ok(Cow::Borrowed(&[]));
        };
        let endian = self.endian;
        let raw = part(self.name, self.data, endian, header, wanted)?;
        let offset = header.sh_offset(endian).into();
        let compression = header
            .compression(endian, self.data)
            .map_err(|error| broken(self.name, wanted, offset, error))?;
        let unpack_error = |error: std::io::Error| broken(self.name, wanted, offset, error);
        let mut bytes = if let Some((how, start, size)) = compression {
            use object::read::elf::CompressionHeader;
            let packed = self
                .data
                .read_bytes_at(start, size)
                .map_err(|()| broken(self.name, wanted, start, "the file ends within it"))?;
            match how.ch_type(endian) {
                elf::ELFCOMPRESS_ZLIB => {
                    Cow::Owned(read_limited(ZlibDecoder::new(packed), size).map_err(unpack_error)?)
                }
                elf::ELFCOMPRESS_ZSTD => Cow::Owned(
                    crate::unpack::Compression::Zstd
                        .unpack(packed, size)
                        .map_err(unpack_error)?,
                ),
                other => {
                    let problem = format!("compressed in an unknown way ({})", other.0);
                    return Err(broken(self.name, wanted, offset, problem));
                }
            }
        } else if let Some(packed) = zlib_gnu(raw) {
            let size = packed.len() as u64;
            Cow::Owned(read_limited(ZlibDecoder::new(packed), size).map_err(unpack_error)?)
        } else {
            Cow::Borrowed(raw)
        };
        if self.header.e_type(endian) == elf::ET_REL {
            self.relocate(index, &mut bytes)?;
        }
        Ok(bytes)
    }
}

/// The bytes of a section as they are in the file.
fn part<'data, S: SectionHeader<Endian = Endianness>, R: ReadRef<'data>>(
    name: &str,
    data: R,
    endian: Endianness,
    section: &S,
    what: &'static str,
) -> Result<&'data [u8]> {
    check_size(name, section.sh_size(endian).into(), what)?;
    section.data(endian, data).map_err(|_| {
        broken(
            name,
            what,
            section.sh_offset(endian).into(),
            format_args!(
                "the file ends before its {} bytes do; is it cut off?",
                section.sh_size(endian).into()
            ),
        )
    })
}

fn check_size(name: &str, size: u64, what: &str) -> Result<()> {
    if size > PART_LIMIT {
        return Err(LayoutError::TooLarge {
            name: name.to_owned(),
            what: what.to_owned(),
            limit: PART_LIMIT,
        });
    }
    Ok(())
}

/// `.zdebug_info` for `.debug_info`, from before sections could be marked as compressed.
fn is_zdebug(name: &str, wanted: &str) -> bool {
    let rest = name.strip_prefix(".zdebug_");
    rest.is_some() && rest == wanted.strip_prefix(".debug_")
}

fn zlib_gnu(raw: &[u8]) -> Option<&[u8]> {
    raw.strip_prefix(b"ZLIB")?.get(8..)
}

/// The string that starts at `offset`; empty when there is none.
fn string_at(strings: &[u8], offset: u32) -> Cow<'_, str> {
    let rest = strings.get(offset as usize..).unwrap_or(&[]);
    let end = rest.iter().position(|b| *b == 0).unwrap_or(0);
    String::from_utf8_lossy(&rest[..end])
}

/// Undefined symbols by name, then the others by address and name, as `nm -n` in the C locale.
pub(crate) fn sort_like_nm(symbols: &mut [Symbol]) {
    symbols.sort_by(|a, b| {
        let by_address = a.address.cmp(&b.address);
        by_address.then_with(|| a.name.as_bytes().cmp(b.name.as_bytes()))
    });
}
