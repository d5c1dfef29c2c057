//! Trace Event Format: `{"traceEvents":[...]}`, which Perfetto and `chrome://tracing` open.
//!
//! One track per CPU (`tid`) with a slice for each stretch that a task runs, and every event as an
//! instant with the fields of its tracepoint, so that nothing is lost for scripts.

use fairlab_event::{DelayCause, EventKind, SchedEvent};
use fairlab_units::{CpuId, TaskId, Timestamp};

use super::state::{Comm, Printed, State, push_number, push_padded};
use super::{About, Form, Said};
use crate::names::Names;

/// The form.
#[derive(Default)]
pub(super) struct Json {
    has_events: bool,
}

/// A string with quotes and escapes.
fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            c if c < ' ' => out.extend_from_slice(format!("\\u{:04x}", c as u32).as_bytes()),
            c => {
                let mut utf8 = [0; 4];
                out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            }
        }
    }
    out.push(b'"');
}

/// Microseconds with the nanoseconds behind the point, as the format wants them.
fn micros(out: &mut Vec<u8>, nanos: u64) {
    push_number(out, nanos / 1_000);
    out.push(b'.');
    push_padded(out, nanos % 1_000, 3);
}

/// The fields of `args`.
struct Fields<'a> {
    out: &'a mut Vec<u8>,
    has_some: bool,
}

impl Fields<'_> {
    fn key(&mut self, key: &str) {
        if self.has_some {
            self.out.push(b',');
        }
        self.has_some = true;
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn number(&mut self, key: &str, value: u64) {
        self.key(key);
        push_number(self.out, value);
    }

    fn comm(&mut self, key: &str, comm: Comm<'_>) {
        self.key(key);
        match comm {
            Comm::Name(name) => string(self.out, name),
            other => {
                self.out.push(b'"');
                other.push(self.out);
                self.out.push(b'"');
            }
        }
    }

    fn task(&mut self, prefix: &str, task: Printed<'_>) {
        self.comm(&format!("{prefix}comm"), task.comm);
        self.number(&format!("{prefix}pid"), u64::from(task.pid));
    }

    fn task_prio(&mut self, prefix: &str, task: Printed<'_>) {
        self.task(prefix, task);
        self.key(&format!("{prefix}prio"));
        if task.prio < 0 {
            self.out.push(b'-');
        }
        push_number(self.out, u64::from(task.prio.unsigned_abs()));
    }

    fn cpu(&mut self, key: &str, cpu: CpuId) {
        self.number(key, u64::from(cpu.0));
    }
}

/// The tracepoint's name.
const fn name(kind: &EventKind) -> Option<&'static str> {
    Some(match kind {
        EventKind::Switch { .. } => "sched_switch",
        EventKind::Waking { .. } => "sched_waking",
        EventKind::Wakeup { .. } => "sched_wakeup",
        EventKind::WakeupNew { .. } => "sched_wakeup_new",
        EventKind::Migrate { .. } => "sched_migrate_task",
        EventKind::Fork { .. } => "sched_process_fork",
        EventKind::Exec { .. } => "sched_process_exec",
        EventKind::Exit { .. } => "sched_process_exit",
        EventKind::Named { .. } => "task_rename",
        EventKind::StatRuntime { .. } => "sched_stat_runtime",
        EventKind::StatDelay { cause, .. } => match cause {
            DelayCause::Wait => "sched_stat_wait",
            DelayCause::Sleep => "sched_stat_sleep",
            DelayCause::Blocked => "sched_stat_blocked",
            DelayCause::IoWait => "sched_stat_iowait",
        },
        EventKind::CpuIdle { .. } => "cpu_idle",
        EventKind::CpuFrequency { .. } => "cpu_frequency",
        EventKind::Lost { .. } => "lost_events",
        _ => return None,
    })
}

