//! Which crate may use which.
//!
//! This table is the architecture: words at the bottom, faces at the top, arrows only downwards. Why
//! it looks like this:
//!
//! * `policy` does not know who asks. It sees a machine through a trait of its own, so that the
//!   simulator, recordings of real kernels and other users share one copy of the code.
//! * `runqueue` and `policy` do not know each other: one says who runs next on a CPU, the other where
//!   a task goes. They meet in `sim`.
//! * `audit` judges without the policy, and shares nothing with `sim` but events. Its one rule that
//!   compares a kernel with another rebuilds the state from the events and asks `policy`; so it
//!   drives the queues and averages of `runqueue` and `pelt` by what was recorded.
//! * `sim` has no input, output, clock or threads; it is handed machines and loads, and gives events.
//! * `experiment` is where threads and the host's clock meet the simulator: many runs, each of them
//!   deterministic, and what was measured around them kept apart.
//! * `report` draws what `audit` kept, and nothing else: a page about a recording and one about a
//!   simulated run come the same way. It knows neither the simulator nor formats of traces.
//! * `replay` turns events into a workload. It reads the simulator's table of costs, because what a
//!   simulated run will charge for has to be taken out of the recorded times first.
//! * Floats begin in `stats`, formats and the host in layer 4, and nothing below depends on them.
//! * Layers 0 to 2 have no dependency from outside, and `sim` one that only derives error messages,
//!   so nothing outside can change what they decide. The crates marked `no_std` need no operating
//!   system (`cargo xtask no-std` builds them without one).
//!
//! A new arrow is one more name in a line here, to be argued in the message of its commit.

/// A crate of the workspace and what it may use.
pub struct Row {
    /// The layer: arrows point to the same layer or a lower one.
    pub layer: u8,
    /// The package name.
    pub name: &'static str,
    /// The crates of this workspace that it may use outside of tests. [`EVERYTHING`] for the
    /// binaries, which put together what the others made.
    pub may_use: &'static [&'static str],
    /// Does it do without the standard library?
    pub is_no_std: bool,
    /// The crates from outside the workspace that it may use outside of tests.
    pub others: Others,
}

/// Which crates from outside the workspace a crate may use.
pub enum Others {
    /// These; none of their types appears in a public signature.
    Only(&'static [&'static str]),
    /// Any.
    Any,
}

impl Others {
    /// May the crate called `name` be used?
    pub fn allow(&self, name: &str) -> bool {
        match self {
            Self::Only(names) => names.contains(&name),
            Self::Any => true,
        }
    }
}

/// Every other crate of the workspace.
pub const EVERYTHING: &[&str] = &["*"];

const fn row(layer: u8, name: &'static str, may_use: &'static [&'static str]) -> Row {
    Row {
        layer,
        name,
        may_use,
        is_no_std: false,
        others: Others::Only(&[]),
    }
}

impl Row {
    /// May the crate of this workspace called `name` be used?
    pub fn may_use(&self, name: &str) -> bool {
        self.may_use == EVERYTHING || self.may_use.contains(&name)
    }

    const fn no_std(mut self) -> Self {
        self.is_no_std = true;
        self
    }

    const fn and_only(mut self, others: &'static [&'static str]) -> Self {
        self.others = Others::Only(others);
        self
    }

    const fn and_others(mut self) -> Self {
        self.others = Others::Any;
        self
    }
}

const UNITS: &str = "fairlab-units";
const KERNEL: &str = "fairlab-kernel";
const RNG: &str = "fairlab-rng";
const TOPOLOGY: &str = "fairlab-topology";
const PELT: &str = "fairlab-pelt";
const EVENT: &str = "fairlab-event";
const STATS: &str = "fairlab-stats";
const RUNQUEUE: &str = "fairlab-runqueue";
const POLICY: &str = "fairlab-policy";
const WORKLOAD: &str = "fairlab-workload";
const SIM: &str = "fairlab-sim";
const AUDIT: &str = "fairlab-audit";
const EXPERIMENT: &str = "fairlab-experiment";
const RTAPP: &str = "fairlab-rtapp";
const WORKFILE: &str = "fairlab-workfile";
const MACHINES: &str = "fairlab-machines";
const BENCH: &str = "fairlab-bench";
const RESULTS: &str = "fairlab-results";
const TRACE: &str = "fairlab-trace";
const VIEWS: &str = "fairlab-views";
const RECORD: &str = "fairlab-record";
const REPLAY: &str = "fairlab-replay";
const LAYOUT: &str = "fairlab-layout";
const REPORT: &str = "fairlab-report";
const VALIDATE: &str = "fairlab-validate";
const LIVE_POLICY: &str = "fairlab-live-policy";
const LIVE: &str = "fairlab-live";
const FACADE: &str = "fairlab";

