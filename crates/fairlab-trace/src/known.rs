//! The tracepoints whose meaning is known.

/// A tracepoint that becomes events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Switch,
    Waking,
    Wakeup,
    WakeupNew,
    Migrate,
    Fork,
    Exec,
    Exit,
    StatRuntime,
    StatWait,
    StatSleep,
    StatBlocked,
    StatIoWait,
    PiSetprio,
    CpuIdle,
    CpuFrequency,
    TaskRename,
    TaskNew,
}

impl Known {
    /// By the tracepoint's name, without its system.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "sched_switch" => Self::Switch,
            "sched_waking" => Self::Waking,
            "sched_wakeup" => Self::Wakeup,
            "sched_wakeup_new" => Self::WakeupNew,
            "sched_migrate_task" => Self::Migrate,
            "sched_process_fork" => Self::Fork,
            "sched_process_exec" => Self::Exec,
            "sched_process_exit" => Self::Exit,
            "sched_stat_runtime" => Self::StatRuntime,
            "sched_stat_wait" => Self::StatWait,
            "sched_stat_sleep" => Self::StatSleep,
            "sched_stat_blocked" => Self::StatBlocked,
            "sched_stat_iowait" => Self::StatIoWait,
            "sched_pi_setprio" => Self::PiSetprio,
            "cpu_idle" | "power_cpu_idle" => Self::CpuIdle,
            "cpu_frequency" | "power_cpu_frequency" => Self::CpuFrequency,
            "task_rename" => Self::TaskRename,
            "task_newtask" => Self::TaskNew,
            _ => return None,
        })
    }
}
