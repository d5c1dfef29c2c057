//! Text as tracefs prints it (`trace` with the function tracer's header), with nanoseconds.

use fairlab_event::{DelayCause, EventKind, SchedEvent};
use fairlab_units::{CpuId, TaskId};

use super::state::{Comm, Printed, State, push_number, push_padded};
use super::{About, Form, Said};
use crate::names::Names;

/// The form; what it needs is in the state.
pub(super) struct Ftrace;

const LEGEND: &str = "\
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
";

impl Form for Ftrace {
    fn begin(&mut self, about: &About, out: &mut Vec<u8>) {
        out.extend_from_slice(b"# tracer: nop\n#\n");
        if !about.title.is_empty() {
            let title = about.title.replace('\n', " ");
            out.extend_from_slice(format!("# {title}\n#\n").as_bytes());
        }
        out.extend_from_slice(
            format!("#                              #P:{}\n#\n", about.nr_cpus).as_bytes(),
        );
        out.extend_from_slice(LEGEND.as_bytes());
    }

    fn event(
        &mut self,
        event: &SchedEvent,
        state: &State,
        names: &Names,
        out: &mut Vec<u8>,
    ) -> Said {
        if let EventKind::Lost { count } = event.kind {
            lost(event.cpu, count, out);
            return Said::Yes;
        }
        let start = out.len();
        prefix(event, state, names, out);
        if !arguments(event, state, names, out) {
            out.truncate(start);
            return Said::No;
        }
        out.push(b'\n');
        Said::Yes
    }

    fn end(&mut self, _: &State, _: &Names, _: &mut Vec<u8>) {}
}

fn lost(cpu: CpuId, count: Option<u64>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"CPU:");
    push_number(out, u64::from(cpu.0));
    out.extend_from_slice(b" [LOST ");
    if let Some(count) = count {
        push_number(out, count);
        out.push(b' ');
    }
    out.extend_from_slice(b"EVENTS]\n");
}

/// `comm-pid [cpu] flags time: `
fn prefix(event: &SchedEvent, state: &State, names: &Names, out: &mut Vec<u8>) {
    let current = match event.kind {
        EventKind::Switch { prev, .. } => prev,
        _ => state.running(event.cpu),
    };
    let current = state.printed(current, event.cpu, names);
    let start = out.len();
    match current.comm {
        Comm::Idle(_) => out.extend_from_slice(b"<idle>"),
        comm => comm.push(out),
    }
    let width = out.len() - start;
    if width < 16 {
        out.splice(start..start, std::iter::repeat_n(b' ', 16 - width));
    }
    out.push(b'-');
    let start = out.len();
    push_number(out, u64::from(current.pid));
    while out.len() < start + 7 {
        out.push(b' ');
    }
    out.extend_from_slice(b" [");
    push_padded(out, u64::from(event.cpu.0), 3);
    out.extend_from_slice(b"] d..2. ");
    push_number(out, event.time.0 / 1_000_000_000);
    out.push(b'.');
    push_padded(out, event.time.0 % 1_000_000_000, 9);
    out.extend_from_slice(b": ");
}

/// ` key=value`
fn field(out: &mut Vec<u8>, key: &str, value: u64) {
    out.push(b' ');
    out.extend_from_slice(key.as_bytes());
    out.push(b'=');
    push_number(out, value);
}

fn prio(out: &mut Vec<u8>, key: &str, prio: i16) {
    out.push(b' ');
    out.extend_from_slice(key.as_bytes());
    out.push(b'=');
    if prio < 0 {
        out.push(b'-');
    }
    push_number(out, u64::from(prio.unsigned_abs()));
}

/// `event: PREFIXcomm=... PREFIXpid=...`
fn opening(out: &mut Vec<u8>, event: &str, task: Printed<'_>) {
    out.extend_from_slice(event.as_bytes());
    out.extend_from_slice(b": comm=");
    task.comm.push(out);
    field(out, "pid", u64::from(task.pid));
}

