//! The findings in words, the same in every table and page.

use crate::migration::Cause;
use crate::placement::{Found, Kind, Missed};

/// What a placement got and missed.
#[must_use]
pub const fn outcome(found: Found, missed: Missed) -> &'static str {
    match (found, missed) {
        (Found::IdleCore, _) => "idle core",
        (Found::IdleCpu, Missed::IdleCore) => "idle CPU, though a core idled in the LLC",
        (Found::IdleCpu, _) => "idle CPU, no core idled in the LLC",
        (Found::Busy, Missed::Nothing) => "busy CPU, nothing idled",
        (Found::Busy, Missed::IdleCore) => "busy CPU, though a core idled in the LLC",
        (Found::Busy, Missed::IdleCpu) => "busy CPU, though a CPU idled in the LLC",
        (Found::Busy, Missed::Elsewhere) => "busy CPU, a CPU idled in another LLC",
    }
}

impl Kind {
    /// As tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wakeup => "wakeup",
            Self::Fork => "fork",
        }
    }
}

impl Cause {
    /// As tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wakeup => "at wakeup",
            Self::Runnable => "while runnable",
            Self::Unrecorded => "not recorded",
        }
    }
}
