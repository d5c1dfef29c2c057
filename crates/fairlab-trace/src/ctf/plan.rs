//! What the fields of an event are to us.

use crate::known::Known;

/// A part of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    A,
    AComm,
    APrio,
    B,
    BComm,
    BPrio,
    First,
    Second,
    /// The CPU, where perf puts it beside the fields.
    Cpu,
    /// The running task, likewise.
    Current,
}

/// What the field called `name` is. LTTng puts `_` before names, and says `tid` where tracepoints say
/// `pid`; where it has both, `pid` is the process.
pub(super) fn role(known: Known, name: &str, has: impl Fn(&str) -> bool) -> Option<Role> {
    let name = name.strip_prefix('_').unwrap_or(name);
    let is_thread = |tid: &str| !has(tid) && !has(&format!("_{tid}"));
    Some(match (known, name) {
        (_, "perf_cpu") => Role::Cpu,
        (_, "perf_tid") => Role::Current,
        (Known::Switch, "prev_comm") => Role::AComm,
        (Known::Switch, "prev_tid" | "prev_pid") => Role::A,
        (Known::Switch, "prev_prio") => Role::APrio,
        (Known::Switch, "prev_state") => Role::First,
        (Known::Switch, "next_comm") => Role::BComm,
        (Known::Switch, "next_tid" | "next_pid") => Role::B,
        (Known::Switch, "next_prio") => Role::BPrio,
        (Known::Fork, "parent_comm") => Role::AComm,
        (Known::Fork, "parent_tid") => Role::A,
        (Known::Fork, "parent_pid") if is_thread("parent_tid") => Role::A,
        (Known::Fork, "child_comm") => Role::BComm,
        (Known::Fork, "child_tid") => Role::B,
        (Known::Fork, "child_pid") if is_thread("child_tid") => Role::B,
        (Known::CpuIdle | Known::CpuFrequency, "state") => Role::First,
        (Known::CpuIdle | Known::CpuFrequency, "cpu_id") => Role::Second,
        (Known::TaskRename, "newcomm") => Role::AComm,
        (Known::PiSetprio, "newprio") => Role::APrio,
        (Known::Switch | Known::Fork | Known::CpuIdle | Known::CpuFrequency, _) => return None,
        (_, "comm") if known != Known::TaskRename => Role::AComm,
        (_, "tid") => Role::A,
        (_, "pid") if is_thread("tid") => Role::A,
        (_, "prio") => Role::APrio,
        (Known::Waking | Known::Wakeup | Known::WakeupNew, "target_cpu" | "cpu") => Role::First,
        (Known::Waking | Known::Wakeup | Known::WakeupNew, "success") => Role::Second,
        (Known::Migrate, "orig_cpu") => Role::First,
        (Known::Migrate, "dest_cpu") => Role::Second,
        (Known::StatRuntime, "runtime") => Role::First,
        (_, "delay") => Role::First,
        _ => return None,
    })
}
