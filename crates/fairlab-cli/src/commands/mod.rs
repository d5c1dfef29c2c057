//! One file per verb, each with `run(args) -> Result<ExitCode>`.

pub mod completions;
pub mod kernels;
pub mod man;
