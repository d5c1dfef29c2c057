//! Perfetto's protobuf: bundles of ftrace events, one CPU each.
//!
//! The messages are written by hand, since a bundle is little more than numbers with tags: field
//! numbers are those of `protos/perfetto/trace/` (`trace_packet.proto`, `ftrace/*.proto`).
//!
//! ```text
//!   Trace { packet*: TracePacket { ftrace_events: FtraceEventBundle { cpu, event*: FtraceEvent } } }
//! ```

use fairlab_event::{EventKind, SchedEvent};
use fairlab_units::CpuId;

use super::mark::Mark;
use super::state::{Comm, Printed, State, push_number};
use super::tracks::Tracks;
use super::{About, Form, Said};
use crate::names::Names;
use crate::state;

/// A bundle is handed on when it has this many bytes: large enough that its frame does not count,
/// small enough that viewers sort events of CPUs without much memory.
const BUNDLE: usize = 32 << 10;

/// The number by which Perfetto knows who wrote a sequence of packets. Any but 0.
const SEQUENCE: u64 = 1;

/// The form.
#[derive(Default)]
pub(super) struct Perfetto {
    /// By CPU: events that wait for their bundle.
    bundles: Vec<Bundle>,
    /// The fields of the event that is being written.
    scratch: Vec<u8>,
    tracks: Tracks,
}

#[derive(Default)]
struct Bundle {
    events: Vec<u8>,
    has_loss: bool,
}

/// Field numbers of `FtraceEvent`.
mod event_field {
    pub const TIMESTAMP: u32 = 1;
    pub const PID: u32 = 2;
    pub const SCHED_SWITCH: u32 = 4;
    pub const CPU_FREQUENCY: u32 = 11;
    pub const CPU_IDLE: u32 = 13;
    pub const SCHED_WAKEUP: u32 = 17;
    pub const SCHED_WAKING: u32 = 20;
    pub const SCHED_WAKEUP_NEW: u32 = 114;
    pub const TASK_RENAME: u32 = 236;
    pub const SCHED_PROCESS_EXEC: u32 = 237;
    pub const SCHED_PROCESS_EXIT: u32 = 238;
    pub const SCHED_PROCESS_FORK: u32 = 239;
    pub const SCHED_MIGRATE_TASK: u32 = 491;
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3);
    varint(out, value);
}

/// An `int32`, which takes ten bytes when negative.
fn signed(out: &mut Vec<u8>, field: u32, value: i64) {
    number(out, field, value.cast_unsigned());
}

pub(super) fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn comm(out: &mut Vec<u8>, field: u32, comm: Comm<'_>) {
    match comm {
        Comm::Name(name) => bytes(out, field, name.as_bytes()),
        Comm::Idle(cpu) => {
            let mut name = Vec::with_capacity(16);
            name.extend_from_slice(b"swapper/");
            push_number(&mut name, u64::from(cpu.0));
            bytes(out, field, &name);
        }
        // No name is better than `<...>`, which viewers would show as one.
        Comm::Unknown => {}
    }
}

/// `comm = 1, pid = 2`, and `prio = 3`, which most events begin with.
fn who(out: &mut Vec<u8>, task: Printed<'_>) {
    comm(out, 1, task.comm);
    number(out, 2, u64::from(task.pid));
}

fn who_prio(out: &mut Vec<u8>, task: Printed<'_>) {
    who(out, task);
    signed(out, 3, i64::from(task.prio));
}

/// Writes the fields of the event to `out` and gives its number; `None` if there is no such event.
fn payload(event: &SchedEvent, state: &State, names: &Names, out: &mut Vec<u8>) -> Option<u32> {
    let printed = |task| state.printed(task, event.cpu, names);
    let wakeup = |out: &mut Vec<u8>, task, target: CpuId| {
        who_prio(out, printed(Some(task)));
        // `success`, which old viewers look at.
        number(out, 4, 1);
        number(out, 5, u64::from(target.0));
    };
    Some(match event.kind {
        EventKind::Switch {
            prev,
            prev_state,
            next,
        } => {
            who_prio(out, printed(prev));
            if let Some(bits) = state::bits(prev_state) {
                number(out, 4, bits);
            }
            let next = printed(next);
            comm(out, 5, next.comm);
            number(out, 6, u64::from(next.pid));
            signed(out, 7, i64::from(next.prio));
            event_field::SCHED_SWITCH
        }
        EventKind::Waking { task, prev_cpu } => {
            wakeup(out, task, prev_cpu);
            event_field::SCHED_WAKING
        }
        EventKind::Wakeup { task, target } => {
            wakeup(out, task, target);
            event_field::SCHED_WAKEUP
        }
        EventKind::WakeupNew { task, target } => {
            wakeup(out, task, target);
            event_field::SCHED_WAKEUP_NEW
        }
        EventKind::Migrate { task, from, to } => {
            who_prio(out, printed(Some(task)));
            number(out, 4, u64::from(from.0));
            number(out, 5, u64::from(to.0));
            event_field::SCHED_MIGRATE_TASK
        }
        EventKind::Fork { parent, child } => {
            who(out, printed(Some(parent)));
            let child = printed(Some(child));
            comm(out, 3, child.comm);
            number(out, 4, u64::from(child.pid));
            event_field::SCHED_PROCESS_FORK
        }
        EventKind::Exec { task } => {
            let task = printed(Some(task));
            who(out, task);
            number(out, 3, u64::from(task.pid));
            event_field::SCHED_PROCESS_EXEC
        }
        EventKind::Exit { task } => {
            let task = printed(Some(task));
            who(out, task);
            number(out, 3, u64::from(task.pid));
            signed(out, 4, i64::from(task.prio));
            event_field::SCHED_PROCESS_EXIT
        }
        EventKind::Named { task, name } => {
            number(out, 1, u64::from(task.0));
            comm(out, 2, printed(Some(task)).comm);
            bytes(out, 3, names.get(name).as_bytes());
            event_field::TASK_RENAME
        }
        EventKind::CpuIdle { state } => {
            number(out, 1, u64::from(state.unwrap_or(u32::MAX)));
            number(out, 2, u64::from(event.cpu.0));
            event_field::CPU_IDLE
        }
        EventKind::CpuFrequency { target, khz } => {
            number(out, 1, u64::from(khz));
            number(out, 2, u64::from(target.0));
            event_field::CPU_FREQUENCY
        }
        _ => return None,
    })
}

