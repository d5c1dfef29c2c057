//! The simulator as its users see it.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod affinity;
mod cache_aware;
mod costs;
mod determinism;
mod energy;
mod groups;
mod machines;
mod memory;
mod ops;
mod parts;
mod runs;
mod turn;
