//! Balancing: worked examples of decisions, passes over a small world, invariants.

mod arithmetic;
mod decisions;
mod invariants;
mod numa;
mod old_algorithm;
mod passes;
mod special;
mod world;
