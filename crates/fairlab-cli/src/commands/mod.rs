//! One file per verb, each with `run(args) -> Result<ExitCode>`.

pub mod audit;
pub mod bench;
pub mod calibrate;
pub mod compare;
pub mod completions;
pub mod events;
pub mod kernels;
mod latency;
pub mod layout;
pub mod live;
pub mod machines;
pub mod man;
pub mod record;
pub mod replay;
pub mod report;
pub mod run;
pub mod stats;
pub mod validate;
pub mod views;
