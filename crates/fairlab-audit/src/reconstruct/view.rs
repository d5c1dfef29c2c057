//! The rebuilt state as the policy sees a machine, with what is uncertain bent as it is wanted.

use fairlab_policy::{MachineView, OtherUtil, PerfDomain, Signals, TaskView};
use fairlab_runqueue::GroupId;
use fairlab_topology::Domains;
use fairlab_topology::domains::{CapacityId, DomainId, GroupCapacity, SharedId};
use fairlab_units::{CpuId, CpuMask, TaskId};

use super::Reconstruction;
use super::cpu::Curr;
use super::task::Slot;

/// What is to be seen otherwise than it was rebuilt, to find out whether an answer hangs on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bend {
    /// The idle-core hints say the opposite.
    pub flips_hints: bool,
    /// Scan budgets are smaller or larger.
    pub scan: Option<Scan>,
    /// CPUs of which nothing is known idle.
    pub unknown_idles: bool,
    /// Load, runnable and utilization averages of this CPU are lower by so many thousandths, those of
    /// all others higher.
    pub lower: Option<(CpuId, u32)>,
    /// The same the other way round.
    pub higher: Option<(CpuId, u32)>,
}

/// How scan budgets may be otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// Nothing may be looked at.
    None,
    /// Half as large.
    Less,
    /// Large enough for all of an LLC: how large it was at most, nothing tells.
    More,
}

impl Scan {
    /// The CPUs that may be looked at where it seemed to be `nr`.
    const fn cpus(self, nr: u32) -> u32 {
        const ALL: u32 = 1 << 16;
        match self {
            Self::None => 0,
            Self::Less => nr / 2,
            Self::More => ALL,
        }
    }

    /// The idle time that a budget is made of, where it seemed to be `avg`.
    const fn idle(self, avg: u64) -> u64 {
        const LONG: u64 = 1 << 40;
        match self {
            Self::None => 0,
            Self::Less => avg / 2,
            // Divided by what a probe costs, and that is at least a nanosecond.
            Self::More => LONG,
        }
    }
}

/// The view at one moment.
pub(crate) struct View<'r, 'a> {
    pub state: &'r Reconstruction<'a>,
    pub bend: Bend,
}

