//! The compact form of switches and wakings: a table per field, times as differences, names by number.
//!
//! It leaves out who ran before a switch, because that is who the switch before let run.

use super::proto::Packed;
use super::{Fields, Value};
use crate::assemble::{Parts, assemble};
use crate::context::Context;
use crate::counts::CountId;
use crate::known::Known;
use crate::raw::{NO_PRIO, NONE, RawEvent, RawKind};
use crate::state;

/// Fields of `CompactSched`.
pub(super) mod field {
    pub const SWITCH_TIMESTAMP: u32 = 1;
    pub const SWITCH_PREV_STATE: u32 = 2;
    pub const SWITCH_NEXT_PID: u32 = 3;
    pub const SWITCH_NEXT_PRIO: u32 = 4;
    pub const INTERN_TABLE: u32 = 5;
    pub const SWITCH_NEXT_COMM: u32 = 6;
    pub const WAKING_TIMESTAMP: u32 = 7;
    pub const WAKING_PID: u32 = 8;
    pub const WAKING_TARGET_CPU: u32 = 9;
    pub const WAKING_PRIO: u32 = 10;
    pub const WAKING_COMM: u32 = 11;
}

/// Decodes the tables of one CPU, bundle after bundle.
pub(super) struct Compact {
    cpu: u32,
    is_new_kernel: bool,
    /// Who runs, with its priority; [`NONE`] before the first switch and after losses.
    running: (u32, i16),
    switches: CountId,
    wakings: CountId,
}

impl Compact {
    pub(super) fn new(cpu: u32, is_new_kernel: bool, ctx: &mut Context) -> Self {
        Self {
            cpu,
            is_new_kernel,
            running: (NONE, NO_PRIO),
            switches: ctx.counts.id("sched_switch", true),
            wakings: ctx.counts.id("sched_waking", true),
        }
    }

    /// Switches are missing from here on.
    pub(super) fn forget(&mut self) {
        self.running = (NONE, NO_PRIO);
    }

    pub(super) fn decode(&mut self, message: &[u8], ctx: &mut Context, out: &mut Vec<RawEvent>) {
        let mut names: Vec<&[u8]> = Vec::new();
        let mut tables: [&[u8]; 12] = [&[]; 12];
        for (number, value) in Fields::new(message).flatten() {
            let Value::Bytes(bytes) = value else { continue };
            if number == field::INTERN_TABLE {
                names.push(bytes);
            } else if let Some(table) = tables.get_mut(number as usize) {
                *table = bytes;
            }
        }
        let table = |number: u32| Packed(tables[number as usize]);
        let name_of = |pid: u32, index: u64, ctx: &mut Context| {
            let name = usize::try_from(index).ok().and_then(|at| names.get(at));
            match name {
                Some(name) if pid != 0 => ctx.comm(pid, name),
                _ => NONE,
            }
        };
        let mut time = 0u64;
        for ((((delta, state_number), pid), prio), comm) in table(field::SWITCH_TIMESTAMP)
            .zip(table(field::SWITCH_PREV_STATE))
            .zip(table(field::SWITCH_NEXT_PID))
            .zip(table(field::SWITCH_NEXT_PRIO))
            .zip(table(field::SWITCH_NEXT_COMM))
        {
            time = time.wrapping_add(delta);
            ctx.counts.add(self.switches);
            let pid = crate::assemble::pid(i64::from(pid as i32));
            let prio = i16::try_from(prio as i32).unwrap_or(NO_PRIO);
            let (before, before_prio) = std::mem::replace(&mut self.running, (pid, prio));
            let mut event = RawEvent::new(time, self.cpu, RawKind::Switch);
            event.b = pid;
            event.b_prio = prio;
            event.b_name = name_of(pid, comm, ctx);
            if before == NONE {
                // Who ran is unknown, and saying nobody would be wrong. Who runs is known.
                event.kind = RawKind::Named;
                event.current = pid;
            } else {
                event.a = before;
                event.a_prio = before_prio;
                event.state = state::from_number(state_number, self.is_new_kernel);
            }
            out.push(event);
        }
        let mut time = 0u64;
        for ((((delta, pid), target), prio), comm) in table(field::WAKING_TIMESTAMP)
            .zip(table(field::WAKING_PID))
            .zip(table(field::WAKING_TARGET_CPU))
            .zip(table(field::WAKING_PRIO))
            .zip(table(field::WAKING_COMM))
        {
            time = time.wrapping_add(delta);
            ctx.counts.add(self.wakings);
            let pid = crate::assemble::pid(i64::from(pid as i32));
            let mut parts = Parts::EMPTY;
            parts.a = i64::from(pid);
            parts.a_name = name_of(pid, comm, ctx);
            parts.a_prio = i64::from(prio as i32);
            parts.first = i64::from(target as i32);
            out.extend(assemble(Known::Waking, time, self.cpu, NONE, &parts, ctx));
        }
    }
}
