//! One placement decision: at a wakeup with either search, at a fork and at an exec.

use std::hint::black_box;

use fairlab_kernel::Kernel;
use fairlab_policy::{
    Context, IdleMasks, Outcome, Scratch, Signals, TaskView, WakeFlags, fast_task_rq_fair,
    select_task_rq_fair,
};
use fairlab_rng::Rng;
use fairlab_topology::Machine;
use fairlab_topology::domains::BuildError;
use fairlab_units::{CpuId, CpuMask, TaskId};

use super::State;

/// What asks for the placement, and what the machine looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// A wakeup on a busy CPU; the hint says that a core is idle. Idle are the given CPUs of the LLC.
    WakeupCore(Idle),
    /// The same without the hint, so that a single CPU is searched for.
    WakeupCpu(Idle),
    /// A fork, all CPUs alike: the walk stays local and visits every level.
    Fork,
    /// An exec in the same state.
    Exec,
    /// A fork, every CPU in a state of its own, drawn from this seed.
    ForkMixed(u64),
    /// An exec in such a state.
    ExecMixed(u64),
}

/// Which CPUs of the LLC are idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// None (with the hint set: it is stale).
    None,
    /// The last core (when a core is searched for) or the last CPU.
    Last,
    /// Every second core.
    Half,
}

impl Idle {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Last, Self::Half];

    /// As a table calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Last => "last",
            Self::Half => "half",
        }
    }
}

impl Case {
    /// Does the walk through the domains decide, and not a search near a CPU?
    #[must_use]
    pub const fn is_slow_path(self) -> bool {
        !matches!(self, Self::WakeupCore(_) | Self::WakeupCpu(_))
    }
}

/// A decision that can be made again and again.
#[derive(Debug)]
pub struct Decide {
    state: State,
    masks: IdleMasks,
    kernel: Kernel,
    context: Context,
    is_new: bool,
    signals: Signals,
    scratch: Scratch,
    /// CPUs of the LLC that is searched.
    pub llc_cpus: u32,
}

impl Decide {
    /// The decision of `case` by `kernel` on `machine`; it happens on the machine's first CPU.
    ///
    /// # Errors
    /// When the kernel refuses the machine.
    pub fn new(machine: &Machine, kernel: &Kernel, case: Case) -> Result<Self, BuildError> {
        let state = State::new(machine, kernel)?;
        let this = state.active().first().unwrap_or(CpuId(0));
        let llc = llc_of(&state, this);
        let idle_of = |idle, whole| idle_cpus(&state, &llc, this, idle, whole);
        let (idle, hint) = match case {
            Case::WakeupCore(idle) => (idle_of(idle, true), true),
            Case::WakeupCpu(idle) => (idle_of(idle, false), false),
            _ => (Vec::new(), false),
        };
        let state = match case {
            Case::WakeupCore(_) | Case::WakeupCpu(_) => state.with_idle(&idle).with_hint(hint),
            Case::Fork | Case::Exec => state.level(),
            Case::ForkMixed(seed) | Case::ExecMixed(seed) => {
                state.mixed(&mut Rng::stream(seed, "state of the machine"))
            }
        };
        let flags = match case {
            Case::WakeupCore(_) | Case::WakeupCpu(_) => WakeFlags::TTWU,
            Case::Fork | Case::ForkMixed(_) => WakeFlags::FORK,
            Case::Exec | Case::ExecMixed(_) => WakeFlags::EXEC,
        };
        let mut masks = IdleMasks::new(state.domains());
        for cpu in &idle {
            masks.on_idle_enter(*cpu);
        }
        let averages = Signals {
            load_avg: 200,
            runnable_avg: 120,
            util_avg: 100,
            util_est: 90,
        };
        Ok(Self {
            masks,
            kernel: *kernel,
            context: Context {
                this_cpu: this,
                prev_cpu: this,
                flags: WakeFlags(flags),
                in_task: true,
            },
            is_new: flags == WakeFlags::FORK,
            signals: if flags == WakeFlags::FORK {
                Signals::default()
            } else {
                averages
            },
            scratch: Scratch::new(state.domains().nr_cpu_ids()),
            llc_cpus: llc.weight() as u32,
            state,
        })
    }

    /// The same decision under another kernel whose domains are the same: a feature flipped.
    #[must_use]
    pub fn with_kernel(mut self, kernel: &Kernel) -> Self {
        self.kernel = *kernel;
        self
    }

    /// Decides `calls` times with the kernel's own scan.
    pub fn scan(&mut self, calls: u64) -> Option<Outcome> {
        let (p, current) = tasks(
            self.state.active(),
            &self.context,
            self.is_new,
            self.signals,
        );
        repeat(calls, || {
            select_task_rq_fair(
                &self.state,
                &self.kernel,
                &self.context,
                black_box(&p),
                &current,
                &mut self.scratch,
            )
        })
    }

