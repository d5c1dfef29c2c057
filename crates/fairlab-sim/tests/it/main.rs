//! The simulator as its users see it.

mod machines;
mod runs;
