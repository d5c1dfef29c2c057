//! The state of one decision, shared by its parts.

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::Domains;
use fairlab_topology::domains::SharedId;
use fairlab_units::{CpuId, CpuMask};

use crate::explain::{Event, Explain, ProbeState, Step};
use crate::idle_masks::IdleMasks;
use crate::{Affine, Context, Cost, Effects, MachineView, Scratch, Signals, TaskView};

/// One decision under way.
pub(crate) struct Search<'a, V, E> {
    pub view: &'a V,
    pub domains: &'a Domains,
    pub kernel: &'a Kernel,
    pub ctx: &'a Context,
    pub p: &'a TaskView<'a>,
    pub current: &'a TaskView<'a>,
    pub scratch: &'a mut Scratch,
    pub explain: &'a mut E,
    /// Idle masks that say what the view says; with them scans are word-parallel.
    pub masks: Option<&'a IdleMasks>,
    /// Signals of `p`, aged once a part of the decision has asked for it.
    pub signals: Signals,
    /// Does a CPU that runs only SCHED_IDLE tasks count as usable for `p`?
    pub takes_sched_idle: bool,
    /// `imbalance_pct` of the domain in which `wake_affine` compares loads.
    pub affine_imbalance_pct: u32,
    pub cost: Cost,
    pub effects: Effects,
    pub affine: Option<Affine>,
}

impl<'a, V: MachineView, E: Explain> Search<'a, V, E> {
    pub fn new(
        view: &'a V,
        kernel: &'a Kernel,
        ctx: &'a Context,
        p: &'a TaskView<'a>,
        current: &'a TaskView<'a>,
        scratch: &'a mut Scratch,
        explain: &'a mut E,
    ) -> Self {
        Self {
            view,
            domains: view.domains(),
            kernel,
            ctx,
            p,
            current,
            scratch,
            explain,
            masks: None,
            signals: p.signals,
            takes_sched_idle: !(p.is_sched_idle && kernel.has(Feature::SIS_SCHED_IDLE_STRICT)),
            affine_imbalance_pct: 100,
            cost: Cost::default(),
            effects: Effects::default(),
            affine: None,
        }
    }

    #[inline]
    pub fn has(&self, feature: Feature) -> bool {
        self.kernel.has(feature)
    }

    /// Ages the signals of `p` (`sync_entity_load_avg`).
    pub fn sync_signals(&mut self) {
        if !self.effects.synced {
            self.signals = self.view.synced(self.p);
            self.effects.synced = true;
        }
    }

    /// `available_idle_cpu`.
    #[inline]
    pub fn is_available(&mut self, step: Step, cpu: CpuId) -> bool {
        let idle = self.view.is_available_idle(cpu);
        self.note_probe(step, cpu, ProbeState::idle_or_busy(idle));
        idle
    }

    /// Idle, or as good as idle for `p`.
    #[inline]
    pub fn is_usable(&mut self, step: Step, cpu: CpuId) -> bool {
        self.probe(step, cpu) != ProbeState::Busy
    }

    /// Reads the idle state of `cpu` once.
    #[inline]
    pub fn probe(&mut self, step: Step, cpu: CpuId) -> ProbeState {
        let state = if self.view.is_available_idle(cpu) {
            ProbeState::Idle
        } else if self.takes_sched_idle && self.view.is_sched_idle(cpu) {
            ProbeState::SchedIdle
        } else {
            ProbeState::Busy
        };
        self.note_probe(step, cpu, state);
        state
    }

    /// Counts and tells a look at `cpu`.
    #[inline]
    pub fn note_probe(&mut self, step: Step, cpu: CpuId, state: ProbeState) {
        self.cost.idle_tests += 1;
        self.explain.note(Event::Probe { step, cpu, state });
    }

    /// Are all other threads of the core of `cpu` idle (`is_core_idle`)?
    pub fn is_core_idle(&mut self, cpu: CpuId) -> bool {
        let threads = self.domains.smt_mask(cpu);
        for thread in threads.iter().filter(|t| *t != cpu) {
            let idle = self.view.is_idle(thread);
            self.note_probe(Step::CoreMates, thread, ProbeState::idle_or_busy(idle));
            if !idle {
                return false;
            }
        }
        true
    }

    /// The load that placement compares: `runnable_load_avg` where the kernel reads that.
    #[inline]
    pub fn load(&self, cpu: CpuId) -> u64 {
        if self.has(Feature::LOAD_RUNNABLE_LOAD) {
            self.view.runnable_load_avg(cpu)
        } else {
            self.view.load_avg(cpu)
        }
    }

    /// `task_h_load` of `p`.
    pub fn h_load(&self) -> u64 {
        self.view.task_h_load(self.p, &self.signals)
    }

    /// The shared object of the LLC of `cpu`.
    #[inline]
    pub fn llc_shared(&self, cpu: CpuId) -> Option<SharedId> {
        self.domains.cached(cpu).llc_shared
    }

    /// The hint of the LLC of `cpu`; unset where there is no shared object (`test_idle_cores`).
    #[inline]
    pub fn has_idle_cores(&self, cpu: CpuId) -> bool {
        self.domains.switches().smt_present
            && self
                .llc_shared(cpu)
                .is_some_and(|shared| self.view.has_idle_cores(shared))
    }

    /// Clears the hint of the LLC of `cpu`.
    pub fn clear_idle_cores(&mut self, cpu: CpuId) {
        self.effects.clear_idle_cores = self.llc_shared(cpu);
    }
}

/// A walk over a mask in wrap order that sees CPUs vanish from the mask while it walks.
///
/// From `start` up, then from 0 up to `start` (`for_each_cpu_wrap`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrapWalk {
    start: CpuId,
    next: CpuId,
    wrapped: bool,
}

impl WrapWalk {
    pub const fn from(start: CpuId) -> Self {
        Self {
            start,
            next: start,
            wrapped: false,
        }
    }

    /// The next CPU that is in `mask` now.
    #[inline]
    pub fn next(&mut self, mask: &CpuMask) -> Option<CpuId> {
        let mut cpu = mask.next_from(self.next);
        if cpu.is_none() && !self.wrapped {
            self.wrapped = true;
            cpu = mask.first();
        }
        if self.wrapped {
            cpu = cpu.filter(|c| *c < self.start);
        }
        let cpu = cpu?;
        self.next = CpuId(cpu.0 + 1);
        Some(cpu)
    }
}
