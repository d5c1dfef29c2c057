//! Why live mode cannot start or go on.

use std::path::PathBuf;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// Not root.
    #[error("{what} needs root; run it with sudo")]
    NotRoot {
        /// What was asked for.
        what: &'static str,
    },
    /// The kernel is older than sched_ext.
    #[error("this kernel is {release}; sched_ext is in Linux 6.12 and newer; boot a newer kernel")]
    TooOld {
        /// `uname -r`.
        release: String,
    },
    /// The kernel is older than what the programs that watch need.
    #[error("this kernel is {release}; watching needs Linux 6.4 or newer; boot a newer kernel")]
    TooOldToWatch {
        /// `uname -r`.
        release: String,
    },
    /// The kernel was built without sched_ext.
    #[error(
        "this kernel ({release}) was built without sched_ext (no /sys/kernel/sched_ext); boot one with CONFIG_SCHED_CLASS_EXT=y"
    )]
    NoSchedExt {
        /// `uname -r`.
        release: String,
    },
    /// The kernel does not describe its types.
    #[error(
        "this kernel ({release}) does not describe its types (no /sys/kernel/btf/vmlinux); boot one with CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoBtf {
        /// `uname -r`.
        release: String,
    },
    /// Another scheduler is loaded.
    #[error("the scheduler `{name}` is loaded already; stop it first")]
    OtherScheduler {
        /// Its name.
        name: String,
    },
    /// The machine is too big for the program.
    #[error("this machine has {number} {what}, and the program has room for {room}")]
    TooBig {
        /// Of what there are too many.
        what: &'static str,
        /// How many.
        number: usize,
        /// How many fit.
        room: usize,
    },
    /// There is no such cgroup.
    #[error(
        "{path} is no cgroup of version 2 (no cgroup.threads in it, nor below /sys/fs/cgroup); name one by its path"
    )]
    NoCgroup {
        /// As it was named.
        path: PathBuf,
    },
    /// The object cannot be read.
    #[error("cannot read the BPF object {path}")]
    Object {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The object is not the one that this loader goes with.
    #[error("the BPF object does not fit this build: {problem}; build both from the same source")]
    Mismatch {
        /// What does not fit.
        problem: String,
    },
    /// This build has no loader.
    #[error("this build has no live mode; build it with `--features live`")]
    NotBuilt,
    /// The kernel does not take the program.
    #[error(
        "the kernel does not take the program: {problem}\n{first_lines}the whole log is in {log}"
    )]
    Verifier {
        /// The error.
        problem: String,
        /// The first lines that matter.
        first_lines: String,
        /// Where the log was saved.
        log: PathBuf,
    },
    /// A step of the loader failed.
    #[error("cannot {step}: {problem}")]
    Step {
        /// What was tried.
        step: &'static str,
        /// The error.
        problem: String,
    },
}
