//! A recorded snapshot as the policy sees it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use fairlab_kernel::Kernel;
use fairlab_pelt::{EntityState, PeltTime, SchedAvg, UtilEst};
use fairlab_policy::{Context, MachineView, Signals, TaskView, WakeFlags};
use fairlab_topology::domains::{
    CapacityId, DomainFlags, DomainSpec, Domains, DomainsBuilder, GroupCapacity, GroupSpec,
    SharedId,
};
use fairlab_units::{CpuId, CpuMask, TaskId};

use super::record::{CpuRow, DomainRow, Record, Task};

/// CPU numbers beyond this are taken for damage.
const LIMIT: usize = 8192;

/// `PF_EXITING`, `PF_KTHREAD`, and the policy number of SCHED_IDLE.
const EXITING: u64 = 0x4;
const KTHREAD: u64 = 0x20_0000;
const SCHED_IDLE: u32 = 5;

/// Bits of `preempt_count` that are set while serving an interrupt.
const IN_INTERRUPT: u64 = 0x00ff_0100;

/// Reads a recorded mask.
pub fn mask(text: &str) -> Result<CpuMask> {
    CpuMask::parse_hex(text, LIMIT).with_context(|| format!("mask {text:?}"))
}

fn flags(text: &str, kernel: &Kernel) -> Result<DomainFlags> {
    let digits = text.trim_start_matches("0x");
    let bits = u32::from_str_radix(digits, 16).with_context(|| format!("flags {text:?}"))?;
    Ok(DomainFlags::from_kernel_bits(bits, kernel))
}

/// The domains as recorded in `path`, for CPU numbers below `nr_cpu_ids`.
pub fn read_domains(path: &Path, kernel: &Kernel, nr_cpu_ids: usize) -> Result<Domains> {
    add_domains(path, kernel, DomainsBuilder::new(nr_cpu_ids))
}

/// The same, with what domains hide: the boot's machine file tells the SMT siblings of isolated
/// threads, and the rows of a decision tell the LLC of CPUs without domains.
pub fn read_domains_of_boot(
    path: &Path,
    machine: &serde_json::Value,
    kernel: &Kernel,
    rows: &[CpuRow],
) -> Result<Domains> {
    let mut builder = DomainsBuilder::new(rows.len());
    for (cpu, row) in rows.iter().enumerate() {
        let id = CpuId::from_index(cpu);
        let siblings = &machine["inputs"]["cpus"][cpu.to_string()]["topology"];
        if let Some(list) = siblings["thread_siblings_list"].as_str() {
            let threads = CpuMask::parse_list(list, LIMIT)
                .with_context(|| format!("thread siblings of CPU {cpu}"))?;
            builder.smt(id, threads)?;
        }
        builder.llc(id, u32::try_from(row.llc_id).unwrap_or(u32::MAX), 1)?;
    }
    add_domains(path, kernel, builder)
}

fn add_domains(path: &Path, kernel: &Kernel, mut builder: DomainsBuilder) -> Result<Domains> {
    let mut chains: BTreeMap<u32, Vec<DomainRow>> = BTreeMap::new();
    super::for_each_line(path, |line| {
        let row: DomainRow = serde_json::from_str(line)?;
        chains.entry(row.cpu).or_default().push(row);
        Ok(true)
    })?;
    for (cpu, mut rows) in chains {
        rows.sort_by_key(|row| row.idx);
        let mut chain = Vec::new();
        for row in &rows {
            let mut groups = Vec::new();
            for group in &row.groups {
                groups.push(GroupSpec {
                    span: mask(&group.span)?,
                    balance_mask: mask(&group.balance_mask)?,
                    cores: group.cores,
                    flags: flags(&group.flags, kernel)?,
                    asym_prefer_cpu: CpuId(u32::try_from(group.asym_prefer_cpu).unwrap_or(0)),
                    capacity: GroupCapacity {
                        capacity: group.capacity,
                        min: group.min_capacity,
                        max: group.max_capacity,
                    },
                });
            }
            chain.push(DomainSpec {
                name: &row.name,
                level: row.level,
                span: mask(&row.span)?,
                flags: flags(&row.flags, kernel)?,
                imbalance_pct: row.imbalance_pct,
                cache_nice_tries: row.cache_nice_tries,
                busy_factor: row.busy_factor,
                min_interval: row.min_interval,
                max_interval: row.max_interval,
                imb_numa_nr: row.imb_numa_nr,
                has_shared: row.has_shared != 0,
                groups,
            });
        }
        let cpu = CpuId(cpu);
        builder.chain(cpu, chain)?;
        if let Some(row) = rows.first() {
            builder.llc(
                cpu,
                u32::try_from(row.llc_id).unwrap_or(u32::MAX),
                row.llc_size,
            )?;
        }
    }
    Ok(builder.build(kernel))
}

