//! Why an input cannot be used.

/// Why a file does not tell a layout.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The file cannot be read.
    #[error("{name}: cannot read it")]
    Io {
        /// The file.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// The first bytes are those of no format that is read here.
    #[error(
        "{name}: {found}; accepted are ELF files and archives of them (also .gz, .xz, .zst), raw BTF, \
         and the texts that size, nm, pahole, bloat-o-meter, diff -u and System.map hold"
    )]
    UnknownFormat {
        /// The file.
        name: String,
        /// What it looks like.
        found: String,
    },
    /// A binary format is broken at some place.
    #[error("{name}: {what} at byte {offset:#x}: {problem}")]
    Binary {
        /// The file.
        name: String,
        /// The part, such as "ELF section table".
        what: &'static str,
        /// Bytes from the start of the part that is named in `what`, or of the file.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
    /// A line of a text is not what it should be.
    #[error("{name}:{line}: {problem}")]
    Text {
        /// The file.
        name: String,
        /// From 1.
        line: usize,
        /// What is wrong, and what is accepted.
        problem: String,
    },
    /// More than we are willing to hold in memory.
    #[error("{name}: {what} is larger than {limit} bytes, which is refused")]
    TooLarge {
        /// The file.
        name: String,
        /// Which part.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// The input is fine, but does not say what was asked for.
    #[error("{name}: {problem}")]
    Missing {
        /// The file.
        name: String,
        /// What is not there, and where it could come from.
        problem: String,
    },
}

/// The result of reading something.
pub type Result<T> = std::result::Result<T, LayoutError>;

/// At most the first 60 characters of `text`, with control characters made visible, for messages
/// about texts of any length.
pub(crate) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() {
        short.push_str("...");
    }
    short
}
