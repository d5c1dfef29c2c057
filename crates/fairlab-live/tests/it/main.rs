//! What the kernel's side decides, decided here.

mod clock;
mod config;
mod same_answer;
