//! Texts in, figures out. `outputs` reads published samples where they are, `tools` texts of our
//! own in the form of each tool (`perf` those of perf), `bad_inputs` what should not have come.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod bad_inputs;
mod more_tools;
mod outputs;
mod own_tables;
mod perf;
mod support;
mod tools;