/// A snapshot, with room for guesses at what was not recorded.
pub struct Snapshot<'a> {
    pub record: &'a Record,
    pub kernel: &'a Kernel,
    pub domains: &'a Domains,
    pub active: CpuMask,
    /// Group capacities and imbalance flags, where this CPU's chain shows them.
    groups: BTreeMap<CapacityId, (GroupCapacity, bool)>,
    /// Groups whose imbalance flag is assumed to be set.
    pub imbalanced: Vec<CapacityId>,
    /// What `jiffies` had advanced by when it was read.
    pub jiffies_later: u64,
}

impl<'a> Snapshot<'a> {
    pub fn new(record: &'a Record, kernel: &'a Kernel, domains: &'a Domains) -> Result<Self> {
        let online = record.cpus.iter().enumerate();
        let active = CpuMask::from_cpus(
            record.cpus.len(),
            online
                .filter(|(_, row)| row.has(CpuRow::ONLINE))
                .map(|(cpu, _)| CpuId::from_index(cpu)),
        );
        let mut groups = BTreeMap::new();
        for (idx, domain) in domains.chain(CpuId(record.this_cpu)).enumerate() {
            for group in domains.groups(domain) {
                let span = domains.mask(group.span);
                for row in record.groups.iter().filter(|row| row.0 == idx) {
                    if mask(&row.1)? == *span {
                        let capacity = GroupCapacity {
                            capacity: row.2,
                            min: row.3,
                            max: row.4,
                        };
                        groups.insert(group.capacity, (capacity, row.5 != 0));
                    }
                }
            }
        }
        Ok(Self {
            record,
            kernel,
            domains,
            active,
            groups,
            imbalanced: Vec::new(),
            jiffies_later: 0,
        })
    }

    fn row(&self, cpu: CpuId) -> &CpuRow {
        &self.record.cpus[cpu.index()]
    }

    fn value(value: i64) -> u64 {
        value.max(0).unsigned_abs()
    }

    /// The recorded LLC of a shared object: has_idle_cores, nr_idle_scan, ...
    fn llc(&self, shared: SharedId) -> Option<&[i64]> {
        let owner = (0..self.domains.nr_cpu_ids())
            .map(CpuId::from_index)
            .find(|cpu| self.domains.cached(*cpu).llc_shared == Some(shared))?;
        let id = self.row(owner).llc_id;
        self.record.llc.get(&id.to_string()).map(Vec::as_slice)
    }

    fn recorded_task(&self, id: TaskId) -> &Task {
        if id.0 == self.record.p.pid {
            &self.record.p
        } else {
            &self.record.cur
        }
    }

    /// The wakee's signals aged to the last update of its queue.
    pub fn aged(&self, task: &Task) -> SchedAvg {
        let mut avg = sched_avg(task);
        let now = PeltTime(Self::value(self.row(CpuId(task.cpu)).avg_lut));
        let state = EntityState::task(task.weight, task.se_on_rq != 0, true);
        avg.update_blocked(self.kernel, now, &state);
        avg
    }

    pub fn context(&self) -> Context {
        Context {
            this_cpu: CpuId(self.record.this_cpu),
            prev_cpu: CpuId(self.record.prev_cpu),
            flags: WakeFlags(self.record.wake_flags),
            in_task: self.record.preempt_count & IN_INTERRUPT == 0,
        }
    }

    pub fn task<'b>(&self, task: &Task, allowed: &'b CpuMask, is_waker: bool) -> TaskView<'b> {
        let last_wakee = is_waker && self.record.cur_last_wakee_is_p != 0;
        TaskView {
            id: TaskId(task.pid),
            cpu: CpuId(task.cpu),
            allowed,
            on_rq: task.on_rq == 1,
            is_sched_idle: task.policy == SCHED_IDLE,
            is_exiting: task.tflags & EXITING != 0,
            is_per_cpu_kthread: task.tflags & KTHREAD != 0 && task.nr_cpus_allowed == 1,
            signals: signals(&sched_avg(task), self.kernel),
            is_new: task.lut == 0,
            uclamp: (0, 1024),
            preferred_node: usize::try_from(task.numa_nid).ok(),
            recent_used_cpu: CpuId(u32::try_from(task.recent_used_cpu).unwrap_or(u32::MAX)),
            wakee_flips: task.wakee_flips,
            wakee_flip_decay_ts: task.wakee_ts,
            last_wakee: last_wakee.then_some(TaskId(self.record.p.pid)),
        }
    }
}

fn sched_avg(task: &Task) -> SchedAvg {
    SchedAvg {
        last_update_time: PeltTime(task.lut),
        load_sum: task.load_sum,
        runnable_sum: task.runnable_sum,
        util_sum: task.util_sum,
        period_contrib: task.period_contrib,
        load_avg: task.load_avg,
        runnable_avg: task.runnable_avg,
        util_avg: task.util_avg,
        util_est: UtilEst {
            enqueued: task.util_est,
            ewma: task.util_est_ewma,
        },
    }
}

fn signals(avg: &SchedAvg, kernel: &Kernel) -> Signals {
    Signals {
        load_avg: avg.load_avg,
        runnable_avg: avg.runnable_avg,
        util_avg: avg.util_avg,
        util_est: avg.util_est.of_task(kernel),
    }
}

