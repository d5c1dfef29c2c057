//! What differs between two kernels.

use alloc::vec::Vec;

use crate::{Feature, Kernel, Tunables};

/// One difference between kernel A and kernel B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A feature that only one of them has.
    Feature {
        /// Which.
        feature: Feature,
        /// On in A (and so off in B)?
        in_a: bool,
    },
    /// A tunable with different values.
    Tunable {
        /// Which.
        name: &'static str,
        /// The value in A.
        a: u64,
        /// The value in B.
        b: u64,
    },
}

/// Everything that differs between `a` and `b`, features first, in the order of the tables.
#[must_use]
pub fn differences(a: &Kernel, b: &Kernel) -> Vec<Difference> {
    let features = Feature::ALL
        .iter()
        .copied()
        .filter(|f| a.has(*f) != b.has(*f))
        .map(|feature| Difference::Feature {
            feature,
            in_a: a.has(feature),
        });
    let tunables = Tunables::NAMES.iter().filter_map(|name| {
        let (a, b) = (a.tunables.get(name)?, b.tunables.get(name)?);
        (a != b).then_some(Difference::Tunable { name, a, b })
    });
    features.chain(tunables).collect()
}
