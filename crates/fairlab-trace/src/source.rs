//! Bytes at offsets, in memory or in a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A range of bytes. Cheap to clone and to cut; reading needs no position, so several streams can read
/// one file side by side.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    data: Data,
    start: u64,
    len: u64,
    name: Arc<str>,
}

#[derive(Clone, Debug)]
enum Data {
    Memory(Arc<Vec<u8>>),
    File(Arc<File>),
}

impl Source {
    pub(crate) fn memory(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            len: bytes.len() as u64,
            data: Data::Memory(Arc::new(bytes)),
            start: 0,
            name: name.into(),
        }
    }

    pub(crate) fn file(name: &str, file: File) -> io::Result<Self> {
        Ok(Self {
            len: file.metadata()?.len(),
            data: Data::File(Arc::new(file)),
            start: 0,
            name: name.into(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// The part of `len` bytes at `offset`, or what there is of it.
    pub(crate) fn slice(&self, offset: u64, len: u64) -> Self {
        let offset = offset.min(self.len);
        Self {
            start: self.start + offset,
            len: len.min(self.len - offset),
            ..self.clone()
        }
    }

    /// Fills `buffer` from `offset` on; gives how much there was. A failure to read is the end of the
    /// data: there is nothing else that could be done about it, and readers tell of early ends.
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let left = self.len.saturating_sub(offset);
        let wanted = (buffer.len() as u64).min(left) as usize;
        if wanted == 0 {
            return 0;
        }
        let buffer = &mut buffer[..wanted];
        let start = self.start + offset;
        match &self.data {
            Data::Memory(bytes) => {
                let bytes = bytes.get(start as usize..).unwrap_or_default();
                let nr = bytes.len().min(wanted);
                buffer[..nr].copy_from_slice(&bytes[..nr]);
                nr
            }
            Data::File(file) => {
                let mut done = 0;
                while done < wanted {
                    match file.read_at(&mut buffer[done..], start + done as u64) {
                        Ok(0) => break,
                        Ok(nr) => done += nr,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(_) => break,
                    }
                }
                done
            }
        }
    }

    /// Up to `len` bytes at `offset`; fewer at the end. Takes memory for what is there, not for `len`.
    pub(crate) fn bytes(&self, offset: u64, len: u64) -> Vec<u8> {
        let len = len.min(self.len.saturating_sub(offset)) as usize;
        let mut bytes = vec![0; len];
        let nr = self.read_at(offset, &mut bytes);
        bytes.truncate(nr);
        bytes
    }

    /// A reader from `offset` on.
    pub(crate) fn cursor(&self, offset: u64) -> Cursor {
        Cursor {
            source: self.clone(),
            offset,
        }
    }
}

/// Reads a [`Source`] in order. Not buffered.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    source: Source,
    offset: u64,
}

impl io::Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let nr = self.source.read_at(self.offset, buffer);
        self.offset += nr as u64;
        Ok(nr)
    }
}

/// A sliding piece of a [`Source`], for records that are read in order.
#[derive(Debug)]
pub(crate) struct Piece {
    source: Source,
    /// Where `bytes` begins in the source.
    offset: u64,
    bytes: Vec<u8>,
    /// How much of `bytes` is filled.
    filled: usize,
    /// What has been taken of it.
    next: usize,
}

/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;

impl Piece {
    pub(crate) fn new(source: Source, offset: u64) -> Self {
        Self {
            source,
            offset,
            bytes: Vec::new(),
            filled: 0,
            next: 0,
        }
    }

    /// Where the next byte is in the source.
    pub(crate) const fn position(&self) -> u64 {
        self.offset + self.next as u64
    }

    /// At least `len` bytes from the position on, as long as there are so many; else fewer.
    #[inline]
    pub(crate) fn peek(&mut self, len: usize) -> &[u8] {
        if self.filled - self.next < len {
            self.load(len);
        }
        &self.bytes[self.next..self.filled]
    }

    #[cold]
    fn load(&mut self, len: usize) {
        if self.offset.saturating_add(self.filled as u64) >= self.source.len() {
            // All of the rest is here already.
            return;
        }
        self.bytes.copy_within(self.next..self.filled, 0);
        self.offset += self.next as u64;
        self.filled -= self.next;
        self.next = 0;
        let left = self.source.len().saturating_sub(self.offset);
        let room = (len.max(PIECE) as u64).min(left) as usize;
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        if self.filled < room {
            let at = self.offset + self.filled as u64;
            self.filled += self.source.read_at(at, &mut self.bytes[self.filled..room]);
        }
    }

    /// Goes on by `len` bytes, which may be more than were peeked.
    #[inline]
    pub(crate) fn take(&mut self, len: u64) {
        let left = (self.filled - self.next) as u64;
        if len <= left {
            self.next += len as usize;
        } else {
            self.offset = self.position().saturating_add(len);
            self.filled = 0;
            self.next = 0;
        }
    }
}
