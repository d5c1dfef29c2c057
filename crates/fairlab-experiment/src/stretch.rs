//! The part of a run that is looked at.

use fairlab_kernel::Kernel;
use fairlab_units::Timestamp;

/// The part of each run of a plan that counts; all of it by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// The runs go on from this point, which all have in common; what is measured begins there.
    pub from: Option<Point>,
    /// They are cut off at this time, if they are not over before.
    pub until: Option<Timestamp>,
}

/// A point of a run that was saved: of run 0 of a plan with the same machine, workload, costs and seed,
/// under `kernel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// When.
    pub at: Timestamp,
    /// The kernel up to then.
    pub kernel: Kernel,
    /// The hash of the events up to then.
    pub event_hash: u64,
}
