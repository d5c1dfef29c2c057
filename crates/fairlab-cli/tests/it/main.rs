//! Runs the `fairlab` binary as a user would. `run.rs` is the helper, the other modules are named
//! after what they check. `UPDATE_EXPECT=1 cargo test -p fairlab-cli` renews the snapshots.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod run;
mod trace_out;

mod audit;
mod bad_input;
mod bench;
mod bench_policy;
mod checkpoint;
mod compare;
mod conventions;
mod costs;
mod events;
mod help;
mod kernels;
mod layout;
mod machines;
mod report;
mod stats;
mod workloads;
