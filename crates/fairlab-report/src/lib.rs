//! Audits as one HTML page that needs nothing else: timelines, delays, occupancy, findings.
//!
//! ```text
//!   Audit (with its history) ──> Run ──┬──> tables.rs    what the command line prints, as HTML
//!   Machine, names                     ├──> findings.rs  places worth a look, as buttons
//!                                      ├──> lanes.rs     who ran where: columns of numbers, packed
//!                                      ├──> overview.rs  the same, coarse: the first thing painted
//!                                      └──> occupancy.rs how many CPUs of a core, an LLC are busy
//!                        Page of Runs ──> page.rs ──> one file
//! ```
//!
//! # What is in the file
//! Text, tables and findings are plain HTML, readable without scripts and by screen readers. Beside
//! them are, for each run, a JSON description and its *lanes*: all that happened on each CPU, as
//! columns of variable-length numbers, deflated, in base64 (the layout is in `lanes.rs`). The script
//! paints the coarse overview first, then unpacks the lanes and draws from them at any zoom, from the
//! whole run to single nanoseconds: what a pixel shows is computed from all stretches under it.
//!
//! Beside pages there are two more forms: the plots as SVG files (`plots.rs`), and every placement as a row
//! of a Parquet file (`verdicts.rs`).
//!
//! # Same input, same bytes
//! Nothing in a page depends on when, where or by whom it was made.
//!
//! # What this crate is not
//! It judges nothing: every verdict comes from the audit. It reads no traces and runs no simulations.

mod findings;
mod lanes;
mod occupancy;
mod overview;
mod pack;
mod page;
mod plots;
mod run;
pub mod tables;
mod verdicts;

pub use page::{Page, Section};
pub use plots::Plot;
pub use run::Run;
pub use verdicts::write_verdicts;
