//! Why a measurement failed.

use std::io;
use std::time::Duration;

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A system call failed.
    #[error("cannot {what}")]
    System {
        /// What was to be done, as a verb with its object.
        what: &'static str,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A child process did not end as it should.
    #[error("{what} ended with {status}, expected {expected}")]
    Child {
        /// Which one.
        what: String,
        /// How it ended.
        status: String,
        /// How it should have ended.
        expected: &'static str,
    },
    /// A text does not name CPUs of this host.
    #[error("bad list of CPUs '{text}': {why}; numbers and ranges are wanted, like 0-3,8")]
    Cpus {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A command cannot be started.
    #[error("cannot start {what}")]
    Start {
        /// Which one.
        what: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A command took too long.
    #[error("{what} took longer than {limit:?} and was killed: give it more time with --timeout")]
    Timeout {
        /// Which one.
        what: String,
        /// What it was given.
        limit: Duration,
    },
    /// A command printed something that is not understood.
    #[error("{what} printed no figures: {why}")]
    Output {
        /// Which one.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// Somebody wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// An option has a value that makes no sense.
    #[error("{0}")]
    Option(String),
}

impl BenchError {
    /// For `map_err`: the call that should have done `what` failed.
    pub(crate) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System {
            what,
            source: source.into(),
        }
    }
}
