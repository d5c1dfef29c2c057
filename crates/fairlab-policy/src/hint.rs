//! The hint "some core of this LLC is idle".

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::domains::SharedId;
use fairlab_units::CpuId;

use crate::{Cost, MachineView};

/// What going idle does to the hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HintUpdate {
    /// The shared object whose hint is set.
    pub set: Option<SharedId>,
    /// What it cost to find out.
    pub cost: Cost,
}

/// The hint after `cpu` switched to its idle task: set when all other threads of its core are
/// available too. Nothing is read when the hint is already set.
///
/// # Source
/// Linux `kernel/sched/fair.c`, `__update_idle_core()`.
#[doc(alias = "update_idle_core")]
pub fn hint_on_idle_entry<V: MachineView>(view: &V, kernel: &Kernel, cpu: CpuId) -> HintUpdate {
    let mut update = HintUpdate::default();
    let domains = view.domains();
    if !domains.switches().smt_present {
        return update;
    }
    let shared = domains.cached(cpu).llc_shared;
    let is_set = match shared {
        Some(shared) => view.has_idle_cores(shared),
        None => kernel.has(Feature::HINT_SET_WITHOUT_SHARED),
    };
    if is_set {
        return update;
    }
    for thread in domains.smt_mask(cpu).iter().filter(|t| *t != cpu) {
        update.cost.idle_tests += 1;
        if !view.is_available_idle(thread) {
            return update;
        }
    }
    update.set = shared;
    update
}