fn arguments(event: &SchedEvent, state: &State, names: &Names, fields: &mut Fields<'_>) {
    let printed = |task| state.printed(task, event.cpu, names);
    match event.kind {
        EventKind::Switch {
            prev,
            prev_state,
            next,
        } => {
            fields.task_prio("prev_", printed(prev));
            fields.key("prev_state");
            fields
                .out
                .extend_from_slice(format!("\"{}\"", prev_state.letter()).as_bytes());
            fields.task_prio("next_", printed(next));
        }
        EventKind::Waking { task, prev_cpu } => {
            fields.task_prio("", printed(Some(task)));
            fields.cpu("target_cpu", prev_cpu);
        }
        EventKind::Wakeup { task, target } | EventKind::WakeupNew { task, target } => {
            fields.task_prio("", printed(Some(task)));
            fields.cpu("target_cpu", target);
        }
        EventKind::Migrate { task, from, to } => {
            fields.task_prio("", printed(Some(task)));
            fields.cpu("orig_cpu", from);
            fields.cpu("dest_cpu", to);
        }
        EventKind::Fork { parent, child } => {
            fields.task("", printed(Some(parent)));
            fields.task("child_", printed(Some(child)));
        }
        EventKind::Exec { task } => {
            let task = printed(Some(task));
            fields.comm("filename", task.comm);
            fields.number("pid", u64::from(task.pid));
            fields.number("old_pid", u64::from(task.pid));
        }
        EventKind::Exit { task } => fields.task_prio("", printed(Some(task))),
        EventKind::Named { task, name } => {
            fields.number("pid", u64::from(task.0));
            fields.comm("oldcomm", printed(Some(task)).comm);
            fields.comm("newcomm", Comm::Name(names.get(name)));
        }
        EventKind::StatRuntime { task, runtime } => {
            fields.task("", printed(Some(task)));
            fields.number("runtime", runtime.0);
        }
        EventKind::StatDelay { task, delay, .. } => {
            fields.task("", printed(Some(task)));
            fields.number("delay", delay.0);
        }
        EventKind::CpuIdle { state } => {
            fields.number("state", u64::from(state.unwrap_or(u32::MAX)));
            fields.cpu("cpu_id", event.cpu);
        }
        EventKind::CpuFrequency { target, khz } => {
            fields.number("state", u64::from(khz));
            fields.cpu("cpu_id", target);
        }
        EventKind::Lost { count: Some(count) } => fields.number("count", count),
        _ => {}
    }
}

impl Json {
    /// The opening of an object: the comma before it, its phase, its place.
    fn open(&mut self, out: &mut Vec<u8>, phase: &str, cpu: CpuId, time: Timestamp) {
        if self.has_events {
            out.extend_from_slice(b",\n");
        }
        self.has_events = true;
        out.extend_from_slice(b"{\"ph\":\"");
        out.extend_from_slice(phase.as_bytes());
        out.extend_from_slice(b"\",\"pid\":0,\"tid\":");
        push_number(out, u64::from(cpu.0));
        out.extend_from_slice(b",\"ts\":");
        micros(out, time.0);
    }

    /// The stretch that `task` ran on `cpu` up to `end`.
    fn slice(
        &mut self,
        task: Option<TaskId>,
        cpu: CpuId,
        end: Timestamp,
        state: &State,
        names: &Names,
        out: &mut Vec<u8>,
    ) {
        let Some(task) = task else { return };
        let start = state.since(cpu);
        self.open(out, "X", cpu, start);
        out.extend_from_slice(b",\"dur\":");
        micros(out, end.0.saturating_sub(start.0));
        let task = state.printed(Some(task), cpu, names);
        let mut fields = Fields {
            out,
            has_some: true,
        };
        fields.comm("name", task.comm);
        fields.key("args");
        fields.out.push(b'{');
        fields.has_some = false;
        fields.number("pid", u64::from(task.pid));
        fields.out.extend_from_slice(b"}}");
    }
}

impl Form for Json {
    fn begin(&mut self, about: &About, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"writer\":\"fairlab\",\"release\":",
        );
        string(out, &about.release);
        out.extend_from_slice(b",\"machine\":");
        string(out, &about.machine);
        out.extend_from_slice(b",\"title\":");
        string(out, &about.title);
        out.extend_from_slice(b",\"nr_cpus\":");
        push_number(out, u64::from(about.nr_cpus));
        out.extend_from_slice(b"},\"traceEvents\":[\n");
        for cpu in 0..about.nr_cpus {
            self.open(out, "M", CpuId(cpu), Timestamp::default());
            out.extend_from_slice(
                format!(",\"name\":\"thread_name\",\"args\":{{\"name\":\"CPU {cpu}\"}}}}")
                    .as_bytes(),
            );
        }
    }

    fn event(
        &mut self,
        event: &SchedEvent,
        state: &State,
        names: &Names,
        out: &mut Vec<u8>,
    ) -> Said {
        let Some(name) = name(&event.kind) else {
            return Said::No;
        };
        self.open(out, "i", event.cpu, event.time);
        out.extend_from_slice(b",\"s\":\"t\",\"name\":\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\",\"args\":{");
        let mut fields = Fields {
            out,
            has_some: false,
        };
        arguments(event, state, names, &mut fields);
        let current = match event.kind {
            EventKind::Switch { prev, .. } => prev,
            _ => state.running(event.cpu),
        };
        fields.number("common_pid", current.map_or(0, |task| u64::from(task.0)));
        out.extend_from_slice(b"}}");
        if let EventKind::Switch { prev, .. } = event.kind {
            self.slice(prev, event.cpu, event.time, state, names, out);
        }
        Said::Yes
    }

    fn end(&mut self, state: &State, names: &Names, out: &mut Vec<u8>) {
        for (cpu, task) in state.all_running() {
            self.slice(task, cpu, state.now(), state, names, out);
        }
        out.extend_from_slice(b"\n]}\n");
    }
}
