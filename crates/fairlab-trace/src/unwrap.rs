//! Packed files and archives.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::OpenError;
use crate::ledger::Ledger;
use crate::source::Source;

/// What a path stands for.
pub(crate) enum Input {
    /// One file.
    One(Source),
    /// A folder or an archive: the files with their paths.
    Tree(Vec<(String, Source)>),
    /// Several files of one recording.
    Together(Vec<Source>),
}

/// Packed within packed: deeper than this is an attack, not a trace.
const DEEPEST: u32 = 4;
/// Unpacked data up to this size stays in memory.
const IN_MEMORY: u64 = 32 << 20;
/// Files in an archive or folder.
const MOST_FILES: usize = 20_000;
/// Memory that unpacking xz may take, in KiB.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// How large `packed` bytes may become. Traces shrink by a factor of 5 to 50.
pub(crate) fn largest(packed: u64) -> u64 {
    packed.saturating_mul(1000).max(64 << 20)
}

/// Opens a file, folder or standard input (`-`).
pub(crate) fn open_input(path: &Path, ledger: &mut Ledger) -> Result<Input, OpenError> {
    let io_error = |source| OpenError::Io {
        path: path.to_owned(),
        source,
    };
    let name = path.display().to_string();
    if path == Path::new("-") {
        let mut spool = Spool::new("standard input", u64::MAX);
        let broken = io::copy(&mut io::stdin().lock(), &mut spool).err();
        if let Some(error) = broken {
            ledger.problem("standard input", format!("cannot read on: {error}"));
        }
        return unwrap(spool.into_source().map_err(io_error)?, ledger);
    }
    let meta = fs::metadata(path).map_err(io_error)?;
    if meta.is_dir() {
        let mut files = Vec::new();
        walk(path, "", 0, &mut files).map_err(io_error)?;
        files.sort_by(|a, b| a.0.cmp(&b.0));
        return Ok(Input::Tree(files));
    }
    let mut file = File::open(path).map_err(io_error)?;
    let source = if meta.is_file() {
        Source::file(&name, file).map_err(io_error)?
    } else {
        // A pipe cannot be read at offsets.
        let mut spool = Spool::new(&name, u64::MAX);
        io::copy(&mut file, &mut spool).map_err(io_error)?;
        spool.into_source().map_err(io_error)?
    };
    unwrap(source, ledger)
}

fn walk(
    folder: &Path,
    prefix: &str,
    depth: u32,
    files: &mut Vec<(String, Source)>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = fs::metadata(&path)?;
        if kind.is_dir() && depth < 8 {
            walk(&path, &format!("{name}/"), depth + 1, files)?;
        } else if kind.is_file() && files.len() < MOST_FILES {
            let shown = path.display().to_string();
            files.push((name, Source::file(&shown, File::open(&path)?)?));
        }
    }
    Ok(())
}

/// Takes packing off until something else appears.
pub(crate) fn unwrap(mut source: Source, ledger: &mut Ledger) -> Result<Input, OpenError> {
    for _ in 0..DEEPEST {
        let head = source.bytes(0, 512);
        let cursor = io::BufReader::with_capacity(64 << 10, source.cursor(0));
        source = match head.as_slice() {
            [0x1f, 0x8b, ..] => unpack(
                &source,
                flate2::bufread::MultiGzDecoder::new(cursor),
                ledger,
            )?,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
                let xz = lzma_rust2::XzReader::new_mem_limit(cursor, true, XZ_MEMORY_KIB);
                unpack(&source, xz, ledger)?
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                let zstd = zstd::stream::read::Decoder::with_buffer(cursor).map_err(|error| {
                    OpenError::Unpack {
                        name: source.name().to_owned(),
                        what: error.to_string(),
                    }
                })?;
                unpack(&source, zstd, ledger)?
            }
            [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', ..] => {
                unpack(&source, bzip2::bufread::MultiBzDecoder::new(cursor), ledger)?
            }
            head if head.get(257..262) == Some(b"ustar") => return Ok(untar(&source, ledger)),
            _ => return Ok(Input::One(source)),
        };
    }
    Err(OpenError::Unpack {
        name: source.name().to_owned(),
        what: format!("packed more than {DEEPEST} times over; unpack it by hand"),
    })
}

fn unpack(packed: &Source, mut from: impl Read, ledger: &mut Ledger) -> Result<Source, OpenError> {
    let mut spool = Spool::new(packed.name(), largest(packed.len()));
    if let Err(error) = io::copy(&mut from, &mut spool) {
        let done = spool.len;
        if done == 0 {
            return Err(OpenError::Unpack {
                name: packed.name().to_owned(),
                what: error.to_string(),
            });
        }
        ledger.problem(
            packed.name(),
            format!("unpacking stops after {done} bytes ({error}); read up to there"),
        );
    }
    spool.into_source().map_err(|source| OpenError::Io {
        path: packed.name().into(),
        source,
    })
}

/// The files of an archive, cut out of it where they are.
fn untar(source: &Source, ledger: &mut Ledger) -> Input {
    let mut files = Vec::new();
    let mut archive = tar::Archive::new(io::BufReader::with_capacity(64 << 10, source.cursor(0)));
    let entries = match archive.entries() {
        Ok(entries) => entries,
        Err(error) => {
            ledger.problem(source.name(), format!("cannot read the archive: {error}"));
            return Input::Tree(files);
        }
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                ledger.problem(
                    source.name(),
                    format!(
                        "the archive breaks off after {} files: {error}",
                        files.len()
                    ),
                );
                break;
            }
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = path.trim_start_matches("./").to_owned();
        files.push((path, source.slice(entry.raw_file_position(), entry.size())));
        if files.len() == MOST_FILES {
            ledger.problem(
                source.name(),
                format!("more than {MOST_FILES} files; the others are not read"),
            );
            break;
        }
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Input::Tree(files)
}

/// Where unpacked bytes go: memory first, then an unnamed file.
pub(crate) struct Spool {
    name: String,
    memory: Vec<u8>,
    file: Option<File>,
    len: u64,
    limit: u64,
}

impl Spool {
    pub(crate) fn new(name: &str, limit: u64) -> Self {
        Self {
            name: name.to_owned(),
            memory: Vec::new(),
            file: None,
            len: 0,
            limit,
        }
    }

    pub(crate) fn into_source(mut self) -> io::Result<Source> {
        match self.file.take() {
            Some(mut file) => {
                file.write_all(&self.memory)?;
                Source::file(&self.name, file)
            }
            None => Ok(Source::memory(&self.name, self.memory)),
        }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.len.saturating_add(bytes.len() as u64) > self.limit {
            return Err(io::Error::other(format!(
                "it would become larger than {} bytes, which no trace does",
                self.limit
            )));
        }
        self.len += bytes.len() as u64;
        self.memory.extend_from_slice(bytes);
        if self.memory.len() as u64 > IN_MEMORY
            || (self.file.is_some() && self.memory.len() > 1 << 20)
        {
            if self.file.is_none() {
                self.file = Some(unnamed_file()?);
                self.memory.shrink_to(1 << 20);
            }
            if let Some(file) = &mut self.file {
                file.write_all(&self.memory)?;
                self.memory.clear();
                self.memory.shrink_to(2 << 20);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that has no name any more, so that it goes away with the process.
fn unnamed_file() -> io::Result<File> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut last = None;
    for _ in 0..100 {
        let path = std::env::temp_dir().join(format!(
            "fairlab-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        match OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
        {
            Ok(file) => {
                fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other("no free name for a temporary file")))
}