    /// Decides `calls` times with the word-parallel search over idle masks.
    pub fn masks(&mut self, calls: u64) -> Option<Outcome> {
        let (p, current) = tasks(
            self.state.active(),
            &self.context,
            self.is_new,
            self.signals,
        );
        repeat(calls, || {
            fast_task_rq_fair(
                &self.state,
                &self.masks,
                &self.kernel,
                &self.context,
                black_box(&p),
                &current,
                &mut self.scratch,
            )
        })
    }
}

/// Decides `calls` times, each time for real.
fn repeat(calls: u64, mut decide: impl FnMut() -> Outcome) -> Option<Outcome> {
    let mut last = None;
    for _ in 0..calls {
        last = Some(black_box(decide()));
    }
    last
}

/// The task that is placed, and the one that runs where it is decided.
fn tasks<'a>(
    allowed: &'a CpuMask,
    context: &Context,
    is_new: bool,
    signals: Signals,
) -> (TaskView<'a>, TaskView<'a>) {
    let is_exec = context.flags.has(WakeFlags::EXEC);
    let task = |id| TaskView {
        id: TaskId(id),
        cpu: context.prev_cpu,
        allowed,
        on_rq: is_exec,
        is_sched_idle: false,
        is_exiting: false,
        is_per_cpu_kthread: false,
        signals,
        is_new,
        uclamp: (0, 1024),
        preferred_node: None,
        recent_used_cpu: context.prev_cpu,
        wakee_flips: 0,
        wakee_flip_decay_ts: 1000,
        last_wakee: None,
    };
    // At an exec the task places itself.
    (task(1), task(if is_exec { 1 } else { 2 }))
}

fn llc_of(state: &State, cpu: CpuId) -> CpuMask {
    let domains = state.domains();
    match domains.cached(cpu).llc {
        Some(llc) => domains.span(llc).clone(),
        None => CpuMask::from_cpus(domains.nr_cpu_ids(), [cpu]),
    }
}

/// The CPUs of `llc` that are idle; never `this`, on which the decision is made.
fn idle_cpus(state: &State, llc: &CpuMask, this: CpuId, idle: Idle, whole: bool) -> Vec<CpuId> {
    let domains = state.domains();
    // A core is known by its first thread.
    let core = |cpu: CpuId| domains.smt_mask(cpu).first().unwrap_or(cpu);
    let mut cores: Vec<CpuId> = llc.iter().map(core).collect();
    cores.sort_unstable();
    cores.dedup();
    let is_idle = |cpu: CpuId| match idle {
        Idle::None => false,
        Idle::Last if whole => cores.last() == Some(&core(cpu)) && core(cpu) != core(this),
        Idle::Last => llc.last() == Some(cpu),
        Idle::Half => cores
            .iter()
            .position(|c| *c == core(cpu))
            .is_some_and(|n| n % 2 == 1),
    };
    llc.iter()
        .filter(|cpu| *cpu != this && is_idle(*cpu))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::one_llc;
    use fairlab_kernel::Release;
    use fairlab_policy::Reason;

    #[test]
    fn both_searches_answer_alike_in_every_case_of_every_release() {
        for release in Release::ALL {
            let kernel = Kernel::of(release);
            for (cpus, threads) in [(8, 2), (64, 8), (33, 1)] {
                let machine = one_llc(cpus, threads).unwrap();
                for idle in Idle::ALL {
                    for case in [Case::WakeupCore(idle), Case::WakeupCpu(idle)] {
                        let mut decide = Decide::new(&machine, &kernel, case).unwrap();
                        assert_eq!(decide.llc_cpus, cpus);
                        assert_eq!(decide.scan(1), decide.masks(1), "{kernel} {cpus} {case:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_last_idle_core_is_found_by_looking_at_all_others() {
        let kernel = Kernel::of(Release::V6_12);
        let machine = one_llc(64, 2).unwrap();
        let case = Case::WakeupCore(Idle::Last);
        let outcome = Decide::new(&machine, &kernel, case)
            .unwrap()
            .masks(1)
            .unwrap();
        assert_eq!(outcome.decision.cpu, CpuId(62));
        assert_eq!(outcome.decision.reason, Reason::IdleCore);
        assert!(outcome.decision.cost.idle_tests > 30);
    }

    #[test]
    fn a_level_fork_stays_where_it_is_and_visits_every_level() {
        let kernel = Kernel::of(Release::V6_6);
        let machine = one_llc(40, 2).unwrap();
        let mut decide = Decide::new(&machine, &kernel, Case::Fork).unwrap();
        let outcome = decide.scan(3).unwrap();
        assert_eq!(outcome.decision.cpu, CpuId(0));
        // The LLC, then the core.
        assert_eq!(outcome.decision.cost.group_cpus, 40 + 2);
    }
}
