//! Reads the workload files of rt-app, and turns them into programs.
//!
//! ```text
//!   text --json--> objects with places --grammar--> RtApp (checked) --on a Host--> Compiled { workload }
//! ```
//!
//! The JSON is what rt-app's users write: comments, commas before closing brackets, keys that repeat.
//! Events of the same name in one phase are all kept, in order, as `workgen` makes them; so are
//! phases of the same name. Every key is known or refused with its line and column. What rt-app
//! would only notice on the machine (a CPU that is not there) is found by [`RtApp::compile`], which
//! is told about the machine.
//!
//! What a file cannot make the simulator do is said in [`RtApp::notes`] or in [`Compiled::notes`].
//!
//! # Source
//! rt-app 1.0 and its `doc/tutorial.txt`; `src/rt-app.c` for what events do.

mod error;
mod json;

mod model;

mod field;
mod keys;

mod event;
mod grammar;
mod task;

mod compile;
mod host;

pub use compile::{Compiled, CompiledTask};
pub use error::{Place, RtAppError};
pub use grammar::parse;
pub use host::Host;
pub use model::{
    Calibration, Event, Global, Loops, Note, Numbers, Phase, Policy, RtApp, Sched, Task, TimerUse,
};
