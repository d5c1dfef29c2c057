//! Kernel releases as data: a [`Kernel`] is a [`Release`], the [`Features`] that are on, and
//! [`Tunables`].
//!
//! ```text
//!   "6.12:NO_SIS_CLUSTER,base_slice_ns=3000000"
//!     |        |               |
//!     Release  Feature off     tunable
//! ```
//!
//! Features are run-time values, so that two kernels can race in one process. This crate says
//! *what* differs; the crates above it implement the difference and read nothing but the switch.
//! It does not know machines, tasks or time.
#![no_std]
extern crate alloc;

mod diff;
mod features;
mod parse;
mod release;
mod tunables;

pub use diff::{Difference, differences};
pub use features::{Area, Feature, Features};
pub use parse::ParseKernelError;
pub use release::Release;
pub use tunables::Tunables;

/// One kernel: a release with switches and numbers.
///
/// ```
/// use fairlab_kernel::{Feature, Kernel};
/// let kernel: Kernel = "5.6:NO_IDLE_CORE_EARLY_EXIT,hz=1000".parse()?;
/// assert!(!kernel.has(Feature::IDLE_CORE_EARLY_EXIT));
/// assert_eq!(kernel.tunables.hz, 1000);
/// assert_eq!(kernel.to_string(), "5.6:NO_IDLE_CORE_EARLY_EXIT,hz=1000");
/// # Ok::<(), fairlab_kernel::ParseKernelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The release it started from.
    pub release: Release,
    /// The switches.
    pub features: Features,
    /// The numbers.
    pub tunables: Tunables,
}

impl Kernel {
    /// `release` as built.
    #[must_use]
    pub const fn of(release: Release) -> Self {
        Self {
            release,
            features: Features::of(release),
            tunables: Tunables::of(release),
        }
    }

    /// Is `feature` on?
    #[inline]
    #[must_use]
    pub const fn has(&self, feature: Feature) -> bool {
        self.features.has(feature)
    }

    /// The same kernel with `feature` switched.
    #[must_use]
    pub const fn with(mut self, feature: Feature, on: bool) -> Self {
        self.features = self.features.with(feature, on);
        self
    }
}

impl From<Release> for Kernel {
    fn from(release: Release) -> Self {
        Self::of(release)
    }
}
