//! Pages made of small runs, and the same opened in a browser.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod browser;
mod opened;
mod page;
mod plots;
mod runs;
mod verdicts;
