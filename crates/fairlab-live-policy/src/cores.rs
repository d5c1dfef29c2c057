//! Which cores are idle, from which CPUs are.
//!
//! The kernel keeps a mask of idle cores, too, but as a hint: several CPUs write it without a lock, so it may
//! lag behind (it was never seen to in a guest). Idle CPUs are marked one by one and atomically.

use crate::config::{Config, THREADS, WORDS};
use crate::request::Request;

/// CPUs whose core has another thread at a fixed distance in numbers. Threads of a core are neighbours on some
/// machines and half the machine apart on others, but nearly always the same distance for all cores.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Siblings {
    /// The distance; 0 in rows that are not used, which are last.
    pub distance: u32,
    /// Not used.
    pub reserved: u32,
    /// The CPUs that have a thread of their core this much above.
    pub above: [u64; WORDS],
}

impl Siblings {
    /// A row that is not used.
    pub const NONE: Self = Self {
        distance: 0,
        reserved: 0,
        above: [0; WORDS],
    };

    /// Bits of word `i` of the CPUs whose threads above, or below, are busy, by the words of CPUs that are quiet.
    /// Indices wrap at the end of the words, where no CPU has a thread in that direction.
    #[inline(always)]
    fn busy(&self, quiet: &[u64; WORDS], i: usize) -> u64 {
        let (words, bits) = ((self.distance / 64) as usize, self.distance % 64);
        let at = |i: usize| i & (WORDS - 1);
        let above = quiet[at(i + words)] >> bits | (quiet[at(i + words + 1)] << 1) << (63 - bits);
        let seen_from = |i: usize| self.above[i] & !quiet[i];
        let (near, next) = (at(i.wrapping_sub(words)), at(i.wrapping_sub(words + 1)));
        let below = seen_from(near) << bits | (seen_from(next) >> 1) >> (63 - bits);
        self.above[at(i)] & !above | below
    }
}

/// Fills in the idle cores of `request` from its idle CPUs. Those that are `quiet` keep no core from being idle: that
/// are idle, or off.
#[inline(always)]
pub fn find_idle_cores(config: &Config, quiet: &[u64; WORDS], request: &mut Request) {
    for i in 0..config.words as usize {
        let i = i & (WORDS - 1);
        let mut cores = request.idle[i];
        for row in 0..THREADS {
            let siblings = &config.siblings[row];
            if siblings.distance == 0 {
                break;
            }
            cores &= !siblings.busy(quiet, i);
        }
        request.idle_core[i] = cores;
    }
}