impl Bundle {
    /// Hands the events on as a packet.
    fn flush(&mut self, cpu: usize, out: &mut Vec<u8>) {
        if self.events.is_empty() && !self.has_loss {
            return;
        }
        let mut frame = Vec::with_capacity(16);
        number(&mut frame, 1, cpu as u64);
        if self.has_loss {
            number(&mut frame, 3, 1);
        }
        let mut packet = Vec::with_capacity(32);
        number(&mut packet, 10, SEQUENCE);
        varint(&mut packet, 1 << 3 | 2);
        varint(&mut packet, (frame.len() + self.events.len()) as u64);
        varint(out, 1 << 3 | 2);
        varint(out, (packet.len() + frame.len() + self.events.len()) as u64);
        out.extend_from_slice(&packet);
        out.extend_from_slice(&frame);
        out.extend_from_slice(&self.events);
        self.events.clear();
        self.has_loss = false;
    }
}

impl Form for Perfetto {
    fn begin(&mut self, about: &About, out: &mut Vec<u8>) {
        let mut utsname = Vec::new();
        bytes(&mut utsname, 1, b"Linux");
        bytes(&mut utsname, 2, about.title.as_bytes());
        bytes(&mut utsname, 3, about.release.as_bytes());
        bytes(&mut utsname, 4, about.machine.as_bytes());
        let mut system = Vec::new();
        bytes(&mut system, 1, &utsname);
        number(&mut system, 8, u64::from(about.nr_cpus));
        let mut packet = Vec::new();
        bytes(&mut packet, 45, &system);
        number(&mut packet, 10, SEQUENCE);
        bytes(out, 1, &packet);
    }

    fn event(
        &mut self,
        event: &SchedEvent,
        state: &State,
        names: &Names,
        out: &mut Vec<u8>,
    ) -> Said {
        let index = event.cpu.index();
        if index >= self.bundles.len() {
            self.bundles.resize_with(index + 1, Bundle::default);
        }
        let bundle = &mut self.bundles[index];
        if matches!(event.kind, EventKind::Lost { .. }) {
            // A bundle tells of a loss before its first event.
            bundle.flush(index, out);
            bundle.has_loss = true;
            return Said::Yes;
        }
        self.scratch.clear();
        let Some(field) = payload(event, state, names, &mut self.scratch) else {
            return Said::No;
        };
        let current = match event.kind {
            EventKind::Switch { prev, .. } => prev,
            _ => state.running(event.cpu),
        };
        let mut head = [0u8; 40];
        let mut head_out = HeadBuffer {
            bytes: &mut head,
            len: 0,
        };
        head_out.number(event_field::TIMESTAMP, event.time.0);
        head_out.number(
            event_field::PID,
            current.map_or(0, |task| u64::from(task.0)),
        );
        head_out.varint(u64::from(field) << 3 | 2);
        head_out.varint(self.scratch.len() as u64);
        let head = head_out.len;
        varint(&mut bundle.events, 2 << 3 | 2);
        varint(&mut bundle.events, (head + self.scratch.len()) as u64);
        let head_bytes = &head_out.bytes[..head];
        bundle.events.extend_from_slice(head_bytes);
        bundle.events.extend_from_slice(&self.scratch);
        if bundle.events.len() >= BUNDLE {
            bundle.flush(index, out);
        }
        Said::Yes
    }

    fn mark(&mut self, mark: &Mark<'_>, out: &mut Vec<u8>) -> Said {
        self.tracks.mark(mark, out);
        Said::Yes
    }

    fn end(&mut self, _: &State, _: &Names, out: &mut Vec<u8>) {
        for (cpu, bundle) in self.bundles.iter_mut().enumerate() {
            bundle.flush(cpu, out);
        }
    }
}

/// The fields before an event's own, whose length has to be known before they are written: at most
/// four numbers of ten bytes.
struct HeadBuffer<'a> {
    bytes: &'a mut [u8; 40],
    len: usize,
}

impl HeadBuffer<'_> {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes[self.len] = value as u8 | 0x80;
            self.len += 1;
            value >>= 7;
        }
        self.bytes[self.len] = value as u8;
        self.len += 1;
    }

    fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }
}