impl Reconstruction<'_> {
    pub(crate) fn view(&self, bend: Bend) -> View<'_, '_> {
        View { state: self, bend }
    }

    /// The task as a placement sees it.
    pub(crate) fn task_view(&self, slot: Slot) -> TaskView<'_> {
        let task = self.task(slot);
        let entity = &self.ents[slot.entity()];
        TaskView {
            id: slot.number(),
            cpu: task.cpu,
            allowed: task.allowed.as_ref().unwrap_or(&self.active),
            on_rq: entity.is_on_rq(),
            is_sched_idle: false,
            is_exiting: task.is_exiting,
            is_per_cpu_kthread: task.is_bound_kthread,
            signals: self.signals(slot),
            is_new: task.avg.last_update_time.is_never(),
            uclamp: (0, 1024),
            preferred_node: None,
            recent_used_cpu: task.recent_used_cpu,
            wakee_flips: task.wakee_flips,
            wakee_flip_decay_ts: task.wakee_flip_decay_ts,
            last_wakee: task.last_wakee,
        }
    }

    /// What runs on `cpu` as a placement sees it: a task, or the idle task.
    pub(crate) fn current_view(&self, cpu: CpuId) -> TaskView<'_> {
        let c = &self.cpus[cpu];
        if let Curr::Task(slot) = c.curr {
            return self.task_view(slot);
        }
        TaskView {
            wakee_flips: c.idle_task.wakee_flips,
            wakee_flip_decay_ts: c.idle_task.wakee_flip_decay_ts,
            last_wakee: c.idle_task.last_wakee,
            ..TaskView::idle_task(cpu, &self.active)
        }
    }

    /// The task that runs on `cpu`, if one is known to.
    pub(crate) fn running_on(&self, cpu: CpuId) -> Option<Slot> {
        match self.cpus[cpu].curr {
            Curr::Task(slot) => Some(slot),
            Curr::Idle | Curr::Unknown => None,
        }
    }

    /// Is it known what `cpu` runs?
    pub(crate) fn is_known(&self, cpu: CpuId) -> bool {
        self.cpus[cpu].curr != Curr::Unknown
    }

    /// CPUs that are online.
    pub(crate) const fn active(&self) -> &CpuMask {
        &self.active
    }

    /// Is there a CPU of which it is not known what it runs?
    pub(crate) fn has_unknown_cpus(&self) -> bool {
        self.active.iter().any(|cpu| !self.is_known(cpu))
    }

    /// Is there a CPU for the task whose queue is not known since events were lost?
    pub(crate) fn is_shaken_for(&self, slot: Slot) -> bool {
        let allowed = self.task(slot).allowed.as_ref();
        self.shaken.intersects(allowed.unwrap_or(&self.active))
    }

    /// How many thousandths the load averages that a placement compares may be wrong by: what was
    /// before the recording decays, and something is left for the moments of ticks.
    pub(crate) fn load_doubt(&self, slot: Slot, cpus: [CpuId; 2]) -> u32 {
        const LEAST: u32 = 10;
        const MOST: u32 = 1000;
        let mut since = Some(self.begin);
        for cpu in cpus {
            since = since.zip(self.cpus[cpu].known_since).map(|(a, b)| a.max(b));
        }
        let task = self.task(slot);
        if task.is_from_before {
            since = since.zip(task.known_since).map(|(a, b)| a.max(b));
        }
        let Some(since) = since else { return MOST };
        let periods = self.now.saturating_since(since).0 / fairlab_pelt::PERIOD_NS;
        let left = fairlab_pelt::decay(u64::from(MOST), periods) as u32;
        left.max(LEAST)
    }

    /// Could the sleeper still be queued, had its lag been otherwise? Its CPU has not idled since.
    pub(crate) fn may_be_delayed(&self, slot: Slot) -> bool {
        let task = self.task(slot);
        let c = &self.cpus[task.cpu];
        !self.is_delayed(slot)
            && matches!(c.curr, Curr::Task(_))
            && task
                .slept_at
                .zip(c.busy_since)
                .is_some_and(|(slept, busy)| busy <= slept)
    }

    /// Fair and other tasks that are queued on `cpu`, the running one included, and wakeups on
    /// their way there.
    pub(crate) fn nr_queued(&self, cpu: CpuId) -> u32 {
        let c = &self.cpus[cpu];
        c.nr_running() + c.pending.len() as u32
    }

    /// The name under which events know the task.
    pub(crate) fn id(&self, slot: Slot) -> TaskId {
        self.task(slot).id
    }

    /// The CPUs that idle, as far as is known.
    pub(crate) fn idle_cpus(&self) -> CpuMask {
        let idle = self.cpus.iter().filter(|(_, c)| c.is_idle());
        CpuMask::from_cpus(self.cpus.len(), idle.map(|(cpu, _)| cpu))
    }
}

impl View<'_, '_> {
    /// An average of `cpu`, bent.
    fn bent(&self, cpu: CpuId, average: u64) -> u64 {
        let bend = |average: u64, thousandths: u32, lower: bool| {
            let part = average.saturating_mul(u64::from(thousandths)) / 1000;
            if lower {
                average.saturating_sub(part)
            } else {
                average.saturating_add(part)
            }
        };
        if let Some((of, by)) = self.bend.lower {
            bend(average, by, of == cpu)
        } else if let Some((of, by)) = self.bend.higher {
            bend(average, by, of != cpu)
        } else {
            average
        }
    }
}

impl MachineView for View<'_, '_> {
    fn domains(&self) -> &Domains {
        self.state.domains
    }

    fn active(&self) -> &CpuMask {
        &self.state.active
    }

    fn jiffies(&self) -> u64 {
        self.state.jiffies
    }

    #[inline]
    fn is_idle(&self, cpu: CpuId) -> bool {
        let c = &self.state.cpus[cpu];
        c.is_idle() || self.bend.unknown_idles && c.curr == Curr::Unknown
    }

