//! A CPU for a task that would wait, or share a core, where it is.
//!
//! The wakeup path looks at one cache only, and at one moment. What the kernel's own class mends by
//! balancing (a task that waits beside an idle CPU, two busy threads on one core while another core
//! idles) is mended here when a slice ends: the task goes to the nearest CPU that serves it better.

use crate::config::{Config, NONE, WORDS};
use crate::request::Request;

/// What a task has where it is, and so what would be better.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It waits, and nobody knows how long: any idle CPU is better.
    Waits = 0,
    /// It waits for a short while, put off by a task that will be brief: not worth a thread of a busy
    /// core.
    WaitsBriefly = 1,
    /// It runs beside a neighbour: only a core of its own is better.
    Shares = 2,
}

/// How a task came to be queued.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Queued {
    /// It ran, and is runnable still; else it woke, is new, or was changed.
    pub ran: bool,
    /// Nothing else is there for its CPU.
    pub is_last: bool,
    /// Something that goes before it was queued while it ran: a task that woke and is due earlier, or the
    /// kernel's own work on this CPU.
    pub makes_way: bool,
    /// Its CPU has taken another task from a queue.
    pub gave_way: bool,
    /// How many tasks wait in its queue.
    pub waiting: u32,
}

impl Queued {
    /// What the task has where it is.
    ///
    /// One that ran and whose place no task from a queue has was put off by what never was in one: the kernel's
    /// own work on this CPU, or a class above (the watchdog of each CPU, every four seconds). That is brief, as most
    /// that wake are. A task that came by a queue may stay for long. Where more wait than one, nothing is brief.
    #[inline(always)]
    #[must_use]
    pub const fn place(&self) -> Place {
        if self.is_last {
            Place::Shares
        } else if self.ran && (self.makes_way || !self.gave_way) && self.waiting <= 1 {
            Place::WaitsBriefly
        } else {
            Place::Waits
        }
    }
}

#[cfg(feature = "entry")]
impl Place {
    /// By number, as the shim gives it.
    #[inline(always)]
    pub(crate) const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Waits,
            1 => Self::WaitsBriefly,
            _ => Self::Shares,
        }
    }
}

/// The free CPU to which the task of `request`, which is on `prev_cpu`, should go, or [`NONE`].
///
/// An idle core of the same last-level cache comes first. A thread of the own core comes before
/// threads of other cores: they have tasks of their own, and this core has just lost one.
#[inline(always)]
#[must_use]
pub fn spare(config: &Config, request: &Request, place: Place) -> u32 {
    let facts = config.of(request.prev_cpu);
    let has_cache = facts.llc != NONE;
    let cache = config.llc(facts.llc);
    let idle = |i: usize| request.idle[i] & request.allowed[i];
    let cores = |i: usize| request.idle_core[i] & request.allowed[i];
    if has_cache {
        let near = first(config, |i| cores(i) & cache[i]);
        if near != NONE {
            return near;
        }
    }
    if !matches!(place, Place::Shares) {
        let is_free =
            |thread| Request::bit(&request.idle, thread) && Request::bit(&request.allowed, thread);
        if let Some(own) = config.thread_of(request.prev_cpu, is_free) {
            return own;
        }
    }
    if matches!(place, Place::Waits) && has_cache {
        let near = first(config, |i| idle(i) & cache[i]);
        if near != NONE {
            return near;
        }
    }
    let far = match place {
        Place::WaitsBriefly => NONE,
        Place::Waits | Place::Shares => first(config, cores),
    };
    if far == NONE && matches!(place, Place::Waits) {
        return first(config, idle);
    }
    far
}

/// Does another thread of the core of `prev_cpu` run something, and so is not `quiet`?
#[inline(always)]
#[must_use]
pub fn is_crowded(config: &Config, quiet: &[u64; WORDS], request: &Request) -> bool {
    let here = request.prev_cpu;
    let busy = |thread| thread != here && !Request::bit(quiet, thread);
    config.thread_of(here, busy).is_some()
}

/// For how long a task shares its core before it looks for another, ns, where slices are longer.
///
/// A neighbour that is seen once is no reason to move: a kernel thread may have come by.
pub const PATIENCE_NS: u64 = 8_000_000;

/// Should the task of `request` look for a core of its own at `now`? It has shared one since `since`, as
/// far as was seen (0: it did not), and that may change.
#[inline(always)]
#[must_use]
pub fn leaves_core(
    config: &Config,
    quiet: &[u64; WORDS],
    request: &Request,
    since: &mut u64,
    now: u64,
) -> bool {
    if !is_crowded(config, quiet, request) {
        *since = 0;
        return false;
    }
    if *since == 0 {
        *since = now;
        return false;
    }
    now.wrapping_sub(*since) >= config.slice_ns.min(PATIENCE_NS)
        && spare(config, request, Place::Shares) != NONE
}

/// The lowest bit of `words`. The lowest, so that two that look at one idle core want the same thread of
/// it, and only one gets it.
#[inline(always)]
fn first(config: &Config, words: impl Fn(usize) -> u64) -> u32 {
    for i in 0..config.words as usize {
        let i = i & (WORDS - 1);
        let bits = words(i);
        if bits != 0 {
            return (i * 64) as u32 + bits.trailing_zeros();
        }
    }
    NONE
}