/// The table, by layer.
#[rustfmt::skip]
pub const ARROWS: &[Row] = &[
    // 0: words
    row(0, UNITS,         &[]).no_std(),
    row(0, KERNEL,        &[]).no_std(),
    row(0, RNG,           &[]).no_std(),
    // 1: facts and maths
    row(1, TOPOLOGY,      &[UNITS, KERNEL]).no_std(),
    row(1, PELT,          &[UNITS, KERNEL]).no_std(),
    row(1, EVENT,         &[UNITS]).no_std(),
    row(1, STATS,         &[RNG]),
    // 2: models
    row(2, RUNQUEUE,      &[UNITS, KERNEL, PELT]).no_std(),
    row(2, POLICY,        &[UNITS, KERNEL, TOPOLOGY, PELT]).no_std(),
    row(2, LIVE_POLICY,   &[UNITS, KERNEL, RUNQUEUE, POLICY]).no_std(),
    row(2, WORKLOAD,      &[UNITS, RNG]).no_std(),
    // 3: engine
    row(3, SIM,           &[UNITS, KERNEL, RNG, TOPOLOGY, PELT, EVENT, STATS, RUNQUEUE, POLICY, WORKLOAD]).and_only(&["thiserror"]),
    row(3, AUDIT,         &[UNITS, KERNEL, TOPOLOGY, PELT, EVENT, STATS, RUNQUEUE, POLICY]),
    // 4: edges
    row(4, EXPERIMENT,    &[UNITS, KERNEL, RNG, TOPOLOGY, STATS, POLICY, WORKLOAD, SIM]).and_others(),
    row(4, WORKFILE,      &[UNITS, WORKLOAD, SIM]).and_others(),
    row(4, RTAPP,         &[UNITS, WORKLOAD]).and_others(),
    row(4, MACHINES,      &[UNITS, KERNEL, TOPOLOGY]).and_others(),
    row(4, RESULTS,       &[STATS]).and_others(),
    row(4, BENCH,         &[UNITS, KERNEL, RNG, TOPOLOGY, PELT, STATS, POLICY]).and_others(),
    row(4, TRACE,         &[UNITS, EVENT]).and_others(),
    row(4, VIEWS,         &[UNITS, EVENT, TRACE]),
    row(4, RECORD,        &[UNITS, TRACE]).and_others(),
    row(4, REPLAY,        &[UNITS, TOPOLOGY, EVENT, WORKLOAD, SIM]),
    row(4, LAYOUT,        &[]).and_others(),
    row(4, REPORT,        &[UNITS, TOPOLOGY, EVENT, STATS, AUDIT]).and_others(),
    row(4, VALIDATE,      &[UNITS, KERNEL, TOPOLOGY, STATS, WORKLOAD, SIM, EXPERIMENT, WORKFILE, MACHINES]).and_others(),
    row(4, LIVE,          &[UNITS, KERNEL, TOPOLOGY, POLICY, LIVE_POLICY, MACHINES]).and_others(),
    // 5: faces
    row(5, FACADE,        &[UNITS, KERNEL, RNG, TOPOLOGY, PELT, EVENT, STATS, RUNQUEUE, POLICY, WORKLOAD, SIM]),
    row(5, "fairlab-cli", EVERYTHING).and_others(),
    row(5, "xtask",       EVERYTHING).and_others(),
];

/// The row of the crate called `name`.
pub fn find(name: &str) -> Option<&'static Row> {
    ARROWS.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_arrow_points_upwards_and_all_point_to_rows() {
        for row in ARROWS {
            for used in row.may_use.iter().filter(|used| **used != "*") {
                let used = find(used).unwrap();
                assert!(used.layer <= row.layer, "{} -> {}", row.name, used.name);
                assert_ne!(used.name, row.name);
                // What does without the standard library must not get it through the back door.
                assert!(
                    used.is_no_std || !row.is_no_std,
                    "{} -> {}",
                    row.name,
                    used.name
                );
            }
        }
    }

    #[test]
    fn rows_are_sorted_by_layer_and_named_once() {
        assert!(ARROWS.is_sorted_by_key(|row| row.layer));
        for row in ARROWS {
            assert_eq!(
                ARROWS.iter().filter(|other| other.name == row.name).count(),
                1
            );
        }
    }
}
