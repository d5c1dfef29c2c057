//! Recording on trees of ordinary files, and for real where that is allowed.

#[allow(clippy::unwrap_used, reason = "a test")]
mod agreement;
#[allow(clippy::unwrap_used, reason = "a test")]
mod fake;
#[allow(clippy::unwrap_used, reason = "a test")]
mod real;
