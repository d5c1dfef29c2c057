//! Memory that a decision needs, owned by the caller.

use fairlab_units::CpuMask;

/// Masks that a decision works on. Made once, so that deciding allocates nothing.
///
/// The kernel keeps the same masks per CPU (`select_rq_mask`, `select_idle_mask`).
#[derive(Clone, Debug)]
pub struct Scratch {
    /// The CPUs that a scan still has to visit.
    pub(crate) cpus: CpuMask,
}

impl Scratch {
    /// Scratch memory for machines with CPU numbers below `nr_cpus`.
    #[must_use]
    pub fn new(nr_cpus: usize) -> Self {
        Self {
            cpus: CpuMask::new(nr_cpus),
        }
    }
}
