//! Audits of simulated runs, whose truth is known.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod runs;
mod truth;
mod whatif;
