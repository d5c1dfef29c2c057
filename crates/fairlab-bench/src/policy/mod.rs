//! Our own policy code, measured on this host.
//!
//! ```text
//!   State (a machine in a state, written down)
//!      |-- placement   one decision: by event, state and search
//!      '-- util        one fork or exec, with the utilization functions called and inlined
//!             |-- rounds         ns per call: interleaved, in random order
//!             |-- instructions   exact, by single-stepping a child
//!             '-- objects        sections of two builds of the same code, and whose code it is (`code`)
//!   PerCpuLayout --> sharing     what readers pay beside a writer, by placement of variables
//!   published                    the tables that the above are held against
//! ```
//!
//! Forms that are compared answer alike: every measurement compares the outcomes before it counts.

pub mod code;
pub mod instructions;
pub mod objects;
pub mod percpu;
pub mod placement;
pub mod published;
pub mod rounds;
pub mod sharing;
mod state;
pub mod util;
mod view;

pub use state::one_llc;
pub use view::{CpuState, State};

// What `objects` compiles twice, kept compiling.
#[cfg(test)]
#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "compiled alone, where it is all public and has the view of its own"
)]
mod placed;
