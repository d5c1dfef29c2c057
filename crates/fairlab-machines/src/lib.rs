//! Machine models: bytes and short texts to [`Machine`].
//!
//! ```text
//!   host, directory ----+
//!   tar (gz, bz2, xz) --+--> Tree ---> sysfs ---+
//!   hwloc XML ------------------------> hwloc --+
//!   fairlab JSON ---------------------> json ---+--> MachineBuilder --> Machine
//!   2s:20c:2t, package:2 ..., -smp ... --> shape+
//!   xeon-6248 (catalogue) ----------------------+
//! ```
//!
//! [`load`] takes whatever a user types for `--machine` and finds out which it is. Descriptions of
//! real machines are often wrong; what can be repaired is repaired by a fixed rule, and recorded as
//! an [`Oddity`] of the machine, so that nothing is silently invented.
//!
//! Not here: sched domains (in `fairlab-topology`), and what hardware costs.
//!
//! [`Machine`]: fairlab_topology::Machine
//! [`Oddity`]: fairlab_topology::Oddity

mod archive;
pub mod catalogue;
mod check;
mod diff;
mod draw;
mod energy;
mod error;
mod groups;
mod hwloc;
mod json;
mod kinds;
mod load;
mod names;
mod qemu;
mod shape;
pub mod short;
mod summary;
mod sysfs;
mod tree;

pub use check::{Finding, Severity, check};
pub use diff::{Difference, diff};
pub use draw::{cpu_list, draw};
pub use error::MachineLoadError;
pub use json::{from_json, to_json};
pub use load::{LoadOptions, load, load_archived};
pub use summary::{Summary, arch_name, kind_name, source_name, summary};
