//! What can go wrong.

use std::io;
use std::path::PathBuf;

/// Why nothing, or not all, was recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is no tracefs.
    #[error(
        "{} is no tracefs: mount it (`mount -t tracefs nodev /sys/kernel/tracing`), or use a kernel \
         with CONFIG_FTRACE", .0.display()
    )]
    NoTracefs(PathBuf),
    /// It may not be written.
    #[error("no permission to trace at {}: {why}", .path.display())]
    NoPermission {
        /// The file or folder.
        path: PathBuf,
        /// What is in the way, and what to do about it.
        why: String,
    },
    /// The kernel has none of the events.
    #[error(
        "the kernel has no event {0}: it needs CONFIG_SCHED and event tracing (CONFIG_EVENT_TRACING)"
    )]
    NoEvent(String),
    /// A file of tracefs, or one of ours.
    #[error("cannot {what} {}", .path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The command cannot be started.
    #[error("cannot start {0}")]
    Command(String, #[source] io::Error),
    /// A thread of ours has failed.
    #[error("a reader of the buffers has panicked; this is a mistake in fairlab")]
    Reader,
}

impl RecordError {
    pub(crate) fn file(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { what, path, source }
    }
}
