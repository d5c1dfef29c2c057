//! Why a machine could not be loaded.

use std::io;
use std::path::PathBuf;

use fairlab_topology::MachineError;

/// Why a reference does not lead to a machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineLoadError {
    /// Not a known name, and no file of that name exists.
    #[error(
        "no machine is called `{name}`, and there is no such file{}; `fairlab machines list` shows the \
         names, a short spec looks like 2s:20c:2t",
        did_you_mean(nearest)
    )]
    UnknownName {
        /// What was asked for.
        name: String,
        /// The nearest built-in names, best first.
        nearest: Vec<&'static str>,
    },
    /// A file or directory cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The first bytes of a file are those of no format that fairlab reads.
    #[error(
        "{}: {found}; a machine file is a tar archive (plain, gz, bz2, xz) of /sys and /proc, hwloc \
         XML, or fairlab JSON",
        path.display()
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// What it starts with.
        found: String,
    },
    /// An archive is damaged, too large or unsafe.
    #[error("{}: {problem}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// A tree or file lacks what makes a machine.
    #[error("{place}: {problem}")]
    Missing {
        /// The tree or file.
        place: String,
        /// What is missing, and where it was looked for.
        problem: String,
    },
    /// A text (XML, JSON) is not what it should be.
    #[error("{place}:{line}:{column}: {problem}")]
    Text {
        /// The file.
        place: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        problem: String,
    },
    /// A short spec, hwloc synthetic string or QEMU string is wrong.
    #[error("{notation} `{text}`: {problem}")]
    Spec {
        /// "short spec", "hwloc synthetic string" or "QEMU options".
        notation: &'static str,
        /// The whole text.
        text: String,
        /// What is wrong, and what is accepted.
        problem: String,
    },
    /// The description was read, but contradicts itself.
    #[error("{place}: {problem}")]
    Contradiction {
        /// The file or text.
        place: String,
        /// Why it is no machine.
        problem: MachineError,
    },
}

fn did_you_mean(nearest: &[&str]) -> String {
    if nearest.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", nearest.join(" or "))
    }
}

/// At most the first 80 characters of `text`, for messages about texts of any length.
pub(crate) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(80).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}
