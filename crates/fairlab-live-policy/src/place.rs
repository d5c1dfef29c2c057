//! The answer to a request.

use fairlab_policy::{Affine, idle_sibling, wake_affine, wake_wide};
use fairlab_units::CpuId;

use crate::config::{Config, NONE};
use crate::request::{Answer, Request, WakeKind};
use crate::wakeup::Wakeup;

/// Where the task of `request` goes.
///
/// A wakeup is placed as `select_task_rq_fair()` places it. Differs from Linux: a new task, or one
/// that executes a new program, is placed around its previous CPU in the same way, since the slow path
/// compares averages that the kernel keeps for its own class only.
#[inline(always)]
#[must_use]
pub fn place(config: &Config, request: &Request) -> Answer {
    let mut wakeup = Wakeup {
        config,
        request,
        recent_cpu: NONE,
    };
    let (this, prev) = (request.this_cpu, request.prev_cpu);
    let mut target = prev;
    let facts = config.of(this);
    let is_affine = request.is(WakeKind::WAKEUP)
        && this != prev
        && facts.affine != NONE
        && facts.affine == config.of(prev).affine
        && Request::bit(&request.allowed, this)
        && !is_wide(request, facts.llc_size);
    if is_affine {
        let how: Affine = wake_affine(&mut wakeup, request.is(WakeKind::SYNC));
        if how.takes_waking_cpu() {
            target = this;
        }
    }
    let (CpuId(cpu), reason) = idle_sibling(&mut wakeup, CpuId(target));
    Answer {
        cpu,
        reason: reason as u32,
        recent_cpu: wakeup.recent_cpu,
        is_idle: u32::from(Request::bit(&request.idle, cpu)),
    }
}

#[inline(always)]
fn is_wide(request: &Request, llc_size: u32) -> bool {
    let wakee = if request.is(WakeKind::SELF) {
        request.waker_flips
    } else {
        request.wakee_flips
    };
    wake_wide(request.waker_flips, wakee, llc_size)
}
