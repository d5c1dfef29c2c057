//! Measurements on this host, for real.
//!
//! So far: the tick counter of this CPU, which tables of ticks around a piece of code are made of.
//! This crate knows no scheduling terms.

mod sys;

pub use sys::{TICK_UNIT, ticks};
