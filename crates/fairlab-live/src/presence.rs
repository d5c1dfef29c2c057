//! Which CPUs are there, as the program is told and then keeps it.

use fairlab_live_policy::WORDS;
use fairlab_units::CpuMask;

/// Mirrors `struct presence` of the shim.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Presence {
    /// CPUs that are online; those that come and go change it.
    online: [u64; WORDS],
    /// CPUs that were as the machine was read.
    known: [u64; WORDS],
}

impl Presence {
    /// As it begins on a machine of these CPUs.
    pub(crate) fn of(online: &CpuMask) -> Self {
        let mut words = [0; WORDS];
        for (word, bits) in words.iter_mut().zip(online.words()) {
            *word = *bits;
        }
        Self {
            online: words,
            known: words,
        }
    }
}
