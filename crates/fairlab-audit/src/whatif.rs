//! What another kernel would have done: each recorded placement, asked again of its policy in the
//! rebuilt state.
//!
//! ```text
//!   events ──> Reconstruction ── question ──> doubt     the policy's answer, and what it hangs on
//!                                                │
//!   where the task went ─────────────────────> answer   agreement; differences and what they met
//! ```
//!
//! # How sure it is
//! The policy is asked once more for each thing that a recording leaves open and that could matter
//! ([`Doubt`]). When all answers are the same, the answer is sure. When the recorded CPU is among the
//! others, the difference may be due to what was not recorded, and is counted apart.
//!
//! Whether a wakeup was synchronous is learned, see [`SyncFlags`]: best from a first pass that asks the
//! kernel that was recorded.

mod answer;
mod doubt;
mod log;
mod sync;

use fairlab_event::SchedEvent;
use fairlab_kernel::Kernel;
use fairlab_topology::{Domains, Machine};
use fairlab_units::{CpuMask, TaskId};

use crate::reconstruct::{Assumed, Reconstruction};
use log::Log;

pub use answer::{Agreement, Answer, Difference, Example, Met, Relation, Skipped, Why};
pub use doubt::{Doubt, Doubts};
pub use sync::SyncFlags;

/// Settings of a what-if question.
#[derive(Clone, Debug)]
pub struct WhatIfOptions {
    /// Times that no recording tells.
    pub assumed: Assumed,
    /// How many examples of each sort of difference are kept.
    pub keep: usize,
    /// What is known about synchronous wakeups: from [`Answer::sync`], when the kernel that was
    /// recorded has been asked before.
    pub sync: SyncFlags,
}

impl Default for WhatIfOptions {
    fn default() -> Self {
        Self {
            assumed: Assumed::default(),
            keep: 3,
            sync: SyncFlags::default(),
        }
    }
}

/// Asks one kernel. Hand it all events in time order.
#[derive(Debug)]
pub struct WhatIf<'a> {
    state: Reconstruction<'a>,
    log: Log,
}

impl<'a> WhatIf<'a> {
    /// Asks `kernel`, under which the domains of `machine` are `domains`.
    #[must_use]
    pub fn new(
        machine: &Machine,
        domains: &'a Domains,
        kernel: Kernel,
        options: WhatIfOptions,
    ) -> Self {
        Self {
            state: Reconstruction::new(machine, domains, kernel, options.assumed),
            log: Log::new(machine, options.keep, options.sync),
        }
    }

    /// From now on `task` may run on these CPUs only.
    pub fn allow(&mut self, task: TaskId, allowed: &CpuMask) {
        self.state.allow(task, allowed);
    }

    /// The task is a kernel thread that serves these CPUs, one as a rule.
    pub fn bind(&mut self, task: TaskId, allowed: &CpuMask) {
        self.state.bind(task, allowed);
    }

    /// Takes an event in.
    pub fn event(&mut self, event: &SchedEvent) {
        self.state.event(event, &mut self.log);
    }

    /// What there is to say.
    #[must_use]
    pub fn finish(mut self) -> Answer {
        self.state.end(&mut self.log);
        self.log.finish(&self.state)
    }
}
