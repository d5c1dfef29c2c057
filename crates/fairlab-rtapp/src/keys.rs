//! The keys that each object takes.

/// A key that rt-app takes as an event; anything that begins like it is one, too.
pub(crate) const EVENTS: [&str; 21] = [
    // Longer names before those that they begin with.
    "lock",
    "unlock",
    "wait",
    "signal",
    "broad",
    "sync",
    "sleep",
    "runtime",
    "run",
    "timer",
    "suspend",
    "resume",
    "memrun",
    "mem",
    "iorun",
    "yield",
    "barrier",
    "fork",
    "sem_wait",
    "sem_post",
    "broadcast",
];

/// Attributes that tasks and phases have in common.
pub(crate) const ATTRIBUTES: [&str; 11] = [
    "loop",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "util_min",
    "util_max",
    "cpus",
    "nodes_membind",
    "taskgroup",
];

/// What only tasks have.
pub(crate) const TASK_ONLY: [&str; 3] = ["instance", "delay", "phases"];

/// The keys of `global`.
pub(crate) const GLOBAL: [&str; 15] = [
    "duration",
    "calibration",
    "default_policy",
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "frag",
    "fragment",
];

/// The keys of the outermost object.
pub(crate) const ROOT: [&str; 3] = ["tasks", "resources", "global"];

/// Types of the entries of `resources`, new and old.
pub(crate) const RESOURCES: [&str; 21] = [
    "mutex",
    "timer",
    "timer_unique",
    "wait",
    "signal",
    "broadcast",
    "broad",
    "sleep",
    "run",
    "runtime",
    "sync",
    "sig_and_wait",
    "suspend",
    "resume",
    "mem",
    "memrun",
    "iorun",
    "barrier",
    "yield",
    "fork",
    "sem",
];

/// Keys of the grammar before rt-app 1.0, which described a task by its worst case.
pub(crate) const OLD: [&str; 5] = ["exec", "period", "deadline", "lock_order", "resources"];

/// The event that `key` stands for: its name, perhaps followed by a number or a word after `_` or
/// `-`, as `run1` and `timer_b`.
pub(crate) fn event(key: &str) -> Option<&'static str> {
    EVENTS.into_iter().find(|name| {
        key.strip_prefix(name).is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit() || "_-".contains(c))
        })
    })
}

/// The event that rt-app itself would take `key` for.
pub(crate) fn loose_event(key: &str) -> Option<&'static str> {
    EVENTS.into_iter().find(|name| key.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_may_have_a_suffix() {
        assert_eq!(event("run"), Some("run"));
        assert_eq!(event("run1"), Some("run"));
        assert_eq!(event("runtime2"), Some("runtime"));
        assert_eq!(event("timer_a"), Some("timer"));
        assert_eq!(event("sem_wait3"), Some("sem_wait"));
        assert_eq!(event("broadcast"), Some("broadcast"));
        assert_eq!(event("memrun"), Some("memrun"));
        assert_eq!(event("running"), None);
        assert_eq!(loose_event("running"), Some("run"));
    }
}
