//! What the scheduler counts.

/// Reasons that the program has room for.
pub const REASONS: usize = 64;
/// Buckets of latencies: bucket `n` holds `2^n` to `2^(n+1) - 1` ns.
pub const LATENCIES: usize = 32;
/// Distances between CPUs, in the order of `fairlab_topology::Distance::ALL`.
pub const DISTANCES: usize = 6;
/// What was idle at a chosen CPU: nothing, its thread only, its whole core.
pub const FOUND: usize = 3;
/// Buckets of queue lengths: bucket `n` holds `2^n` to `2^(n+1) - 1` tasks.
pub const LENGTHS: usize = 16;

macro_rules! counts {
    (
        several { $($many:ident $room:ident $many_doc:literal)* }
        single { $($name:ident $doc:literal)* }
    ) => {
        /// Counts since the scheduler took over. Mirrors `struct stats` of the shim.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Stats {
            $(#[doc = $many_doc] pub $many: [u64; $room],)*
            $(#[doc = $doc] pub $name: u64,)*
        }

        impl Stats {
            /// Nothing yet.
            pub const ZERO: Self = Self {
                $($many: [0; $room],)*
                $($name: 0,)*
            };

            /// Single counts by name, each with one sentence.
            #[must_use]
            pub fn single(&self) -> Vec<(&'static str, u64, &'static str)> {
                vec![$((stringify!($name), self.$name, $doc),)*]
            }

            /// What was counted since `before`.
            #[must_use]
            pub fn since(&self, before: &Self) -> Self {
                self.with(before, u64::wrapping_sub)
            }

            /// With the counts of another CPU.
            #[must_use]
            pub fn and(&self, other: &Self) -> Self {
                self.with(other, u64::wrapping_add)
            }

            fn with(&self, other: &Self, join: fn(u64, u64) -> u64) -> Self {
                let mut all = *self;
                $(for (one, other) in all.$many.iter_mut().zip(&other.$many) {
                    *one = join(*one, *other);
                })*
                $(all.$name = join(all.$name, other.$name);)*
                all
            }
        }
    };
}

counts! {
    several {
        reasons   REASONS   "Decisions by reason, in the order of `Reason::ALL`."
        latencies LATENCIES "Waits from becoming runnable to running, by power of two, ns."
        placed    DISTANCES "Decisions by the distance from the previous CPU."
        moved     DISTANCES "Starts on another CPU than the last, by distance; the first is always 0."
        found     FOUND     "Decisions by what was idle at the chosen CPU: nothing, its thread only, its whole core."
        lengths   LENGTHS   "Queues as tasks found them, the task included, by power of two."
    }
    single {
        asked      "Placements asked for."
        lost_races "The chosen CPU was idle no more when it was claimed."
        unrecorded "Decisions that found no room in the buffer for the check."
        direct     "Sent straight to an idle CPU when they woke."
        queued     "Queued for the CPUs of a last-level cache."
        pinned     "Queued for one CPU: no other is allowed, or it was put off there for a short while."
        kthreads   "Kernel threads of one CPU, which wait for nobody but what runs."
        stolen     "Taken from the queue of another last-level cache."
        preempted  "A running task made way for one that is due earlier."
        kept       "A running task went on, being due earlier than those that wait."
        relieved   "Would have waited, and went to an idle CPU."
        spread     "Moved from a shared core to an idle one."
    }
}

/// An upper bound, exclusive, of the quantile `percent` of counts by power of two; none without counts.
#[must_use]
pub fn quantile(buckets: &[u64], percent: u64) -> Option<u64> {
    let all: u64 = buckets.iter().sum();
    let mut left = all.saturating_mul(percent).div_ceil(100);
    for (n, count) in buckets.iter().enumerate() {
        if left <= *count && *count != 0 {
            return Some(2u64 << n);
        }
        left = left.saturating_sub(*count);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_end_of_its_bucket() {
        assert_eq!(quantile(&[0; 4], 50), None);
        assert_eq!(quantile(&[1, 0, 0, 0], 50), Some(2));
        assert_eq!(quantile(&[50, 49, 1, 0], 50), Some(2));
        assert_eq!(quantile(&[50, 49, 1, 0], 99), Some(4));
        assert_eq!(quantile(&[50, 49, 1, 0], 100), Some(8));
    }

    #[test]
    fn counts_of_cpus_add_up_and_intervals_subtract() {
        let mut one = Stats::ZERO;
        (one.asked, one.moved[5]) = (3, 2);
        let both = one.and(&one);
        assert_eq!((both.asked, both.moved[5]), (6, 4));
        assert_eq!(both.since(&one), one);
    }
}
