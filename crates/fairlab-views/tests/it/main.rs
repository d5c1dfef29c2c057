//! The views against perf itself, and against rows that were counted by hand.

#[allow(clippy::unwrap_used, reason = "a test")]
mod counted;
#[allow(clippy::unwrap_used, reason = "a test")]
mod perf;
#[allow(clippy::unwrap_used, reason = "a test")]
mod view;