    #[inline]
    fn is_sched_idle(&self, cpu: CpuId) -> bool {
        self.state.cpus[cpu].is_sched_idle()
    }

    fn is_idle_without(&self, cpu: CpuId, task: TaskId) -> bool {
        let c = &self.state.cpus[cpu];
        let leaves_idle = match c.curr {
            Curr::Idle => true,
            Curr::Task(slot) => slot.number() == task,
            Curr::Unknown => self.bend.unknown_idles,
        };
        leaves_idle && c.pending.is_empty()
    }

    fn nr_running(&self, cpu: CpuId) -> u32 {
        self.state.cpus[cpu].nr_running()
    }

    fn h_nr_queued(&self, cpu: CpuId) -> u32 {
        self.state.cpus[cpu].class.rq.h_nr_queued()
    }

    fn h_nr_runnable(&self, cpu: CpuId) -> u32 {
        self.state.cpus[cpu].class.rq.h_nr_runnable()
    }

    fn load_avg(&self, cpu: CpuId) -> u64 {
        self.bent(cpu, self.state.cpus[cpu].class.avg.avg.load_avg)
    }

    fn runnable_load_avg(&self, cpu: CpuId) -> u64 {
        self.runnable_avg(cpu)
    }

    fn runnable_avg(&self, cpu: CpuId) -> u64 {
        self.bent(cpu, self.state.cpus[cpu].class.avg.avg.runnable_avg)
    }

    fn util_avg(&self, cpu: CpuId) -> u64 {
        self.bent(cpu, self.state.cpus[cpu].class.avg.avg.util_avg)
    }

    fn util_est(&self, cpu: CpuId) -> u64 {
        u64::from(self.state.cpus[cpu].class.avg.avg.util_est.enqueued)
    }

    fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.state.balance.capacity_of(cpu)
    }

    fn avg_idle(&self, cpu: CpuId) -> u64 {
        let avg = self.state.cpus[cpu].avg_idle;
        self.bend.scan.map_or(avg, |scan| scan.idle(avg))
    }

    fn wake_avg_idle(&self, cpu: CpuId) -> (u64, u64) {
        let (stamp, avg) = self.state.cpus[cpu].wake_avg_idle;
        (stamp, self.bend.scan.map_or(avg, |scan| scan.idle(avg)))
    }

    fn avg_scan_cost(&self, domain: DomainId) -> u64 {
        self.state.scan_cost[domain.0 as usize]
    }

    fn idle_stamp(&self, cpu: CpuId) -> u64 {
        self.state.cpus[cpu].idle_stamp
    }

    fn has_idle_cores(&self, shared: SharedId) -> bool {
        self.state.has_idle_cores[shared.0 as usize] != self.bend.flips_hints
    }

    fn nr_idle_scan(&self, shared: SharedId) -> u32 {
        let nr = self.state.balance.shared(shared).nr_idle_scan;
        self.bend.scan.map_or(nr, |scan| scan.cpus(nr))
    }

    fn group_capacity(&self, id: CapacityId) -> GroupCapacity {
        let group = self.state.balance.group(id);
        GroupCapacity {
            capacity: group.capacity,
            min: group.min_capacity,
            max: group.max_capacity,
        }
    }

    fn group_imbalance(&self, id: CapacityId) -> bool {
        self.state.balance.group(id).imbalance
    }

    fn perf_domains(&self) -> &[PerfDomain] {
        &self.state.perf
    }

    fn is_overutilized(&self) -> bool {
        self.state.balance.overutilized
    }

    fn other_util(&self, cpu: CpuId) -> OtherUtil {
        OtherUtil {
            rt: self.state.cpus[cpu].class.higher.util_avg,
            ..OtherUtil::default()
        }
    }

    fn node_of(&self, cpu: CpuId) -> usize {
        self.state.nodes[cpu]
    }

    fn task_h_load(&self, task: &TaskView<'_>, signals: &Signals) -> u64 {
        self.state.cpus[task.cpu]
            .class
            .task_h_load(GroupId::ROOT, signals.load_avg)
    }
}
