//! What the kernel's side decides, decided here.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod clock;
mod config;
mod same_answer;
mod spare;
