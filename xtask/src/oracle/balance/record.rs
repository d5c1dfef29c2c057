//! The lines of recordings of kind `balance`. Rows are read by position.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::oracle::decisions::record::CpuRow;

/// One attempt to balance a domain.
#[derive(Deserialize)]
pub struct AttemptRecord {
    pub seq: u64,
    pub jiffies: u64,
    pub this_cpu: u32,
    pub run_by: Option<u32>,
    pub idle: String,
    pub domain: DomainInfo,
    pub sd: SdState,
    pub overutilized: u8,
    pub overload: u8,
    pub changed_before: Option<String>,
    pub cpus: Vec<CpuRow>,
    pub groups: Vec<GroupRow>,
    #[serde(default)]
    pub search: Vec<Search>,
    pub search_cut: Option<u32>,
    #[serde(default)]
    pub migrate: Vec<MigrateRow>,
    pub migrate_cut: Option<u32>,
    #[serde(default)]
    pub need_active: Vec<u8>,
    pub active_started: Option<i64>,
    pub ret: i64,
    pub continue_balancing: u8,
    pub after: After,
}

#[derive(Deserialize)]
pub struct DomainInfo {
    pub idx: usize,
    pub name: String,
    pub span: String,
}

#[derive(Clone, Copy, Deserialize)]
pub struct SdState {
    pub balance_interval: u32,
    pub nr_balance_failed: u32,
    pub parent_imbalance: i64,
}

#[derive(Deserialize)]
#[allow(
    dead_code,
    reason = "a row is read by position, so every column has its place"
)]
pub struct GroupRow {
    pub span: String,
    pub balance_mask: String,
    pub weight: u32,
    pub cores: u32,
    pub flags: String,
    pub asym_prefer_cpu: i64,
    pub capacity: u64,
    pub min_capacity: u64,
    pub max_capacity: u64,
    pub next_update: u64,
    pub imbalance: i64,
}

/// One search for the busiest group and queue.
#[derive(Deserialize)]
pub struct Search {
    pub cpus: String,
    pub dst_cpu: u32,
    pub busiest: Option<String>,
    pub imbalance: i64,
    pub migration_type: String,
    pub fbq_type: String,
    pub changed: Option<String>,
    pub changed_fields: Option<u64>,
    pub dst_capacity: u64,
    pub jiffies: u64,
    pub queue: Option<u32>,
    pub queue_changed: Option<String>,
    pub queue_changed_fields: Option<u64>,
}

/// Changes of groups, which show in the fields only.
const GROUP_FIELDS: u64 = 256 | 4096;

fn unchanged(mask: Option<&String>, fields: Option<u64>) -> bool {
    mask.is_some_and(|m| m == "0x0") && fields.unwrap_or(0) & GROUP_FIELDS == 0
}

impl Search {
    /// Was the state at the end of the search that of the snapshot?
    pub fn is_certain(&self) -> bool {
        unchanged(self.changed.as_ref(), self.changed_fields)
    }

    /// Was it still so when the queue had been chosen?
    pub fn is_queue_certain(&self) -> bool {
        unchanged(self.queue_changed.as_ref(), self.queue_changed_fields)
    }
}

/// One task examined.
#[derive(Clone, Deserialize)]
#[allow(
    dead_code,
    reason = "a row is read by position, so every column has its place"
)]
pub struct MigrateRow {
    pub pid: u32,
    pub src: u32,
    pub dst: u32,
    pub ret: u8,
    pub detached: u8,
    pub weight: u64,
    pub policy: u32,
    pub tflags: u64,
    pub nr_allowed: u32,
    pub running: u8,
    pub delayed: u8,
    pub numa_nid: i64,
    pub flags0: u8,
    pub flags1: u8,
    pub count: u32,
    pub new_dst: i64,
    pub nr_failed: u32,
    pub exec_start: u64,
    pub clock_task: u64,
    pub load_avg: u64,
    pub runnable_avg: u64,
    pub util_avg: u64,
    pub util_est: u64,
    pub h_load: i64,
    pub imb: i64,
    pub imb_detach: Option<i64>,
    pub src_nr: u32,
    pub dst_nr: u32,
    pub allowed: String,
}

#[derive(Deserialize)]
pub struct After {
    pub sd: SdState,
    #[serde(default)]
    pub groups: Vec<[u64; 4]>,
    #[serde(default)]
    pub nr_idle_scan: BTreeMap<String, i64>,
}

/// One run of the stopper.
#[derive(Deserialize)]
pub struct ActiveRecord {
    pub seq: u64,
    pub jiffies: u64,
    pub src: u32,
    pub dst: i64,
    pub active_balance: u32,
    pub nr_running: u32,
    pub migrate: Vec<MigrateRow>,
}

/// One call of the newidle balancer.
#[derive(Deserialize)]
pub struct NewidleRecord {
    pub seq: u64,
    pub jiffies: u64,
    pub this_cpu: u32,
    pub ret: i64,
    pub avg_idle: u64,
    pub overload: u8,
    pub ttwu_pending: u32,
    pub next_balance: u64,
    pub searched: Vec<usize>,
    pub domains: Vec<NewidleDomain>,
    pub after: NewidleAfter,
}

#[derive(Deserialize)]
pub struct NewidleDomain {
    pub last_balance: u64,
    pub balance_interval: u32,
    pub max_newidle_lb_cost: [u64; 2],
    pub last_decay: [u64; 2],
    pub call: [u32; 2],
    pub success: [u32; 2],
    pub ratio: [u32; 2],
}

#[derive(Deserialize)]
pub struct NewidleAfter {
    pub next_balance: u64,
}

/// The kick test in one tick.
#[derive(Deserialize)]
pub struct KickRecord {
    pub seq: u64,
    pub jiffies: u64,
    pub this_cpu: u32,
    pub cpu_idle: u8,
    pub kicked: Option<u32>,
    pub flags: u8,
    pub nr_running: u32,
    pub cfs_h_nr: u32,
    pub cpu_capacity: u64,
    pub nr_busy_cpus: i64,
    pub nohz: NohzInfo,
}

#[derive(Deserialize)]
pub struct NohzInfo {
    pub idle_cpus: String,
    pub has_blocked: i64,
    pub needs_update: i64,
    pub next_balance: u64,
    pub next_blocked: u64,
    pub next_balance_after: u64,
}
