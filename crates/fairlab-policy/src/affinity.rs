//! What happens around the class's choice: the one-CPU shortcut and the fallback.

use fairlab_units::{CpuId, CpuMask};

use crate::{MachineView, Reason, TaskView};

/// The answer for a task that may run on exactly one CPU or must not migrate: the first CPU of its
/// mask. The fair class is not asked then.
///
/// # Source
/// Linux `kernel/sched/core.c`, `select_task_rq()`. v5.4 and v5.6 know no migration-disabled tasks.
#[doc(alias = "select_task_rq")]
#[must_use]
pub fn only_cpu(p: &TaskView<'_>, migration_disabled: bool) -> Option<CpuId> {
    let first = p.allowed.first()?;
    let is_only = p.allowed.next_from(CpuId(first.0 + 1)).is_none();
    (is_only || migration_disabled).then_some(first)
}

/// The CPU where a task goes whose chosen `cpu` is not allowed or not active; none when `cpu` is
/// fine. `widened` are the CPUs that the kernel falls back to when no allowed CPU is active (those of
/// the task's cpuset, else all possible CPUs).
///
/// # Source
/// Linux `kernel/sched/core.c`, `select_fallback_rq()`: first the CPUs of the same node, then any
/// allowed CPU, then the mask is widened.
#[doc(alias = "select_fallback_rq")]
#[must_use]
pub fn fallback_cpu<V: MachineView>(
    view: &V,
    p: &TaskView<'_>,
    cpu: CpuId,
    widened: &CpuMask,
) -> Option<(CpuId, Reason)> {
    let active = view.active();
    if p.allowed.test(cpu) && active.test(cpu) {
        return None;
    }
    let node = view.node_of(cpu);
    let allowed = || p.allowed.iter().filter(|c| active.test(*c));
    if let Some(near) = allowed().find(|c| view.node_of(*c) == node) {
        return Some((near, Reason::FallbackNode));
    }
    if let Some(any) = allowed().next() {
        return Some((any, Reason::FallbackAllowed));
    }
    let any = widened.iter().find(|c| active.test(*c));
    any.or_else(|| active.first())
        .map(|c| (c, Reason::FallbackWidened))
}
