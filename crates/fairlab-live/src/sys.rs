//! Structures as the bytes that the kernel gives and takes: the only unsafe code of this crate.
#![allow(unsafe_code, reason = "bytes of the kernel become structures here")]

use std::os::fd::{FromRawFd, OwnedFd};

use fairlab_live_policy::{Config, Decision, QueueClock};

use crate::difference::Difference;

use crate::ended::ExitReport;
use crate::presence::Presence;
use crate::record::parts::{CpuPart, EdgePart, Head, RecordCounts, SpanPart, TaskPart};
use crate::shadow::ShadowCounts;
use crate::stats::Stats;

/// A structure without padding, references or values that are not allowed.
///
/// # Safety
/// Every pattern of bits has to be a value, and no byte may be padding.
pub(crate) unsafe trait Plain: Sized {}

// SAFETY: `repr(C)`, unsigned numbers and arrays of them; what would be padding is a field.
unsafe impl Plain for Config {}
// SAFETY: as above.
unsafe impl Plain for Presence {}
// SAFETY: as above.
unsafe impl Plain for Decision {}
// SAFETY: as above.
unsafe impl Plain for QueueClock {}
// SAFETY: as above.
unsafe impl Plain for Stats {}
// SAFETY: as above.
unsafe impl Plain for ShadowCounts {}
// SAFETY: as above.
unsafe impl Plain for Difference {}
// SAFETY: as above, with bytes for texts.
unsafe impl Plain for ExitReport {}

// SAFETY: as above.
unsafe impl Plain for Head {}
// SAFETY: as above.
unsafe impl Plain for EdgePart {}
// SAFETY: as above.
unsafe impl Plain for CpuPart {}
// SAFETY: as above.
unsafe impl Plain for RecordCounts {}
// SAFETY: as above, with bytes for texts.
unsafe impl Plain for TaskPart {}
// SAFETY: as above, with bytes for texts.
unsafe impl Plain for SpanPart {}

/// The bytes of a structure.
pub(crate) fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: `Plain` has no padding, so all of its bytes are initialised; the slice borrows `value`.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// The structure at the beginning of `bytes`; none when they are too few.
pub(crate) fn from_bytes<T: Plain>(bytes: &[u8]) -> Option<T> {
    if bytes.len() < size_of::<T>() {
        return None;
    }
    // SAFETY: enough bytes, any pattern is a value, and the read does not ask for alignment.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Gives a process the policy SCHED_IDLE; false when the kernel refuses.
pub fn set_idle_policy(process: u32) -> bool {
    set_policy(process as i32, libc::SCHED_IDLE)
}

/// Gives a thread a policy without priorities; false when the kernel refuses.
pub(crate) fn set_policy(thread: i32, policy: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a structure of this frame, which the call only reads.
    unsafe { libc::sched_setscheduler(thread, policy, &parameters) == 0 }
}

/// The policy of a thread, without flags; none when there is no such thread.
pub(crate) fn policy_of(thread: i32) -> Option<i32> {
    // SAFETY: the call takes a number and gives one.
    let policy = unsafe { libc::sched_getscheduler(thread) };
    (policy >= 0).then_some(policy & !libc::SCHED_RESET_ON_FORK)
}

/// Lets the kernel count how often and how long BPF programs run, until what is returned is closed;
/// none when it does not.
pub(crate) fn count_run_times() -> Option<OwnedFd> {
    // SAFETY: the call takes a number and gives a descriptor or an error.
    let descriptor = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    // SAFETY: the descriptor is new and nobody else's.
    (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })
}
