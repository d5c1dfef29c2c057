//! The readers against recordings of others and against files made here.

#[allow(clippy::unwrap_used, reason = "a test")]
mod broken;
#[allow(clippy::unwrap_used, reason = "a test")]
mod feed;
#[allow(clippy::unwrap_used, reason = "a test")]
mod fixture;
#[allow(clippy::unwrap_used, reason = "a test")]
mod odd;
#[allow(clippy::unwrap_used, reason = "a test")]
mod recorded;
#[allow(clippy::unwrap_used, reason = "a test")]
mod whatif;
#[allow(clippy::unwrap_used, reason = "a test")]
mod written;
