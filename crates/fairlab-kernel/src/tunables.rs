//! Numbers that a release or an administrator sets.

use crate::Release;

macro_rules! tunables {
    ($($(#[doc = $doc:literal])* $field:ident: [$($value:expr),* $(,)?];)*) => {
        /// Numbers that a release or an administrator sets. Before CPU-count scaling.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Tunables {
            $($(#[doc = $doc])* pub $field: u64,)*
        }

        impl Tunables {
            /// Names, in the order of the table.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];

            /// The defaults of `release`.
            #[must_use]
            pub const fn of(release: Release) -> Self {
                Self { $($field: [$($value),*][release.column()],)* }
            }

            /// The value of the tunable called `name`.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($field) => Some(self.$field),)*
                    _ => None,
                }
            }

            /// Where the tunable called `name` is kept.
            pub fn get_mut(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $(stringify!($field) => Some(&mut self.$field),)*
                    _ => None,
                }
            }

            /// What the tunable called `name` means.
            #[must_use]
            pub fn doc(name: &str) -> Option<&'static str> {
                match name {
                    $(stringify!($field) => Some(concat!($($doc),*)),)*
                    _ => None,
                }
            }
        }
    };
}

// Columns: v5.4, v5.6, v5.15, v6.1, v6.6, v6.12, v7.2. A zero stands for "this release has none".
tunables! {
    /// Timer interrupts per second (CONFIG_HZ).
    hz: [250, 250, 250, 250, 250, 250, 250];
    /// CFS: targeted preemption latency in ns, before scaling (sched_latency_ns).
    latency_ns: [6_000_000, 6_000_000, 6_000_000, 6_000_000, 0, 0, 0];
    /// CFS: shortest slice in ns, before scaling (sched_min_granularity_ns).
    min_granularity_ns: [750_000, 750_000, 750_000, 750_000, 0, 0, 0];
    /// CFS: shortest slice of an idle entity in ns, never scaled.
    idle_min_granularity_ns: [0, 0, 0, 750_000, 0, 0, 0];
    /// CFS: lead that a wakee needs to preempt, in ns, before scaling (sched_wakeup_granularity_ns).
    wakeup_granularity_ns: [1_000_000, 1_000_000, 1_000_000, 1_000_000, 0, 0, 0];
    /// EEVDF: slice in ns, before scaling (base_slice_ns).
    base_slice_ns: [0, 0, 0, 0, 750_000, 700_000, 700_000];
    /// Scaling of the above with the number of CPUs: 0 none, 1 log, 2 linear (tunable_scaling).
    tunable_scaling: [1, 1, 1, 1, 1, 1, 1];
    /// A task that ran less than this many ns ago is cache hot (migration_cost_ns).
    migration_cost_ns: [500_000, 500_000, 500_000, 500_000, 500_000, 500_000, 500_000];
    /// Tasks examined in one go by the balancer (nr_migrate).
    nr_migrate: [32, 32, 32, 32, 32, 32, 32];
    /// A forked child runs before its parent.
    child_runs_first: [0, 0, 0, 0, 0, 0, 0];
    /// Slice of cpu.max runtime handed to a CPU, in us.
    cfs_bandwidth_slice_us: [5_000, 5_000, 5_000, 5_000, 5_000, 5_000, 5_000];
    /// imbalance_pct of a domain that shares neither core nor LLC.
    imbalance_pct: [125, 125, 117, 117, 117, 117, 117];
    /// Stretching of balance intervals while the CPU is busy (busy_factor).
    busy_factor: [32, 32, 16, 16, 16, 16, 16];
    /// Nodes beyond this distance lose WAKE_AFFINE, BALANCE_FORK and BALANCE_EXEC; 0 lets the
    /// machine decide (30, AMD EPYC 32).
    reclaim_distance: [0, 0, 0, 0, 0, 0, 0];
    /// NUMA balancing: time before the memory of a new task is scanned first, ms (scan_delay_ms).
    numa_scan_delay_ms: [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000];
    /// NUMA balancing: shortest time between scans, ms (scan_period_min_ms).
    numa_scan_period_min_ms: [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000];
    /// NUMA balancing: longest time between scans, ms (scan_period_max_ms).
    numa_scan_period_max_ms: [60_000, 60_000, 60_000, 60_000, 60_000, 60_000, 60_000];
    /// NUMA balancing: memory that is marked per scan, MiB (scan_size_mb).
    numa_scan_size_mb: [256, 256, 256, 256, 256, 256, 256];
    /// Cache aware scheduling: tolerance of the size tests (llc_balancing/aggr_tolerance).
    llc_aggr_tolerance: [0, 0, 0, 0, 0, 0, 1];
    /// Cache aware scheduling: epochs without a scan until a preference is dropped.
    llc_epoch_affinity_timeout: [0, 0, 0, 0, 0, 0, 5];
    /// Cache aware scheduling: lead in percent that another LLC must have (llc_balancing/imb_pct).
    llc_imb_pct: [0, 0, 0, 0, 0, 0, 20];
    /// Cache aware scheduling: fill in percent up to which an LLC takes tasks (llc_balancing/overaggr_pct).
    llc_overaggr_pct: [0, 0, 0, 0, 0, 0, 50];
}

impl Tunables {
    /// Length of a tick in ns (`TICK_NSEC`), rounded to nearest.
    #[must_use]
    pub const fn tick_ns(&self) -> u64 {
        (1_000_000_000 + self.hz / 2) / self.hz
    }

    /// The factor by which slices grow with the number of online CPUs (`sched_tunable_scaling`).
    #[must_use]
    pub const fn scaling_factor(&self, nr_cpus: usize) -> u64 {
        let capped = if nr_cpus < 1 {
            1
        } else if nr_cpus > 8 {
            8
        } else {
            nr_cpus as u64
        };
        match self.tunable_scaling {
            0 => 1,
            2 => capped,
            _ => 1 + capped.ilog2() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_follows_the_table_of_the_runqueue_spec() {
        let log = Tunables::of(Release::V6_12);
        let factors = [1, 2, 3, 4, 7, 8, 320].map(|n| log.scaling_factor(n));
        assert_eq!(factors, [1, 2, 2, 3, 3, 4, 4]);
        let linear = Tunables {
            tunable_scaling: 2,
            ..log
        };
        assert_eq!(linear.scaling_factor(320), 8);
    }

    #[test]
    fn ticks_round_to_nearest() {
        let tick = |hz| {
            Tunables {
                hz,
                ..Tunables::of(Release::V6_12)
            }
            .tick_ns()
        };
        assert_eq!(
            [100, 250, 300, 1000].map(tick),
            [10_000_000, 4_000_000, 3_333_333, 1_000_000]
        );
    }

    #[test]
    fn every_tunable_is_found_by_its_name() {
        let mut tunables = Tunables::of(Release::V7_2);
        for name in Tunables::NAMES {
            assert!(Tunables::doc(name).is_some_and(|d| !d.is_empty()));
            *tunables.get_mut(name).unwrap() = 77;
            assert_eq!(tunables.get(name), Some(77));
        }
    }
}
