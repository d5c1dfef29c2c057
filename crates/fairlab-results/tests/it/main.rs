//! Texts in, figures out. `outputs` reads published samples where they are, `tools` texts of our
//! own in the form of each tool, `bad_inputs` what should not have come.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod bad_inputs;
mod outputs;
mod support;
mod tools;
