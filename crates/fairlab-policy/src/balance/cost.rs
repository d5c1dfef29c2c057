//! What a balancing pass touched.

use core::ops::AddAssign;

/// Counts of what a balancing pass touched, so that time can be charged for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BalanceCost {
    /// Attempts to balance a domain.
    pub attempts: u32,
    /// CPUs whose idle state was read to decide who balances.
    pub idle_tests: u32,
    /// Groups whose statistics were gathered.
    pub groups: u32,
    /// CPUs visited while gathering group statistics.
    pub group_cpus: u32,
    /// CPUs visited while looking for the busiest queue.
    pub queue_cpus: u32,
    /// Tasks examined (`can_migrate_task`).
    pub tasks: u32,
    /// Tasks moved.
    pub moved: u32,
    /// CPUs whose blocked averages were refreshed.
    pub blocked_updates: u32,
}

impl AddAssign for BalanceCost {
    fn add_assign(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.idle_tests += other.idle_tests;
        self.groups += other.groups;
        self.group_cpus += other.group_cpus;
        self.queue_cpus += other.queue_cpus;
        self.tasks += other.tasks;
        self.moved += other.moved;
        self.blocked_updates += other.blocked_updates;
    }
}
