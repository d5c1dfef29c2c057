//! The kernel's own trace of what ran where, to see what led to a failure.

use std::fs;
use std::time::Duration;

const PLACE: &str = "/sys/kernel/tracing";

/// Who switched, woke and moved, as the kernel's ring buffer holds it; switched off when dropped.
pub struct Trace;

impl Trace {
    /// Begins to write down what happens, over what is oldest.
    pub fn start() -> Self {
        let events = "sched:sched_switch sched:sched_wakeup sched:sched_migrate_task";
        for (file, text) in [
            ("trace", ""),
            ("buffer_size_kb", "256"),
            ("set_event", events),
            ("tracing_on", "1"),
        ] {
            let _ = fs::write(format!("{PLACE}/{file}"), text);
        }
        Self
    }

    /// Stops: the buffer keeps what led here.
    pub fn stop(&self) {
        let _ = fs::write(format!("{PLACE}/tracing_on"), "0");
    }

    /// What happened in the time before the stop, to the serial line.
    pub fn print_last(&self, length: Duration) {
        let text = fs::read_to_string(format!("{PLACE}/trace")).unwrap_or_default();
        let end = text.lines().rev().find_map(seconds_of).unwrap_or(0.0);
        for line in text.lines() {
            if seconds_of(line).is_some_and(|at| at >= end - length.as_secs_f64()) {
                println!("TRACE {line}");
            }
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = fs::write(format!("{PLACE}/tracing_on"), "0");
        let _ = fs::write(format!("{PLACE}/set_event"), "");
    }
}

/// The time of a line: `NAME-PID [CPU] FLAGS SECONDS: EVENT: ...`.
fn seconds_of(line: &str) -> Option<f64> {
    line.split_whitespace()
        .find_map(|word| word.strip_suffix(':')?.parse().ok())
}
