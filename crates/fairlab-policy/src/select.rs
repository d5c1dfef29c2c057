//! The entry: which CPU for a task that wakes, was forked, or executes a new program.

use fairlab_kernel::Feature;
use fairlab_units::CpuId;

use crate::explain::{Explain, NoExplain};
use crate::search::Search;
use crate::{
    Context, Decision, IdleMasks, Kernel, MachineView, Outcome, Reason, Scratch, TaskView,
    WakeFlags,
};

/// Where the fair class places `p`.
///
/// `current` is the task that runs on `ctx.this_cpu`: the waker, the parent, or `p` itself at exec.
/// The one-CPU shortcut ([`only_cpu`](crate::only_cpu)) comes before this call and the fallback
/// ([`fallback_cpu`](crate::fallback_cpu)) after it, except at exec.
///
/// # Source
/// Linux `kernel/sched/fair.c`, `select_task_rq_fair()`, in the form of `kernel`.
pub fn select_task_rq_fair<V: MachineView>(
    view: &V,
    kernel: &Kernel,
    ctx: &Context,
    p: &TaskView<'_>,
    current: &TaskView<'_>,
    scratch: &mut Scratch,
) -> Outcome {
    explain_task_rq_fair(view, kernel, ctx, p, current, scratch, &mut NoExplain)
}

/// [`select_task_rq_fair`], telling `explain` each step.
pub fn explain_task_rq_fair<V: MachineView, E: Explain>(
    view: &V,
    kernel: &Kernel,
    ctx: &Context,
    p: &TaskView<'_>,
    current: &TaskView<'_>,
    scratch: &mut Scratch,
    explain: &mut E,
) -> Outcome {
    let mut search = Search::new(view, kernel, ctx, p, current, scratch, explain);
    let choice = search.select();
    search.finish(choice)
}

/// [`select_task_rq_fair`] with word-parallel scans over `masks`, which must say what `view` says
/// about idle CPUs.
///
/// Answer, reason, effects and cost are the same; see [`IdleMasks::counting_cores`].
pub fn fast_task_rq_fair<V: MachineView>(
    view: &V,
    masks: &IdleMasks,
    kernel: &Kernel,
    ctx: &Context,
    p: &TaskView<'_>,
    current: &TaskView<'_>,
    scratch: &mut Scratch,
) -> Outcome {
    let mut explain = NoExplain;
    let mut search = Search::new(view, kernel, ctx, p, current, scratch, &mut explain);
    search.masks = Some(masks);
    let choice = search.select();
    search.finish(choice)
}

/// The fast path alone: an idle CPU near `target` for `p`, whose previous CPU is `ctx.prev_cpu`.
#[allow(
    clippy::too_many_arguments,
    reason = "the entry's arguments, plus the target"
)]
pub fn select_idle_sibling<V: MachineView, E: Explain>(
    view: &V,
    kernel: &Kernel,
    ctx: &Context,
    p: &TaskView<'_>,
    current: &TaskView<'_>,
    target: CpuId,
    scratch: &mut Scratch,
    explain: &mut E,
) -> Outcome {
    let mut search = Search::new(view, kernel, ctx, p, current, scratch, explain);
    let choice = search.select_idle_sibling(target);
    search.finish(choice)
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    fn finish(self, (cpu, reason): (CpuId, Reason)) -> Outcome {
        Outcome {
            decision: Decision {
                cpu,
                reason,
                cost: self.cost,
            },
            affine: self.affine,
            effects: self.effects,
        }
    }

    fn select(&mut self) -> (CpuId, Reason) {
        let this = self.ctx.this_cpu;
        let sync = self.ctx.flags.has(WakeFlags::SYNC)
            && !self.current.is_exiting
            && (self.ctx.in_task || !self.has(Feature::WA_SYNC_IN_TASK));
        let is_wakeup = self.ctx.flags.has(WakeFlags::TTWU);
        let mut want_affine = false;
        if is_wakeup {
            self.record_wakee();
            let this_is_allowed = self.p.allowed.test(this);
            if self.has(Feature::WAKE_CURRENT_CPU)
                && self.ctx.flags.has(WakeFlags::CURRENT_CPU)
                && this_is_allowed
            {
                return (this, Reason::CurrentCpu);
            }
            if let Some(choice) = self.find_energy_efficient_cpu() {
                return choice;
            }
            want_affine = !self.is_wide()
                && this_is_allowed
                && !(self.has(Feature::WAKE_CAP) && self.wake_cap());
        }
        let sd_flag = self.ctx.flags.sd_flag();
        let (target, slow) = self.walk_domains(want_affine, sync, sd_flag);
        if let Some(domain) = slow {
            return self.find_idlest_cpu(domain, sd_flag);
        }
        if !is_wakeup {
            return (target, Reason::NoDomain);
        }
        let choice = self.select_idle_sibling(target);
        if want_affine && self.has(Feature::SIS_RECENT_WAKER) {
            self.effects.waker_recent_used_cpu = Some(this);
        }
        choice
    }
}
