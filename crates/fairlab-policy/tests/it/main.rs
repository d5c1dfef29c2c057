//! The policy against worked examples, and against itself.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod asymmetric;
mod balance;
mod fast_search;
mod idle_sibling;
mod machine;
mod patches;
mod reasons;
#[allow(dead_code, reason = "written for the benchmark too")]
mod scene;
mod slow_path;
mod story;
mod wakeup;
