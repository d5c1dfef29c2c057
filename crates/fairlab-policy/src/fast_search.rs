//! The scans of an LLC over idle masks, 64 CPUs at once.
//!
//! Answer, reason and counted cost are those of the kernel's walks in `idle_sibling`; a differential
//! test holds them together. What is counted is what the kernel's walk would have looked at.
//!
//! ```text
//!   words         walks over words in wrap order
//!   in_order      walks of a whole LLC: what was visited follows from where the walk ended
//!   core_walk     walks over whole cores that are counted word by word: clusters, affinity
//!   cores, cpus   the one-pass searches for a core and for a CPU
//!   three_passes  the passes of v5.4 and v5.6
//!   smt           the threads beside a CPU
//! ```

mod core_walk;
mod cores;
mod cpus;
mod in_order;
mod smt;
mod three_passes;
mod words;

use fairlab_topology::domains::DomainId;

use crate::MachineView;
use crate::explain::Explain;
use crate::search::Search;

pub use cores::found_core;

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// Does a scan find anybody to visit?
    pub(crate) fn scan_is_empty(&self, llc: DomainId) -> bool {
        !self.domains.span(llc).intersects(self.p.allowed)
    }
}
