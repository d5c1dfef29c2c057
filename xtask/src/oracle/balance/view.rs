//! A recorded snapshot as the balancer sees it.

use anyhow::Result;
use fairlab_policy::balance::{BalanceTask, BalanceView, CapacityLoss};
use fairlab_units::{CpuId, CpuMask, TaskId};

use super::record::MigrateRow;
use crate::oracle::decisions::record::CpuRow;
use crate::oracle::decisions::view::mask;

const KTHREAD: u64 = 0x20_0000;
const SCHED_IDLE: u32 = 5;

/// The mark "unchanged" of an estimated utilization.
const ESTIMATE_MARK: u64 = 1 << 31;

/// A task that was examined.
pub struct Task<'a> {
    pub row: &'a MigrateRow,
    pub allowed: CpuMask,
}

impl<'a> Task<'a> {
    pub fn of(row: &'a MigrateRow) -> Result<Self> {
        Ok(Self {
            row,
            allowed: mask(&row.allowed)?,
        })
    }
}

/// A snapshot, and the task at hand.
pub struct View<'a> {
    pub rows: &'a [CpuRow],
    pub active: CpuMask,
    pub jiffies: u64,
    pub task: Option<Task<'a>>,
}

impl<'a> View<'a> {
    pub fn new(rows: &'a [CpuRow], jiffies: u64) -> Self {
        let online = rows.iter().enumerate();
        let online = online.filter(|(_, row)| row.has(CpuRow::ONLINE));
        Self {
            rows,
            active: CpuMask::from_cpus(rows.len(), online.map(|(c, _)| CpuId::from_index(c))),
            jiffies,
            task: None,
        }
    }

    fn at(&self, cpu: CpuId) -> &CpuRow {
        &self.rows[cpu.index()]
    }

    fn the_task(&self) -> &Task<'a> {
        self.task.as_ref().expect("asked about a task without one")
    }
}

fn value(value: i64) -> u64 {
    value.max(0).unsigned_abs()
}

impl BalanceView for View<'_> {
    fn active(&self) -> &CpuMask {
        &self.active
    }

    fn jiffies(&self) -> u64 {
        self.jiffies
    }

    fn is_idle(&self, cpu: CpuId) -> bool {
        let row = self.at(cpu);
        row.has(CpuRow::IDLE_TASK) && row.nr_running == 0 && row.ttwu_pending == 0
    }

    fn has_pending_wakeup(&self, cpu: CpuId) -> bool {
        self.at(cpu).ttwu_pending != 0
    }

    fn is_sched_idle(&self, cpu: CpuId) -> bool {
        let row = self.at(cpu);
        row.nr_running != 0 && row.nr_running == row.cfs_idle_h_nr
    }

    fn nr_running(&self, cpu: CpuId) -> u32 {
        if let Some(task) = &self.task {
            if cpu.0 == task.row.src {
                return task.row.src_nr;
            }
            if cpu.0 == task.row.dst {
                return task.row.dst_nr;
            }
        }
        self.at(cpu).nr_running as u32
    }

    fn h_nr_queued(&self, cpu: CpuId) -> u32 {
        self.at(cpu).cfs_h_nr as u32
    }

    fn h_nr_runnable(&self, cpu: CpuId) -> u32 {
        self.at(cpu).cfs_h_nr_runnable as u32
    }

    fn load_avg(&self, cpu: CpuId) -> u64 {
        value(self.at(cpu).load_avg)
    }

    fn runnable_avg(&self, cpu: CpuId) -> u64 {
        value(self.at(cpu).runnable_avg)
    }

    fn util_avg(&self, cpu: CpuId) -> u64 {
        value(self.at(cpu).util_avg)
    }

    fn util_est(&self, cpu: CpuId) -> u64 {
        value(self.at(cpu).util_est)
    }

    fn misfit_load(&self, cpu: CpuId) -> u64 {
        value(self.at(cpu).misfit)
    }

    fn capacity_loss(&self, cpu: CpuId) -> CapacityLoss {
        CapacityLoss {
            rt: value(self.at(cpu).avg_rt_util),
            dl: value(self.at(cpu).avg_dl_util),
            ..CapacityLoss::default()
        }
    }

    fn nr_numa_running(&self, cpu: CpuId) -> u32 {
        self.at(cpu).nr_numa as u32
    }

    fn nr_preferred_running(&self, cpu: CpuId) -> u32 {
        self.at(cpu).nr_pref as u32
    }

    fn avg_idle(&self, cpu: CpuId) -> u64 {
        value(self.at(cpu).avg_idle)
    }

    fn clock_task(&self, _cpu: CpuId) -> u64 {
        self.the_task().row.clock_task
    }

    fn task(&self, _task: TaskId) -> BalanceTask<'_> {
        let Task { row, allowed } = self.the_task();
        BalanceTask {
            allowed,
            is_running: row.running != 0,
            is_delayed: row.delayed != 0,
            is_fair: true,
            is_sched_idle: row.policy == SCHED_IDLE,
            is_per_cpu_kthread: row.tflags & KTHREAD != 0 && row.nr_allowed == 1,
            is_blocked_donor: false,
            is_buddy: false,
            exec_start: row.exec_start,
            preferred_llc: None,
        }
    }

    fn is_group_queue_empty(&self, _task: TaskId, _cpu: CpuId) -> bool {
        self.the_task().row.dst_nr == 0
    }

    fn task_h_load(&self, _task: TaskId) -> u64 {
        value(self.the_task().row.h_load)
    }

    fn task_util(&self, _task: TaskId) -> u64 {
        self.the_task().row.util_avg
    }

    fn task_util_est(&self, _task: TaskId) -> u64 {
        let row = self.the_task().row;
        row.util_avg.max(row.util_est & !ESTIMATE_MARK)
    }
}
