//! What the fast path of a wakeup asks about the CPUs around it.
//!
//! `wake_affine` and `select_idle_sibling` are written against this trait and nothing else, so that
//! one source serves the decision on a [`MachineView`](crate::MachineView), where it is counted and
//! can be explained, and a scheduler inside a running kernel, which has no heap and no masks of its
//! own.

use fairlab_kernel::Feature;
use fairlab_units::CpuId;

use crate::explain::Step;
use crate::idle_sibling::ScanEnd;
use crate::wake_affine::Weights;
use crate::{Affine, Reason};

/// One wakeup, as its fast path sees it.
pub trait Surroundings {
    /// Is `feature` on?
    fn has(&self, feature: Feature) -> bool;

    /// The CPU that executes the wakeup.
    fn this_cpu(&self) -> CpuId;

    /// The CPU where the wakee last ran.
    fn prev_cpu(&self) -> CpuId;

    /// Reads whether `cpu` is idle (`available_idle_cpu`).
    fn is_available(&mut self, step: Step, cpu: CpuId) -> bool;

    /// Reads whether `cpu` is idle, or as good as idle for the wakee.
    fn is_usable(&mut self, step: Step, cpu: CpuId) -> bool;

    /// May the wakee run on `cpu`?
    fn is_allowed(&self, cpu: CpuId) -> bool;

    /// Does the capacity of `cpu` suit the wakee (`asym_fits_cpu`)?
    fn suits(&mut self, cpu: CpuId) -> bool;

    /// Is `cpu` the number of a CPU?
    fn is_cpu(&self, cpu: CpuId) -> bool;

    /// Do both share a last-level cache (`cpus_share_cache`)?
    fn share_cache(&self, one: CpuId, other: CpuId) -> bool;

    /// Do both share a cluster, or where there is none, the last-level cache (`cpus_share_resources`)?
    fn share_resources(&self, one: CpuId, other: CpuId) -> bool;

    /// Does the machine have clusters (`sched_cluster_active`)?
    fn has_clusters(&self) -> bool;

    /// Runnable tasks of all classes on the waking CPU (`rq->nr_running`).
    fn nr_running(&self) -> u32;

    /// Those of them whose dequeue is delayed.
    fn nr_delayed(&self) -> u32;

    /// Does a kernel thread that is bound to the waking CPU wake the wakee, outside of interrupts
    /// where the kernel asks for that?
    fn is_woken_by_kthread(&self) -> bool;

    /// `recent_used_cpu` of the wakee.
    fn recent_cpu(&self) -> CpuId;

    /// Writes `recent_used_cpu` of the wakee.
    fn set_recent_cpu(&mut self, cpu: CpuId);

    /// The terms by which `wake_affine` compares loads.
    fn weights(&mut self, sync: bool) -> Weights;

    /// An idle candidate was remembered, because it lies in another cluster.
    fn note_remembered(&mut self, step: Step, cpu: CpuId);

    /// Both sides of the comparison of loads.
    fn note_weights(&mut self, this: i64, prev: i64);

    /// The search of a machine with CPUs of different capacities around `target`; none where the
    /// search of the last-level cache is made instead.
    fn search_by_capacity(&mut self, target: CpuId) -> Option<(CpuId, Reason)>;

    /// The search of the last-level cache of `target`.
    fn search_cache(&mut self, target: CpuId) -> ScanEnd;

    /// An idle CPU of another last-level cache of the node of `target` (SIS_NODE).
    fn search_node(&mut self, target: CpuId) -> Option<CpuId>;

    /// Which of two last-level caches is more idle (WA_LLC_IDLER); none when both are alike, or one.
    fn idler_cache(&mut self) -> Option<Affine>;
}
