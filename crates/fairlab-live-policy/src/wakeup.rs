//! A request as the policy sees it.

use fairlab_kernel::Feature;
use fairlab_policy::{
    Affine, CpuTally, Passes, Reason, ScanEnd, Step, Surroundings, Weights, WordRange, find_cpu,
    found_core,
};
use fairlab_units::CpuId;

use crate::config::{Config, NONE, WORDS};
use crate::request::{Request, WakeKind};

/// A request, and the machine on which it is asked.
pub(crate) struct Wakeup<'a> {
    pub config: &'a Config,
    pub request: &'a Request,
    /// What the task's recent CPU becomes.
    pub recent_cpu: u32,
}

impl Wakeup<'_> {
    #[inline(always)]
    fn is_idle(&self, cpu: CpuId) -> bool {
        Request::bit(&self.request.idle, cpu.0)
    }

    /// The words of the machine. Their number is known to a verifier, so that loops over them end.
    #[inline(always)]
    fn range(&self) -> WordRange {
        WordRange {
            first: 0,
            end: self.config.words as usize,
        }
    }

    /// A free thread of the core of `cpu` (`select_idle_smt`).
    #[inline(always)]
    fn idle_smt(&self, cpu: CpuId, span: &[u64; WORDS]) -> Option<CpuId> {
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

    /// The hint "some core is idle" is exact here, and budgets are without limit: 64 CPUs cost one
    /// look.
    #[inline(always)]
    fn search_cache(&mut self, target: CpuId) -> ScanEnd {
        let (config, request) = (self.config, self.request);
        let facts = config.of(target.0);
        if facts.llc == NONE {
            return ScanEnd::NO_CACHE;
        }
        let span = config.llc(facts.llc);
        let cluster = config.cluster(facts.cluster);
        let by_cluster =
            self.has(Feature::SIS_CLUSTER) && self.has_clusters() && facts.cluster != NONE;
        let passes = Passes {
            start: CpuId(target.0 + 1),
            near: if by_cluster { Some(self.range()) } else { None },
            range: self.range(),
        };
        let base = |pass: u8, i: usize| {
            let i = i & (WORDS - 1);
            passes.part(pass, span[i] & request.allowed[i], cluster[i])
        };
        if self.config.has_smt != 0 {
            let core = passes.first(|pass, i| base(pass, i) & request.idle_core[i & (WORDS - 1)]);
            if let Some((pass, cpu)) = core {
                return found_core(pass, cpu);
            }
            let prev = self.prev_cpu();
            if self.has(Feature::SIS_PREV_SMT)
                && self.share_cache(prev, target)
                && let Some(thread) = self.idle_smt(prev, span)
            {
                return ScanEnd::found(thread, Reason::PrevSmt);
            }
        }
        let mut tally = CpuTally::default();
        find_cpu(passes, u64::MAX, &mut tally, base, |i| {
            request.idle[i & (WORDS - 1)]
        })
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
