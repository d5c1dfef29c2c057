//! The queue as its users see it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fairness;
mod groups;
mod model;
mod properties;
mod ready;
mod turn;
