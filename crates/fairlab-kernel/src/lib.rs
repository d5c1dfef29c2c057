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

    /// The tunables as the kernel uses them. A release of EEVDF has no numbers for CFS: with CFS switched
    /// back in, those that are not stated are the ones of the last release that has them.
    #[must_use]
    pub const fn tunables_in_use(&self) -> Tunables {
        let last = Tunables::of(Release::V6_1);
        let mut t = self.tunables;
        if !self.has(Feature::EEVDF) {
            t.latency_ns = stated_or(t.latency_ns, last.latency_ns);
            t.min_granularity_ns = stated_or(t.min_granularity_ns, last.min_granularity_ns);
            t.idle_min_granularity_ns =
                stated_or(t.idle_min_granularity_ns, last.idle_min_granularity_ns);
            t.wakeup_granularity_ns =
                stated_or(t.wakeup_granularity_ns, last.wakeup_granularity_ns);
        }
        t
    }
}

const fn stated_or(stated: u64, otherwise: u64) -> u64 {
    if stated == 0 { otherwise } else { stated }
}

impl From<Release> for Kernel {
    fn from(release: Release) -> Self {
        Self::of(release)
    }
}