/// The event's name and what it prints; false if there is no such event.
fn arguments(event: &SchedEvent, state: &State, names: &Names, out: &mut Vec<u8>) -> bool {
    let printed = |task: TaskId| state.printed(Some(task), event.cpu, names);
    let wakeup = |out: &mut Vec<u8>, name: &str, task: TaskId, target: CpuId| {
        let task = printed(task);
        opening(out, name, task);
        prio(out, "prio", task.prio);
        out.extend_from_slice(b" target_cpu=");
        push_padded(out, u64::from(target.0), 3);
    };
    match event.kind {
        EventKind::Switch {
            prev,
            prev_state,
            next,
        } => {
            let prev = state.printed(prev, event.cpu, names);
            let next = state.printed(next, event.cpu, names);
            out.extend_from_slice(b"sched_switch: prev_comm=");
            prev.comm.push(out);
            field(out, "prev_pid", u64::from(prev.pid));
            prio(out, "prev_prio", prev.prio);
            out.extend_from_slice(b" prev_state=");
            out.extend_from_slice(prev_state.letter().as_bytes());
            out.extend_from_slice(b" ==> next_comm=");
            next.comm.push(out);
            field(out, "next_pid", u64::from(next.pid));
            prio(out, "next_prio", next.prio);
        }
        EventKind::Waking { task, prev_cpu } => wakeup(out, "sched_waking", task, prev_cpu),
        EventKind::Wakeup { task, target } => wakeup(out, "sched_wakeup", task, target),
        EventKind::WakeupNew { task, target } => wakeup(out, "sched_wakeup_new", task, target),
        EventKind::Migrate { task, from, to } => {
            let task = printed(task);
            opening(out, "sched_migrate_task", task);
            prio(out, "prio", task.prio);
            field(out, "orig_cpu", u64::from(from.0));
            field(out, "dest_cpu", u64::from(to.0));
        }
        EventKind::Fork { parent, child } => {
            opening(out, "sched_process_fork", printed(parent));
            out.extend_from_slice(b" child_comm=");
            printed(child).comm.push(out);
            field(out, "child_pid", u64::from(child.0));
        }
        EventKind::Exec { task } => {
            out.extend_from_slice(b"sched_process_exec: filename=");
            printed(task).comm.push(out);
            field(out, "pid", u64::from(task.0));
            field(out, "old_pid", u64::from(task.0));
        }
        EventKind::Exit { task } => {
            let task = printed(task);
            opening(out, "sched_process_exit", task);
            prio(out, "prio", task.prio);
        }
        EventKind::Named { task, name } => {
            out.extend_from_slice(b"task_rename:");
            field(out, "pid", u64::from(task.0));
            out.extend_from_slice(b" oldcomm=");
            printed(task).comm.push(out);
            out.extend_from_slice(b" newcomm=");
            out.extend_from_slice(names.get(name).as_bytes());
            field(out, "oom_score_adj", 0);
        }
        EventKind::StatRuntime { task, runtime } => {
            opening(out, "sched_stat_runtime", printed(task));
            field(out, "runtime", runtime.0);
            out.extend_from_slice(b" [ns]");
        }
        EventKind::StatDelay { task, cause, delay } => {
            let name = match cause {
                DelayCause::Wait => "sched_stat_wait",
                DelayCause::Sleep => "sched_stat_sleep",
                DelayCause::Blocked => "sched_stat_blocked",
                DelayCause::IoWait => "sched_stat_iowait",
            };
            opening(out, name, printed(task));
            field(out, "delay", delay.0);
            out.extend_from_slice(b" [ns]");
        }
        EventKind::CpuIdle { state } => {
            out.extend_from_slice(b"cpu_idle:");
            field(out, "state", u64::from(state.unwrap_or(u32::MAX)));
            field(out, "cpu_id", u64::from(event.cpu.0));
        }
        EventKind::CpuFrequency { target, khz } => {
            out.extend_from_slice(b"cpu_frequency:");
            field(out, "state", u64::from(khz));
            field(out, "cpu_id", u64::from(target.0));
        }
        _ => return false,
    }
    true
}
