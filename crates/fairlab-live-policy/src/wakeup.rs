//! A request as the policy sees it.

use fairlab_kernel::Feature;
use fairlab_policy::{Affine, Reason, ScanEnd, Step, Surroundings, Weights};
use fairlab_units::CpuId;

use crate::config::{Config, NONE, WORDS};
use crate::request::{Request, WakeKind};

/// A request, and the machine on which it is asked.
pub(crate) struct Wakeup<'a> {
    pub config: &'a Config,
    pub request: &'a Request,
    /// What the task's recent CPU becomes.
    pub recent_cpu: u32,
    /// The CPU around which the last-level cache has to be searched, or [`NONE`].
    pub search_around: u32,
}

impl<'a> Wakeup<'a> {
    #[inline(always)]
    pub(crate) const fn new(config: &'a Config, request: &'a Request) -> Self {
        Self {
            config,
            request,
            recent_cpu: NONE,
            search_around: NONE,
        }
    }

    #[inline(always)]
    fn is_idle(&self, cpu: CpuId) -> bool {
        Request::bit(&self.request.idle, cpu.0)
    }

    /// A free thread of the core of `cpu` (`select_idle_smt`).
    #[inline(always)]
    pub(crate) fn idle_smt(&self, cpu: CpuId, span: &[u64; WORDS]) -> Option<CpuId> {
        let free = self.config.thread_of(cpu.0, |thread| {
            Request::bit(&self.request.allowed, thread)
                && (!self.has(Feature::SIS_SMT_DOMAIN) || Request::bit(span, thread))
                && (self.has(Feature::SIS_SMT_SELF) || thread != cpu.0)
                && Request::bit(&self.request.idle, thread)
        });
        free.map(CpuId)
    }
}

impl Surroundings for Wakeup<'_> {
    #[inline(always)]
    fn has(&self, feature: Feature) -> bool {
        self.config.features.has(feature)
    }

    #[inline(always)]
    fn this_cpu(&self) -> CpuId {
        CpuId(self.request.this_cpu)
    }

    #[inline(always)]
    fn prev_cpu(&self) -> CpuId {
        CpuId(self.request.prev_cpu)
    }

    #[inline(always)]
    fn is_available(&mut self, _step: Step, cpu: CpuId) -> bool {
        self.is_idle(cpu)
    }

    /// CPUs that run SCHED_IDLE tasks only do not count as idle: the kernel's idle masks, which are
    /// all that a scheduler of its own sees, do not have them.
    #[inline(always)]
    fn is_usable(&mut self, _step: Step, cpu: CpuId) -> bool {
        self.is_idle(cpu)
    }

    #[inline(always)]
    fn is_allowed(&self, cpu: CpuId) -> bool {
        Request::bit(&self.request.allowed, cpu.0)
    }

    /// Differs from Linux: there is no utilization to compare with a capacity, since the kernel keeps
    /// none for tasks of another class. What is tested instead is what the kernel's own class need
    /// not test here, that the task may run there.
    #[inline(always)]
    fn suits(&mut self, cpu: CpuId) -> bool {
        self.is_allowed(cpu)
    }

    #[inline(always)]
    fn is_cpu(&self, cpu: CpuId) -> bool {
        cpu.0 < self.config.cpus
    }

    #[inline(always)]
    fn share_cache(&self, one: CpuId, other: CpuId) -> bool {
        let (one_llc, other_llc) = (self.config.of(one.0).llc, self.config.of(other.0).llc);
        one == other || (one_llc == other_llc && one_llc != NONE)
    }

    #[inline(always)]
    fn share_resources(&self, one: CpuId, other: CpuId) -> bool {
        one == other || self.config.of(one.0).share == self.config.of(other.0).share
    }

    #[inline(always)]
    fn has_clusters(&self) -> bool {
        self.config.has_clusters != 0
    }

    #[inline(always)]
    fn nr_running(&self) -> u32 {
        self.request.nr_running
    }

    /// No dequeue is delayed outside the kernel's own class.
    #[inline(always)]
    fn nr_delayed(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn is_woken_by_kthread(&self) -> bool {
        self.request.is(WakeKind::BY_KTHREAD)
            && !(self.request.is(WakeKind::INTERRUPT)
                && self.has(Feature::SIS_KTHREAD_TASK_CONTEXT))
    }

    #[inline(always)]
    fn recent_cpu(&self) -> CpuId {
        CpuId(self.request.recent_cpu)
    }

    #[inline(always)]
    fn set_recent_cpu(&mut self, cpu: CpuId) {
        self.recent_cpu = cpu.0;
    }

    /// Loads are weights of runnable tasks at this moment, or decayed averages where the request says
    /// so.
    #[inline(always)]
    fn weights(&mut self, sync: bool) -> Weights {
        let request = self.request;
        let facts = self.config.of(request.this_cpu);
        Weights {
            this_load: request.this_load,
            prev_load: request.prev_load,
            waker: if sync {
                Some(request.waker_weight)
            } else {
                None
            },
            // The wakee sleeps, so that no sum of runnable weights counts it: neither side has to give.
            wakee: if request.is(WakeKind::DECAYED) {
                request.wakee_weight
            } else {
                0
            },
            this_capacity: u64::from(facts.capacity),
            prev_capacity: u64::from(self.config.of(request.prev_cpu).capacity),
            imbalance_pct: facts.imbalance_pct,
            biased: self.has(Feature::WA_BIAS),
        }
    }

    #[inline(always)]
    fn note_remembered(&mut self, _step: Step, _cpu: CpuId) {}

    #[inline(always)]
    fn note_weights(&mut self, _this: i64, _prev: i64) {}

    #[inline(always)]
    fn search_by_capacity(&mut self, _target: CpuId) -> Option<(CpuId, Reason)> {
        None
    }

    /// Only notes that there is something to search: `place` does it when all that comes before has been
    /// decided, in one place.
    #[inline(always)]
    fn search_cache(&mut self, target: CpuId) -> ScanEnd {
        if self.config.of(target.0).llc == NONE {
            return ScanEnd::NO_CACHE;
        }
        self.search_around = target.0;
        ScanEnd::NOTHING
    }

    /// No release has it, and live mode does not offer it.
    #[inline(always)]
    fn search_node(&mut self, _target: CpuId) -> Option<CpuId> {
        None
    }

    /// No release has it, and live mode does not offer it.
    #[inline(always)]
    fn idler_cache(&mut self) -> Option<Affine> {
        None
    }
}
