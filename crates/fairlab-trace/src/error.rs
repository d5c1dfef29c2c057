//! Why a recording cannot be opened.

use std::path::PathBuf;

/// Why there is no recording at all. Damage inside a file is not an error, but a
/// [`Problem`](crate::Problem) in the ledger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The operating system refuses.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No format of ours.
    #[error(
        "{name}: not a trace that can be read: {what}; wanted is perf.data, trace.dat, ftrace or perf \
         script text, a Perfetto trace, a CTF folder or a SchedViz archive, packed or not"
    )]
    Unknown {
        /// The file.
        name: String,
        /// What was found instead.
        what: String,
    },
    /// The format is known, and its beginning is broken so that nothing after it has a meaning.
    #[error("{name}: broken {format} file: {what}")]
    Broken {
        /// The file.
        name: String,
        /// The format.
        format: crate::Format,
        /// What is wrong, and where.
        what: String,
    },
    /// Packed in a way that is not unpacked.
    #[error("{name}: cannot unpack: {what}")]
    Unpack {
        /// The file.
        name: String,
        /// What is wrong.
        what: String,
    },
}
