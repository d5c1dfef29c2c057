//! What a placement changes, as data for the caller to write down.

use fairlab_topology::domains::{DomainId, SharedId};
use fairlab_units::CpuId;

use crate::{Affine, Decision};

/// A decision and its side effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Outcome {
    /// Where the task goes.
    pub decision: Decision,
    /// How a wakeup chose between the previous and the waking CPU; none at fork and exec, and when
    /// the wakeup was answered before that question.
    pub affine: Option<Affine>,
    /// What the kernel would have written.
    pub effects: Effects,
}

/// What the kernel writes while it decides. The caller applies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Effects {
    /// The wakee's `recent_used_cpu`.
    pub recent_used_cpu: Option<CpuId>,
    /// The waker's `recent_used_cpu` (v5.4, v5.6).
    pub waker_recent_used_cpu: Option<CpuId>,
    /// The waker's count of different wakees (`record_wakee`).
    pub waker: Option<WakerUpdate>,
    /// The shared object whose idle-core hint is cleared.
    pub clear_idle_cores: Option<SharedId>,
    /// With SIS_NODE, the groups of a domain whose LLCs have their hints cleared too: bit `i` stands for the
    /// group `i`. Groups from 64 on keep theirs.
    pub clear_groups: Option<(DomainId, u64)>,
    /// True when the wakee's signals were aged ([`MachineView::synced`](crate::MachineView::synced)).
    pub synced: bool,
    /// What SIS_PROP keeps about the scan.
    pub scan: Option<ScanAccount>,
}

/// New wake counts of the waker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakerUpdate {
    /// `wakee_flips`.
    pub wakee_flips: u32,
    /// `wakee_flip_decay_ts` in jiffies.
    pub wakee_flip_decay_ts: u64,
    /// True when `last_wakee` becomes the wakee (else it already was).
    pub is_new_wakee: bool,
}

/// What a budgeted scan leaves behind. The policy has no clock, so the caller supplies the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanAccount {
    /// The domain of the waking CPU that keeps `avg_scan_cost`.
    pub domain: DomainId,
    /// The aged idle estimate of the waking CPU, before the scan's time is taken off (SIS_PROP_AGED).
    pub wake_avg_idle: Option<WakeAvgIdle>,
    /// True when the scan's time counts: it did not run out of budget.
    pub is_timed: bool,
    /// CPUs that the scan tested, for callers that derive its time.
    pub idle_tests: u32,
}

/// `rq->wake_stamp` and `rq->wake_avg_idle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeAvgIdle {
    /// When it was last aged, in jiffies.
    pub stamp: u64,
    /// The estimate in ns.
    pub avg_ns: u64,
}

impl ScanAccount {
    /// `avg_scan_cost` after a scan that took `time_ns`.
    #[must_use]
    pub fn avg_scan_cost(&self, before: u64, time_ns: u64) -> u64 {
        if self.is_timed {
            update_avg(before, time_ns)
        } else {
            before
        }
    }

    /// The idle estimate after a scan that took `time_ns`; none when the kernel keeps none.
    #[must_use]
    pub fn wake_avg_idle(&self, time_ns: u64) -> Option<WakeAvgIdle> {
        self.wake_avg_idle.map(|mut idle| {
            if self.is_timed {
                idle.avg_ns = idle.avg_ns.saturating_sub(time_ns);
            }
            idle
        })
    }
}

/// A running average that moves an eighth of the way to `sample`, truncating toward zero.
#[must_use]
pub fn update_avg(avg: u64, sample: u64) -> u64 {
    let diff = sample.wrapping_sub(avg) as i64;
    avg.wrapping_add((diff / 8) as u64)
}
