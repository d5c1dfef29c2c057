//! The recorded form of a decision.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One call of `select_task_rq_fair()`.
#[derive(Deserialize)]
pub struct Record {
    pub seq: u64,
    pub t: u64,
    pub jiffies: u64,
    pub this_cpu: u32,
    pub prev_cpu: u32,
    pub wake_flags: u32,
    pub ret: u32,
    pub preempt_count: u64,
    pub changed: String,
    pub overutilized: i64,
    pub p: Task,
    pub cur: Task,
    pub cur_last_wakee_is_p: u8,
    pub cpus: Vec<CpuRow>,
    /// By LLC id: has_idle_cores, nr_idle_scan, and more.
    pub llc: BTreeMap<String, Vec<i64>>,
    #[serde(default)]
    pub groups: Vec<GroupRow>,
    #[serde(default)]
    pub slow: Vec<SlowStep>,
    pub after: After,
}

/// Domain index, span, capacity, smallest and largest capacity, and the imbalance flag.
#[derive(Deserialize)]
pub struct GroupRow(
    pub usize,
    pub String,
    pub u64,
    pub u64,
    pub u64,
    #[serde(default)] pub u8,
);

/// Domain level, CPU, span of the chosen group.
#[derive(Deserialize)]
pub struct SlowStep(pub u32, pub u32, pub Option<String>);

#[derive(Deserialize)]
pub struct After {
    /// recent_used_cpu, then the signals.
    pub p: Vec<u64>,
    pub has_idle_cores: String,
    pub cur_wakee_flips: u32,
}

#[derive(Deserialize)]
pub struct Task {
    pub pid: u32,
    pub tflags: u64,
    pub policy: u32,
    pub nr_cpus_allowed: u32,
    pub recent_used_cpu: i64,
    pub wakee_flips: u32,
    pub wakee_ts: u64,
    pub numa_nid: i64,
    pub on_rq: u8,
    pub se_on_rq: u8,
    pub cpu: u32,
    pub weight: u64,
    pub lut: u64,
    pub load_sum: u64,
    pub runnable_sum: u64,
    pub util_sum: u32,
    pub period_contrib: u32,
    pub load_avg: u64,
    pub runnable_avg: u64,
    pub util_avg: u64,
    pub util_est: u32,
    pub util_est_ewma: u32,
    pub comm: String,
    pub cpus_allowed: String,
    /// From the task up: entity weight, entity load_avg, queue load_avg, queue h_load, and when that
    /// was stored.
    pub chain: Vec<[u64; 5]>,
}

/// The columns of a row of `cpus`.
#[derive(Deserialize)]
#[allow(
    dead_code,
    reason = "a row is read by position, so every column has its place"
)]
pub struct CpuRow {
    pub flags: i64,
    pub nr_running: i64,
    pub ttwu_pending: i64,
    pub cfs_nr: i64,
    pub cfs_h_nr: i64,
    pub cfs_h_nr_runnable: i64,
    pub cfs_idle_h_nr: i64,
    pub nr_numa: i64,
    pub nr_pref: i64,
    pub curr_pid: i64,
    pub cpu_capacity: i64,
    pub load_avg: i64,
    pub runnable_avg: i64,
    pub util_avg: i64,
    pub util_est: i64,
    pub avg_lut: i64,
    pub cfs_weight: i64,
    pub h_load: i64,
    pub h_load_ts: i64,
    pub clock: i64,
    pub clock_task: i64,
    pub clock_pelt: i64,
    pub idle_stamp: i64,
    pub avg_idle: i64,
    pub misfit: i64,
    pub rt_nr: i64,
    pub dl_nr: i64,
    pub avg_rt_util: i64,
    pub avg_dl_util: i64,
    pub idle_exit_latency: i64,
    pub removed_nr: i64,
    pub llc_id: i64,
}

impl CpuRow {
    pub const IDLE_TASK: i64 = 1;
    pub const ONLINE: i64 = 4;

    pub fn has(&self, flag: i64) -> bool {
        self.flags & flag != 0
    }
}

/// A line of `domains.jsonl.zst`.
#[derive(Deserialize)]
pub struct DomainRow {
    pub cpu: u32,
    pub idx: usize,
    pub name: String,
    pub span: String,
    pub flags: String,
    pub level: u32,
    pub imbalance_pct: u32,
    pub busy_factor: u32,
    pub cache_nice_tries: u32,
    pub imb_numa_nr: u32,
    pub min_interval: u32,
    pub max_interval: u32,
    pub llc_id: i64,
    pub llc_size: u32,
    pub has_shared: u8,
    pub groups: Vec<DomainGroup>,
}

#[derive(Deserialize)]
pub struct DomainGroup {
    pub span: String,
    pub balance_mask: String,
    pub cores: u32,
    pub flags: String,
    pub asym_prefer_cpu: i64,
    pub capacity: u64,
    pub min_capacity: u64,
    pub max_capacity: u64,
}
