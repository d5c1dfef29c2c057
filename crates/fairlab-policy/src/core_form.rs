//! How the cores of a set of CPUs are numbered.

use fairlab_units::{CpuId, CpuMask};

use crate::cores::Cores;
use crate::word_range::WordRange;

const BITS: usize = 64;

/// Cores of more threads are counted one by one.
pub(crate) const THREADS_MAX: usize = 8;

/// The numbering of a set that is made of whole cores, all alike but for those of a single thread.
///
/// A walk in wrap order comes to a core through the first of its threads at or above the start, else
/// through its lowest. Where the threads of every core have the same distance, arithmetic on words
/// says which threads those are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CoreForm {
    /// Threads of a core.
    pub threads: u32,
    /// Distance from one thread of a core to the next.
    pub stride: u32,
    /// Are there cores of a single thread beside those of `threads`?
    pub has_singles: bool,
}

impl CoreForm {
    /// The form of `mask`; none when it has none, or holds a part of a core.
    pub fn of(mask: &CpuMask, cores: &Cores) -> Option<Self> {
        let mut alike: Option<(u32, u32)> = None;
        let mut has_singles = false;
        for cpu in mask {
            let threads = cores.threads(cpu);
            let lowest = threads.first()?;
            if *lowest != cpu {
                // Looked at with its lowest thread, unless that one is missing.
                if !mask.test(*lowest) || cores.place(*lowest) != cores.place(cpu) {
                    return None;
                }
                continue;
            }
            let Some(second) = threads.get(1) else {
                has_singles = true;
                continue;
            };
            let stride = second.0 - lowest.0;
            let is_regular = threads.len() <= THREADS_MAX
                && threads.windows(2).all(|pair| match pair {
                    [low, high] => high.0 - low.0 == stride,
                    _ => true,
                })
                && threads
                    .iter()
                    .all(|t| mask.test(*t) && cores.place(*t) == cores.place(cpu));
            let this = (threads.len() as u32, stride);
            if !is_regular || alike.is_some_and(|other| other != this) {
                return None;
            }
            alike = Some(this);
        }
        let (threads, stride) = alike.unwrap_or((1, 1));
        Some(Self {
            threads,
            stride,
            has_singles: has_singles && threads > 1,
        })
    }

    /// The threads of word `i` through which a walk from `start` comes to their cores. Of the word of
    /// `start` both parts hold, those at or above it and those below.
    #[inline]
    pub fn leads(&self, i: usize, start: CpuId, lowest: u64, single: u64) -> u64 {
        if self.threads == 1 {
            return u64::MAX;
        }
        let (first, start) = ((i * BITS) as u32, start.0);
        let split_high = start.saturating_add(self.stride);
        let split_low = start.saturating_sub((self.threads - 1) * self.stride);
        if first >= split_high || first + BITS as u32 <= split_low {
            return lowest;
        }
        let from_start = !below(first, start);
        // The thread before is below the start, or there is none.
        let high = from_start & (lowest | below(first, split_high));
        // All threads of the core are below the start.
        let low = !from_start & lowest & (single | below(first, split_low));
        high | low
    }

    /// Does `allowed` hold each core of `span` with all threads or none?
    pub fn is_allowed_whole(
        &self,
        range: WordRange,
        span: &CpuMask,
        allowed: &CpuMask,
        lowest: &CpuMask,
        single: &CpuMask,
    ) -> bool {
        if self.threads == 1 {
            return true;
        }
        (range.first..range.end).all(|i| {
            let leaders = word(span, i) & word(lowest, i) & !word(single, i);
            let here = word(allowed, i);
            (1..self.threads).all(|n| {
                let there = bits_from(allowed, i * BITS + (n * self.stride) as usize);
                (here ^ there) & leaders == 0
            })
        })
    }
}

/// Word `i`, or nothing beyond the end.
#[inline]
pub(crate) fn word(mask: &CpuMask, i: usize) -> u64 {
    mask.words().get(i).copied().unwrap_or(0)
}

/// 64 members from `first` on.
fn bits_from(mask: &CpuMask, first: usize) -> u64 {
    let (i, shift) = (first / BITS, first % BITS);
    let low = word(mask, i) >> shift;
    match shift {
        0 => low,
        _ => low | word(mask, i + 1) << (BITS - shift),
    }
}

/// The bits of the CPUs below `limit`, in the word that begins with CPU `first`.
#[inline]
const fn below(first: u32, limit: u32) -> u64 {
    let n = limit.saturating_sub(first);
    if n >= BITS as u32 {
        u64::MAX
    } else {
        (1 << n) - 1
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn bits_below_a_limit_stop_at_the_word() {
        assert_eq!(below(64, 0), 0);
        assert_eq!(below(64, 64), 0);
        assert_eq!(below(64, 67), 0b111);
        assert_eq!(below(64, 127), u64::MAX >> 1);
        assert_eq!(below(64, 500), u64::MAX);
    }

    #[test]
    fn a_walk_comes_to_each_core_once_through_the_first_thread_from_its_start() {
        for (threads, stride) in [(1, 1), (2, 1), (2, 20), (4, 1), (4, 40), (8, 1), (3, 50)] {
            let nr = if stride == 1 { 160 } else { threads * stride };
            let nr = nr / threads * threads;
            let thread_of = |cpu: u32| {
                if stride == 1 {
                    cpu % threads
                } else {
                    cpu / stride
                }
            };
            let core_of = |cpu: u32| cpu - thread_of(cpu) * stride;
            let lowest: CpuMask = CpuMask::from_cpus(
                nr as usize,
                (0..nr).filter(|c| core_of(*c) == *c).map(CpuId),
            );
            let form = CoreForm {
                threads,
                stride,
                has_singles: false,
            };
            for start in 0..=nr {
                let mut seen = vec![false; nr as usize];
                for cpu in (start..nr).chain(0..start) {
                    let is_new = !core::mem::replace(&mut seen[core_of(cpu) as usize], true);
                    let i = cpu as usize / BITS;
                    let leads = form.leads(i, CpuId(start), word(&lowest, i), 0);
                    assert_eq!(
                        leads >> (cpu as usize % BITS) & 1 != 0,
                        is_new,
                        "{threads} threads, {stride} apart, from {start}: CPU {cpu}"
                    );
                }
            }
        }
    }
}