impl MachineView for Snapshot<'_> {
    fn domains(&self) -> &Domains {
        self.domains
    }

    fn active(&self) -> &CpuMask {
        &self.active
    }

    fn jiffies(&self) -> u64 {
        self.record.jiffies + self.jiffies_later
    }

    fn is_idle(&self, cpu: CpuId) -> bool {
        let row = self.row(cpu);
        row.has(CpuRow::IDLE_TASK) && row.nr_running == 0 && row.ttwu_pending == 0
    }

    fn is_sched_idle(&self, cpu: CpuId) -> bool {
        let row = self.row(cpu);
        row.nr_running != 0 && row.nr_running == row.cfs_idle_h_nr
    }

    fn is_idle_without(&self, cpu: CpuId, task: TaskId) -> bool {
        let row = self.row(cpu);
        let is_own = row.curr_pid == i64::from(task.0);
        (row.has(CpuRow::IDLE_TASK) || is_own) && row.ttwu_pending == 0
    }

    fn nr_running(&self, cpu: CpuId) -> u32 {
        self.row(cpu).nr_running as u32
    }

    fn h_nr_queued(&self, cpu: CpuId) -> u32 {
        self.row(cpu).cfs_h_nr as u32
    }

    fn h_nr_runnable(&self, cpu: CpuId) -> u32 {
        self.row(cpu).cfs_h_nr_runnable as u32
    }

    fn load_avg(&self, cpu: CpuId) -> u64 {
        Self::value(self.row(cpu).load_avg)
    }

    fn runnable_avg(&self, cpu: CpuId) -> u64 {
        Self::value(self.row(cpu).runnable_avg)
    }

    fn util_avg(&self, cpu: CpuId) -> u64 {
        Self::value(self.row(cpu).util_avg)
    }

    fn util_est(&self, cpu: CpuId) -> u64 {
        Self::value(self.row(cpu).util_est)
    }

    fn capacity_of(&self, cpu: CpuId) -> u64 {
        Self::value(self.row(cpu).cpu_capacity)
    }

    fn avg_idle(&self, cpu: CpuId) -> u64 {
        Self::value(self.row(cpu).avg_idle)
    }

    fn idle_stamp(&self, cpu: CpuId) -> u64 {
        Self::value(self.row(cpu).idle_stamp)
    }

    fn idle_exit_latency(&self, cpu: CpuId) -> Option<u32> {
        u32::try_from(self.row(cpu).idle_exit_latency).ok()
    }

    fn has_idle_cores(&self, shared: SharedId) -> bool {
        self.llc(shared).is_some_and(|llc| llc.first() == Some(&1))
    }

    fn nr_idle_scan(&self, shared: SharedId) -> u32 {
        let llc = self.llc(shared).and_then(|llc| llc.get(1));
        llc.map_or(0, |nr| u32::try_from(*nr).unwrap_or(0))
    }

    fn group_capacity(&self, id: CapacityId) -> GroupCapacity {
        if let Some((capacity, _)) = self.groups.get(&id) {
            return *capacity;
        }
        // Groups of other CPUs' domains are not in the record; sums of CPU capacities agree with
        // every recorded group.
        let group = (0..self.domains.domains().len() as u32)
            .flat_map(|d| self.domains.groups(fairlab_topology::domains::DomainId(d)))
            .find(|group| group.capacity == id);
        let Some(group) = group else {
            return self.domains.capacity(id);
        };
        let span = self.domains.mask(group.span);
        let capacities = || span.iter().map(|cpu| self.capacity_of(cpu));
        GroupCapacity {
            capacity: capacities().sum(),
            min: capacities().min().unwrap_or(0),
            max: capacities().max().unwrap_or(0),
        }
    }

    fn group_imbalance(&self, id: CapacityId) -> bool {
        self.imbalanced.contains(&id) || self.groups.get(&id).is_some_and(|(_, flag)| *flag)
    }

    fn synced(&self, task: &TaskView<'_>) -> Signals {
        signals(&self.aged(self.recorded_task(task.id)), self.kernel)
    }

    fn task_h_load(&self, task: &TaskView<'_>, signals: &Signals) -> u64 {
        let task = self.recorded_task(task.id);
        let mut h_load = 0;
        // From the root down: each queue's share was stored this jiffy, or follows from its parent's.
        let mut below: Option<&[u64; 5]> = None;
        for level in task.chain.iter().rev() {
            let [_, _, load_avg, stored, stamp] = *level;
            h_load = if stamp == self.jiffies() {
                stored
            } else {
                match below {
                    None => load_avg,
                    Some([_, entity_load, parent_load, ..]) => {
                        h_load * entity_load / (parent_load + 1)
                    }
                }
            };
            below = Some(level);
        }
        let queue_load = task.chain.first().map_or(0, |level| level[2]);
        signals.load_avg * h_load / (queue_load + 1)
    }

    fn is_overutilized(&self) -> bool {
        self.record.overutilized != 0
    }
}
