//! Integration tests of `fairlab-topology`: what is built is what the specification says.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking too")]

mod asymmetry;
mod capacities;
mod degenerate;
mod machines;
mod numa;
mod partitions;
mod properties;
mod recorded;
mod rendering;
mod scale;
mod worked_examples;
