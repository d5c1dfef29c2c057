//! The table of task groups.

use fairlab::stats::table::{Align, Table};
use fairlab::workload::Workload;
use fairlab_experiment::Outcome;
use serde::Serialize;

/// A task group, for JSON.
#[derive(Serialize)]
pub struct GroupReport {
    /// Its path, as below the root of the cgroups.
    path: String,
    /// `cpu.shares`.
    shares: u32,
    /// CPU time of its tasks and of the groups in it.
    cpu_ns: u64,
    /// Time that its queues were throttled, on all CPUs together.
    throttled_ns: u64,
    /// How often a queue of it was throttled.
    nr_throttled: u64,
}

/// The groups of `workload`, in its order.
pub fn of(workload: &Workload, outcome: &Outcome) -> Vec<GroupReport> {
    let path = |index: usize| {
        let mut path = String::new();
        let mut at = workload.groups.get(index);
        while let Some(group) = at {
            path.insert_str(0, &group.name);
            path.insert(0, '/');
            at = group
                .parent
                .and_then(|parent| workload.groups.get(parent.index()));
        }
        path
    };
    let groups = workload.groups.iter().zip(&outcome.groups).enumerate();
    groups
        .map(|(index, (group, time))| GroupReport {
            path: path(index),
            shares: group.shares,
            cpu_ns: time.cpu.0,
            throttled_ns: time.throttled.0,
            nr_throttled: time.nr_throttled,
        })
        .collect()
}

/// The same as text; nothing without groups.
pub fn text(groups: &[GroupReport]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let columns = [
        ("Task groups", Align::Left),
        ("shares", Align::Right),
        ("CPU time, ms", Align::Right),
        ("throttled, ms", Align::Right),
        ("times", Align::Right),
    ];
    let mut table = Table::new(columns);
    let ms = |ns: u64| format!("{:.3}", ns as f64 / 1e6);
    for group in groups {
        table.row([
            group.path.clone(),
            group.shares.to_string(),
            ms(group.cpu_ns),
            ms(group.throttled_ns),
            group.nr_throttled.to_string(),
        ]);
    }
    format!("\n{}", table.to_text())
}
