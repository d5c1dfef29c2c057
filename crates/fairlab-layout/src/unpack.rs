//! Compressed inputs: kernel modules come as `.ko.xz`, `.ko.gz` or `.ko.zst`.

use std::io::{self, Read};

/// How the bytes of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// xz.
    Xz,
    /// Zstandard.
    Zstd,
}

/// What is unpacked may be this large. The largest kernel with debug information known has 0.9 GB.
pub(crate) const UNPACKED_LIMIT: u64 = 1 << 30;

/// ... and this many times larger than it was, so that a small file cannot take a large memory.
/// DEFLATE cannot exceed it; xz and Zstandard do for nothing but runs of one byte.
const RATIO_LIMIT: u64 = 1100;

/// What small files may unpack to, whatever their ratio.
const RATIO_FLOOR: u64 = 16 << 20;

/// Dictionary of an xz stream, KiB.
const XZ_MEMORY_KB: u32 = 256 << 10;

/// Largest window of a Zstandard frame, as a power of two: 128 MiB.
const ZSTD_WINDOW_LOG: u32 = 27;

impl Compression {
    /// What the first bytes of a file tell.
    pub fn detect(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The usual suffix, which names it in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Xz => "xz",
            Self::Zstd => "zst",
        }
    }

    /// Unpacks all of `reader`, which holds `packed` bytes.
    ///
    /// # Errors
    /// The stream is broken, or larger than the limits.
    pub(crate) fn unpack(self, reader: impl Read, packed: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip => read_limited(flate2::read::MultiGzDecoder::new(reader), packed),
            Self::Xz => {
                let xz = lzma_rust2::XzReader::new_mem_limit(reader, true, XZ_MEMORY_KB);
                read_limited(xz, packed)
            }
            Self::Zstd => {
                let mut zstd = zstd::stream::read::Decoder::new(reader)?;
                zstd.window_log_max(ZSTD_WINDOW_LOG)?;
                read_limited(zstd, packed)
            }
        }
    }
}

/// Reads to the end, but not beyond what `packed` bytes may unpack to.
pub(crate) fn read_limited(reader: impl Read, packed: u64) -> io::Result<Vec<u8>> {
    let limit = packed
        .saturating_mul(RATIO_LIMIT)
        .clamp(RATIO_FLOOR, UNPACKED_LIMIT);
    let mut bytes = Vec::new();
    reader.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!(
            "it unpacks to more than {limit} bytes, which is refused"
        )));
    }
    Ok(bytes)
}
