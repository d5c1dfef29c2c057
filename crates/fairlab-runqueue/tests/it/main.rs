//! The queue as its users see it.

mod fairness;
mod model;
mod properties;
