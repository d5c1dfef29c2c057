//! Simulated runs, recorded and simulated again.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod again;
