//! The functions that the shim calls by name.
//!
//! They take references, never addresses to calculate with; what is unsafe is only that a name is
//! exported.
#![allow(
    unsafe_code,
    reason = "an exported name has to be unique, which the linker of the BPF object checks"
)]
#![allow(
    improper_ctypes_definitions,
    reason = "a set of features is words to the shim, which only passes it on"
)]

use fairlab_policy::flips_after;

use crate::clock::{QueueClock, TaskClock, weight_of_nice};
use crate::config::{Config, WORDS};
use crate::cores::find_idle_cores;
use crate::place::{begin, search};
use crate::request::{Answer, Request};
use crate::search::Hits;
use crate::spare::{Place, Queued, leaves_core, spare};

/// See [`begin`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_place(
    config: &Config,
    request: &Request,
    answer: &mut Answer,
    hits: &mut Hits,
) {
    begin(config, request, answer, hits);
}

/// See [`search`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_search(
    config: &Config,
    request: &Request,
    answer: &mut Answer,
    hits: &mut Hits,
) {
    search(config, request, answer, hits);
}

/// See [`find_idle_cores`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_idle_cores(config: &Config, quiet: &[u64; WORDS], request: &mut Request) {
    find_idle_cores(config, quiet, request);
}

/// See [`Queued::place`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_place_of(queued: &Queued) -> u32 {
    queued.place() as u32
}

/// See [`spare`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_spare(config: &Config, request: &Request, place: u32) -> u32 {
    spare(config, request, Place::from_number(place))
}

/// See [`leaves_core`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_leaves_core(
    config: &Config,
    quiet: &[u64; WORDS],
    request: &Request,
    since: &mut u64,
    now: u64,
) -> bool {
    leaves_core(config, quiet, request, since, now)
}

/// What a waker remembers of whom it woke.
#[repr(C)]
#[derive(Debug)]
pub struct Wakes {
    /// When the count was last halved, in jiffies.
    pub halved_at: u64,
    /// How often the waker changed whom it wakes.
    pub flips: u32,
    /// The thread that it woke last.
    pub last: u32,
}

/// See [`flips_after`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_record_wakee(
    config: &Config,
    wakes: &mut Wakes,
    jiffies: u64,
    thread: u32,
) {
    let is_new = wakes.last != thread;
    (wakes.flips, wakes.halved_at) =
        flips_after(config.hz, jiffies, wakes.flips, wakes.halved_at, is_new);
    wakes.last = thread;
}

/// See [`weight_of_nice`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_weight(static_prio: u32, is_idle_policy: bool) -> u64 {
    weight_of_nice(static_prio, is_idle_policy)
}

/// See [`TaskClock::join`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_join(task: &mut TaskClock, vtime: u64, slice_ns: u64) {
    task.join(vtime, slice_ns);
}

/// See [`TaskClock::leave`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_leave(task: &mut TaskClock, vtime: u64, slice_ns: u64) {
    task.leave(vtime, slice_ns);
}

/// See [`TaskClock::run`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_run(
    task: &mut TaskClock,
    queue: &QueueClock,
    ns: u64,
    slice_ns: u64,
) -> u64 {
    task.run(queue, ns, slice_ns)
}

/// See [`TaskClock::transfer`].
#[unsafe(no_mangle)]
#[inline(always)]
pub extern "C" fn fairlab_transfer(task: &mut TaskClock, from: u64, to: u64) {
    task.transfer(from, to);
}
