//! From the fields of a tracepoint, wherever they came from, to an event.

use fairlab_event::SwitchState;

use crate::context::Context;
use crate::known::Known;
use crate::raw::{NO_PRIO, NONE, RawEvent, RawKind};

/// CPUs above this do not exist.
const MOST_CPUS: i64 = 1 << 20;

/// The fields of one event. What a tracepoint does not have stays as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// The task, or the first one.
    pub a: i64,
    pub a_name: u32,
    pub a_prio: i64,
    /// The second task.
    pub b: i64,
    pub b_name: u32,
    pub b_prio: i64,
    /// `target_cpu`, `orig_cpu`, `runtime`, `delay`, `state`.
    pub first: i64,
    /// `dest_cpu`, `cpu_id`, `success`.
    pub second: i64,
    pub state: SwitchState,
}

/// A field that is not there.
pub(crate) const ABSENT: i64 = i64::MIN;

impl Parts {
    pub(crate) const EMPTY: Self = Self {
        a: ABSENT,
        a_name: NONE,
        a_prio: ABSENT,
        b: ABSENT,
        b_name: NONE,
        b_prio: ABSENT,
        first: ABSENT,
        second: ABSENT,
        state: SwitchState::Unknown,
    };
}

/// A number of a task as we keep it; negative ones (tasks that are gone) are no task.
#[inline]
pub(crate) fn pid(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}

#[inline]
fn prio(number: i64) -> i16 {
    i16::try_from(number).unwrap_or(NO_PRIO)
}

#[inline]
fn cpu(number: i64) -> Option<u64> {
    (0..MOST_CPUS).contains(&number).then_some(number as u64)
}

/// Makes the event; `None` when the fields make no sense, or when nothing happened.
// Inlined, so that it is short where the kind is known beforehand.
#[inline(always)]
pub(crate) fn assemble(
    known: Known,
    time: u64,
    on_cpu: u32,
    current: u32,
    parts: &Parts,
    ctx: &mut Context,
) -> Option<RawEvent> {
    let mut event = RawEvent::new(time, on_cpu, RawKind::Named);
    event.current = current;
    event.a = pid(parts.a);
    event.a_name = parts.a_name;
    event.a_prio = prio(parts.a_prio);
    match known {
        Known::Switch => {
            event.kind = RawKind::Switch;
            event.b = pid(parts.b);
            event.b_name = parts.b_name;
            event.b_prio = prio(parts.b_prio);
            event.state = parts.state;
        }
        Known::Waking | Known::Wakeup | Known::WakeupNew => {
            if parts.second == 0 {
                ctx.ledger.idle_wakeup();
                return None;
            }
            event.kind = match known {
                Known::Waking => RawKind::Waking,
                Known::Wakeup => RawKind::Wakeup,
                _ => RawKind::WakeupNew,
            };
            event.value = if parts.first == ABSENT {
                u64::from(NONE)
            } else {
                cpu(parts.first)?
            };
        }
        Known::Migrate => {
            event.kind = RawKind::Migrate;
            event.value = cpu(parts.first)? << 32 | cpu(parts.second)?;
        }
        Known::Fork => {
            event.kind = RawKind::Fork;
            event.b = pid(parts.b);
            event.b_name = parts.b_name;
        }
        Known::Exec => event.kind = RawKind::Exec,
        Known::Exit => event.kind = RawKind::Exit,
        Known::StatRuntime
        | Known::StatWait
        | Known::StatSleep
        | Known::StatBlocked
        | Known::StatIoWait => {
            event.kind = match known {
                Known::StatRuntime => RawKind::StatRuntime,
                Known::StatWait => RawKind::StatWait,
                Known::StatSleep => RawKind::StatSleep,
                Known::StatBlocked => RawKind::StatBlocked,
                _ => RawKind::StatIoWait,
            };
            if parts.first == ABSENT {
                return None;
            }
            event.value = parts.first as u64;
        }
        Known::PiSetprio | Known::TaskRename | Known::TaskNew => {}
        Known::CpuIdle => {
            event.kind = RawKind::CpuIdle;
            event.a = NONE;
            event.value = parts.first as u64 & u64::from(NONE);
            if parts.second != ABSENT {
                let about = cpu(parts.second)? as u32;
                if about != on_cpu {
                    event.current = NONE;
                }
                event.cpu = about;
            }
        }
        Known::CpuFrequency => {
            event.kind = RawKind::CpuFrequency;
            event.a = NONE;
            let about = if parts.second == ABSENT {
                u64::from(on_cpu)
            } else {
                cpu(parts.second)?
            };
            event.value = about << 32 | (parts.first as u64 & u64::from(NONE));
        }
    }
    Some(event)
}
