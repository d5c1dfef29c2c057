//! A file whose kind is found from its contents, never from its name.

mod kind;

use std::io::{Read, Seek, SeekFrom};

use object::ReadRef;
use object::read::ReadCache;
use object::read::archive::ArchiveFile;

pub use self::kind::Kind;
use crate::elf::{self, ObjectFile};
use crate::error::{LayoutError, Result};
use crate::gone::Gone;
use crate::inlined;
use crate::symbol::SymbolList;
use crate::text::{self, Document};
use crate::types::{Types, btf, dwarf};
use crate::unpack::{Compression, read_limited};

/// A text may be this large; /proc/kallsyms of a large kernel has 15 MB.
const TEXT_LIMIT: u64 = 256 << 20;

/// A file that can be asked for what it holds.
///
/// ELF files are read in parts, on demand; texts and compressed files are held in memory.
pub struct Input<R: Read + Seek> {
    name: String,
    kind: Kind,
    compression: Option<Compression>,
    source: Source<R>,
}

enum Source<R: Read + Seek> {
    Parts(ReadCache<R>),
    Bytes(Vec<u8>),
}

/// What a file holds, without types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The file's name, as given.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How it was compressed.
    pub compression: Option<Compression>,
    /// The part that depends on the kind.
    pub data: Data,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// The contents by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Data {
    /// One ELF file, or the members of an archive.
    Objects(Vec<ObjectFile>),
    /// Only types.
    Btf,
    /// A text.
    Text(Document),
}

impl Contents {
    /// The lists of symbols: one per object, or per list of a text.
    pub fn symbol_lists(&self) -> Vec<&SymbolList> {
        match &self.data {
            Data::Objects(objects) => objects.iter().map(|object| &object.symbols).collect(),
            Data::Text(Document::Maps(lists)) => lists.iter().collect(),
            Data::Text(Document::MapDiff { old, new }) => vec![old, new],
            _ => Vec::new(),
        }
    }
}

impl<R: Read + Seek> Input<R> {
    /// Looks at the first bytes of `reader` to find out what it is.
    ///
    /// # Errors
    /// It cannot be read, is of an unknown kind, or is compressed and broken.
    pub fn open(name: &str, mut reader: R) -> Result<Self> {
        let io = |source| LayoutError::Io {
            name: name.to_owned(),
            source,
        };
        let mut head = Vec::new();
        let mut first = reader.by_ref().take(kind::HEAD as u64);
        first.read_to_end(&mut head).map_err(io)?;
        let compression = Compression::detect(&head);
        if let Some(compression) = compression {
            let packed = reader.seek(SeekFrom::End(0)).map_err(io)?;
            reader.seek(SeekFrom::Start(0)).map_err(io)?;
            let bytes = compression.unpack(&mut reader, packed).map_err(io)?;
            let kind = Kind::detect(name, &bytes)?;
            return Ok(Self {
                name: name.to_owned(),
                kind,
                compression: Some(compression),
                source: Source::Bytes(bytes),
            });
        }
        let kind = Kind::detect(name, &head)?;
        let source = if kind == Kind::Text || kind == Kind::Btf {
            // What cannot be told in advance (a pipe, a file of /proc) is read from where we are.
            let mut bytes = head;
            reader
                .take(TEXT_LIMIT + 1)
                .read_to_end(&mut bytes)
                .map_err(io)?;
            if bytes.len() as u64 > TEXT_LIMIT {
                return Err(LayoutError::TooLarge {
                    name: name.to_owned(),
                    what: "the text".to_owned(),
                    limit: TEXT_LIMIT,
                });
            }
            Source::Bytes(bytes)
        } else {
            Source::Parts(ReadCache::new(reader))
        };
        Ok(Self {
            name: name.to_owned(),
            kind,
            compression: None,
            source,
        })
    }

    /// What kind of file it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The name that was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads sections and symbols, or the text.
    ///
    /// # Errors
    /// A part that is needed is broken.
    pub fn contents(&self) -> Result<Contents> {
        let mut notes = Vec::new();
        let data = match self.kind {
            Kind::Elf => Data::Objects(vec![match &self.source {
                Source::Parts(cache) => elf::read(&self.name, cache)?,
                Source::Bytes(bytes) => elf::read(&self.name, bytes.as_slice())?,
            }]),
            Kind::Archive => Data::Objects(match &self.source {
                Source::Parts(cache) => members(&self.name, cache, &mut notes)?,
                Source::Bytes(bytes) => members(&self.name, bytes.as_slice(), &mut notes)?,
            }),
            Kind::Btf => Data::Btf,
            Kind::Text => {
                let text = decode(self.bytes(), &mut notes);
                Data::Text(text::parse(&self.name, &text)?)
            }
        };
        Ok(Contents {
            name: self.name.clone(),
            kind: self.kind,
            compression: self.compression,
            data,
            notes,
        })
    }

