//! Balancing: worked examples of decisions, passes over a small world, invariants.

mod arithmetic;
mod decisions;
mod invariants;
mod passes;
mod world;
