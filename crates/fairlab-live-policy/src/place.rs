//! The answer to a request.

use fairlab_policy::{idle_sibling, wake_affine, wake_wide};
use fairlab_units::CpuId;

use crate::config::{Config, NONE};
use crate::request::{Answer, Request, WakeKind};
use crate::search::{Hits, choose, forget, look};
use crate::wakeup::Wakeup;

/// Where the task of `request` goes.
///
/// A wakeup is placed as `select_task_rq_fair()` places it. Differs from Linux: a new task, or one
/// that executes a new program, is placed around its previous CPU in the same way, since the slow path
/// compares averages that the kernel keeps for its own class only.
#[inline(always)]
#[must_use]
pub fn place(config: &Config, request: &Request) -> Answer {
    let (mut answer, mut hits) = (Answer::default(), Hits::NONE);
    begin(config, request, &mut answer, &mut hits);
    if hits.target != NONE {
        search(config, request, &mut answer, &mut hits);
    }
    answer
}

/// The steps of [`place`] up to a search of the cache, which `hits` tells whether it is needed. Until then
/// idle cores are not looked at.
///
/// Between steps what is known is forgotten, so that the effort of a verifier is the sum of the steps and
/// not their product.
#[inline(always)]
pub(crate) fn begin(config: &Config, request: &Request, answer: &mut Answer, hits: &mut Hits) {
    let mut wakeup = Wakeup::new(config, request);
    answer.cpu = target(&mut wakeup);
    let answer = forget(answer);

    let target = CpuId(answer.cpu);
    let (CpuId(cpu), reason) = idle_sibling(&mut wakeup, target);
    (answer.cpu, answer.reason) = (cpu, reason as u32);
    answer.recent_cpu = wakeup.recent_cpu;
    hits.target = wakeup.search_around;
    let answer = forget(answer);
    answer.is_idle = u32::from(Request::bit(&request.idle, answer.cpu));
}

/// The search of the cache, where `hits` says that it is needed; else `answer` is the answer.
#[inline(always)]
pub(crate) fn search(config: &Config, request: &Request, answer: &mut Answer, hits: &mut Hits) {
    let wakeup = Wakeup::new(config, request);
    look(&wakeup, hits);
    let hits = forget(hits);
    let end = choose(&wakeup, hits);
    if let Some(CpuId(cpu)) = end.cpu {
        (answer.cpu, answer.reason, answer.is_idle) = (cpu, end.reason as u32, 1);
    }
}

/// The CPU around which an idle one is searched: the waking one, or the previous one.
#[inline(always)]
fn target(wakeup: &mut Wakeup<'_>) -> u32 {
    let (config, request) = (wakeup.config, wakeup.request);
    let (this, prev) = (request.this_cpu, request.prev_cpu);
    let facts = config.of(this);
    let is_affine = request.is(WakeKind::WAKEUP)
        && this != prev
        && facts.affine != NONE
        && facts.affine == config.of(prev).affine
        && Request::bit(&request.allowed, this)
        && !is_wide(request, facts.llc_size);
    if is_affine && wake_affine(wakeup, request.is(WakeKind::SYNC)).takes_waking_cpu() {
        this
    } else {
        prev
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
