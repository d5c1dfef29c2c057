//! What the scheduler counts.

/// Reasons that the program has room for.
pub const REASONS: usize = 64;
/// Buckets of latencies: bucket `n` holds `2^n` to `2^(n+1) - 1` ns.
pub const LATENCIES: usize = 32;

macro_rules! counts {
    ($($name:ident $doc:literal)*) => {
        /// Counts since the scheduler took over. Mirrors `struct stats` of the shim.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Stats {
            /// Decisions by reason, in the order of `Reason::ALL`.
            pub reasons: [u64; REASONS],
            /// Waits from becoming runnable to running, by power of two, ns.
            pub latencies: [u64; LATENCIES],
            $(#[doc = $doc] pub $name: u64,)*
        }

        impl Stats {
            /// Nothing yet.
            pub const ZERO: Self = Self {
                reasons: [0; REASONS],
                latencies: [0; LATENCIES],
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
                let mut since = *self;
                for (now, before) in since.reasons.iter_mut().zip(&before.reasons) {
                    *now = now.wrapping_sub(*before);
                }
                for (now, before) in since.latencies.iter_mut().zip(&before.latencies) {
                    *now = now.wrapping_sub(*before);
                }
                $(since.$name = since.$name.wrapping_sub(before.$name);)*
                since
            }

            /// Adds the counts of another CPU.
            pub fn add(&mut self, other: &Self) {
                for (sum, other) in self.reasons.iter_mut().zip(&other.reasons) {
                    *sum = sum.wrapping_add(*other);
                }
                for (sum, other) in self.latencies.iter_mut().zip(&other.latencies) {
                    *sum = sum.wrapping_add(*other);
                }
                $(self.$name = self.$name.wrapping_add(other.$name);)*
            }
        }
    };
}

counts! {
    asked        "Placements asked for."
    lost_races   "The chosen CPU was idle no more when it was claimed."
    unrecorded   "Decisions that found no room in the buffer for the check."
    same_cpu     "Placed where the task was."
    same_core    "Placed on another thread of its core."
    same_cluster "Placed on another core of its cluster."
    same_llc     "Placed elsewhere in its last-level cache."
    other_llc    "Placed in another last-level cache."
    direct       "Sent straight to an idle CPU."
    queued       "Queued for the CPUs of a last-level cache."
    pinned       "Queued for the only CPU that is allowed."
    kthreads     "Kernel threads of one CPU, which wait for nobody but what runs."
    stolen       "Taken from the queue of another last-level cache."
    preempted    "A running task made way for one that is due earlier."
    kept         "A running task went on, being due earlier than those that wait."
    spread       "Moved from a shared core to an idle one."
}