    /// The whole file where it is held in memory; empty otherwise.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.source {
            Source::Bytes(bytes) => bytes,
            Source::Parts(_) => &[],
        }
    }

    /// Reads types: from BTF where there is any, since it is smaller, else from DWARF.
    ///
    /// `wanted` names the structures that are of interest; none: all. `base` is the BTF that a
    /// module's builds on.
    ///
    /// # Errors
    /// There is neither, or it is broken.
    pub fn types(&self, wanted: &[String], base: Option<&[u8]>) -> Result<Types> {
        if self.kind == Kind::Btf {
            return btf::read(&self.name, self.bytes(), base);
        }
        let missing = |problem: &str| LayoutError::Missing {
            name: self.name.clone(),
            problem: problem.to_owned(),
        };
        if self.kind != Kind::Elf {
            return Err(missing(
                "types are read from ELF files with DWARF or BTF, and from raw BTF; this is neither",
            ));
        }
        let sections = self.debug_sections(&[".BTF"])?;
        let own = sections.get(".BTF");
        let needs_base = btf::needs_base(own);
        if !own.is_empty() && (!needs_base || base.is_some()) {
            return btf::read(&self.name, own, base.filter(|_| needs_base));
        }
        let dwarf_sections = self.debug_sections(dwarf::SECTIONS)?;
        if dwarf_sections.get(".debug_info").is_empty() {
            return Err(missing(if own.is_empty() {
                "it has no types: neither DWARF nor BTF; build it with -g, or give vmlinux or \
                 /sys/kernel/btf/vmlinux"
            } else {
                "its BTF builds on that of its kernel: give that with --btf-base"
            }));
        }
        dwarf::read(&self.name, &dwarf_sections, wanted)
    }

    /// The raw BTF in a file, as a base for that of modules.
    ///
    /// # Errors
    /// There is none.
    pub fn raw_btf(&self) -> Result<Vec<u8>> {
        let bytes = match self.kind {
            Kind::Btf => self.bytes().to_vec(),
            Kind::Elf => self.debug_sections(&[".BTF"])?.get(".BTF").to_vec(),
            _ => Vec::new(),
        };
        if bytes.is_empty() {
            return Err(LayoutError::Missing {
                name: self.name.clone(),
                problem: "it has no BTF".to_owned(),
            });
        }
        Ok(bytes)
    }

    /// Fills in where functions are inlined, when there is DWARF that says so.
    ///
    /// # Errors
    /// The debug information is broken.
    pub fn find_inlined(&self, functions: &mut [Gone]) -> Result<()> {
        if self.kind != Kind::Elf {
            return Ok(());
        }
        let sections = self.debug_sections(dwarf::SECTIONS)?;
        if sections.get(".debug_info").is_empty() {
            return Ok(());
        }
        inlined::find(&self.name, &sections, functions)
    }

    /// The debug sections called `names` of an ELF file.
    fn debug_sections(&self, names: &[&'static str]) -> Result<elf::DebugSections<'_>> {
        match &self.source {
            Source::Parts(cache) => elf::debug_sections(&self.name, cache, names),
            Source::Bytes(bytes) => elf::debug_sections(&self.name, bytes.as_slice(), names),
        }
    }
}

/// Reads a whole stream that cannot seek, for [`Input::open`] through a cursor.
///
/// # Errors
/// It cannot be read or is too large.
pub fn slurp(name: &str, reader: impl Read) -> Result<Vec<u8>> {
    read_limited(reader, TEXT_LIMIT).map_err(|source| LayoutError::Io {
        name: name.to_owned(),
        source,
    })
}

fn decode(bytes: &[u8], notes: &mut Vec<String>) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .map(|pair| unit([pair[0], pair[1]]))
            .collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(error) => {
                    let at = error.valid_up_to();
                    let line = bytes[..at].iter().filter(|b| **b == b'\n').count() + 1;
                    notes.push(format!(
                        "line {line} is not UTF-8; what cannot be read is shown as \u{fffd}"
                    ));
                    String::from_utf8_lossy(bytes).into_owned()
                }
            }
        }
    }
}

/// The ELF members of an archive.
fn members<'data, R: ReadRef<'data>>(
    name: &str,
    data: R,
    notes: &mut Vec<String>,
) -> Result<Vec<ObjectFile>> {
    let fail = |offset| {
        move |error: object::read::Error| LayoutError::Binary {
            name: name.to_owned(),
            what: "archive",
            offset,
            problem: error.to_string(),
        }
    };
    let archive = ArchiveFile::parse(data).map_err(fail(0))?;
    if archive.is_thin() {
        return Err(LayoutError::Missing {
            name: name.to_owned(),
            problem: "it is a thin archive, whose members are in other files; give one of those"
                .to_owned(),
        });
    }
    let mut objects = Vec::new();
    for member in archive.members() {
        let member = member.map_err(fail(8))?;
        let member_name = String::from_utf8_lossy(member.name()).into_owned();
        let (offset, _) = member.file_range();
        let bytes = member.data(data).map_err(fail(offset))?;
        if !bytes.starts_with(b"\x7fELF") {
            notes.push(format!("member {member_name} is no ELF file, and left out"));
            continue;
        }
        let mut object = elf::read(&format!("{name}({member_name})"), bytes)?;
        object.member = Some(member_name);
        objects.push(object);
    }
    Ok(objects)
}
