//! One `FtraceEvent`.

use super::{Fields, Value};
use crate::assemble::{self, Parts, assemble};
use crate::context::Context;
use crate::known::Known;
use crate::raw::{NONE, RawEvent};
use crate::state;

/// Fields of `FtraceEvent`.
const TIMESTAMP: u32 = 1;
const PID: u32 = 2;
const COMMON_FLAGS: u32 = 5;
const GENERIC: u32 = 327;

/// Decodes the events of one CPU.
pub(super) struct EventDecoder {
    cpu: u32,
    is_new_kernel: bool,
}

/// Where the parts of an event are: numbers of fields, 0 for none.
#[derive(Clone, Copy)]
struct Plan {
    a_comm: u32,
    a: u32,
    a_prio: u32,
    b_comm: u32,
    b: u32,
    b_prio: u32,
    first: u32,
    second: u32,
}

const NOTHING: Plan = Plan {
    a_comm: 0,
    a: 0,
    a_prio: 0,
    b_comm: 0,
    b: 0,
    b_prio: 0,
    first: 0,
    second: 0,
};

/// What an event is, by its field in `FtraceEvent`.
fn plan(field: u32) -> Option<(Known, Plan)> {
    let wakeup = Plan {
        a_comm: 1,
        a: 2,
        a_prio: 3,
        first: 5,
        ..NOTHING
    };
    let power = Plan {
        first: 1,
        second: 2,
        ..NOTHING
    };
    Some(match field {
        4 => (
            Known::Switch,
            Plan {
                a_comm: 1,
                a: 2,
                a_prio: 3,
                first: 4,
                b_comm: 5,
                b: 6,
                b_prio: 7,
                ..NOTHING
            },
        ),
        11 => (Known::CpuFrequency, power),
        13 => (Known::CpuIdle, power),
        17 => (Known::Wakeup, wakeup),
        20 => (Known::Waking, wakeup),
        114 => (Known::WakeupNew, wakeup),
        235 => (
            Known::TaskNew,
            Plan {
                a: 1,
                a_comm: 2,
                ..NOTHING
            },
        ),
        236 => (
            Known::TaskRename,
            Plan {
                a: 1,
                a_comm: 3,
                ..NOTHING
            },
        ),
        237 => (Known::Exec, Plan { a: 2, ..NOTHING }),
        238 => (
            Known::Exit,
            Plan {
                a_comm: 1,
                a: 2,
                a_prio: 4,
                ..NOTHING
            },
        ),
        239 => (
            Known::Fork,
            Plan {
                a_comm: 1,
                a: 2,
                b_comm: 3,
                b: 4,
                ..NOTHING
            },
        ),
        353 => (
            Known::PiSetprio,
            Plan {
                a_comm: 1,
                a_prio: 2,
                a: 4,
                ..NOTHING
            },
        ),
        491 => (
            Known::Migrate,
            Plan {
                a_comm: 1,
                a: 2,
                a_prio: 3,
                first: 4,
                second: 5,
                ..NOTHING
            },
        ),
        _ => return None,
    })
}

/// Names of events, for counting. The others are counted by number.
fn name(field: u32) -> Option<&'static str> {
    Some(match field {
        3 => "print",
        4 => "sched_switch",
        11 => "cpu_frequency",
        12 => "cpu_frequency_limits",
        13 => "cpu_idle",
        14 => "clock_enable",
        15 => "clock_disable",
        16 => "clock_set_rate",
        17 => "sched_wakeup",
        18 => "sched_blocked_reason",
        19 => "sched_cpu_hotplug",
        20 => "sched_waking",
        21 => "ipi_entry",
        22 => "ipi_exit",
        23 => "ipi_raise",
        24 => "softirq_entry",
        25 => "softirq_exit",
        26 => "softirq_raise",
        36 => "irq_handler_entry",
        37 => "irq_handler_exit",
        50 => "binder_transaction",
        51 => "binder_transaction_received",
        53 => "binder_lock",
        54 => "binder_locked",
        55 => "binder_unlock",
        56 => "workqueue_activate_work",
        57 => "workqueue_execute_end",
        58 => "workqueue_execute_start",
        59 => "workqueue_queue_work",
        113 => "suspend_resume",
        114 => "sched_wakeup_new",
        235 => "task_newtask",
        236 => "task_rename",
        237 => "sched_process_exec",
        238 => "sched_process_exit",
        239 => "sched_process_fork",
        240 => "sched_process_free",
        241 => "sched_process_hang",
        242 => "sched_process_wait",
        313 => "rss_stat",
        320 => "clk_enable",
        321 => "clk_disable",
        322 => "clk_set_rate",
        324 => "signal_deliver",
        325 => "signal_generate",
        326 => "oom_score_adj_update",
        329 => "sys_enter",
        330 => "sys_exit",
        332 => "gpu_frequency",
        340 => "gpu_mem_total",
        353 => "sched_pi_setprio",
        359 => "rss_stat_throttled",
        421 => "sched_cpu_util_cfs",
        491 => "sched_migrate_task",
        _ => return None,
    })
}

impl EventDecoder {
    pub(super) const fn new(cpu: u32, is_new_kernel: bool) -> Self {
        Self { cpu, is_new_kernel }
    }

    /// Makes an event of the message, and counts it.
    pub(super) fn decode(&self, message: &[u8], ctx: &mut Context) -> Option<RawEvent> {
        let mut time = 0;
        let mut current = NONE;
        let mut found = None;
        for field in Fields::new(message) {
            match field? {
                (TIMESTAMP, Value::Number(number)) => time = number,
                (PID, Value::Number(number)) => current = assemble::pid(number as i64),
                (COMMON_FLAGS, _) => {}
                (number, Value::Bytes(bytes)) => found = Some((number, bytes)),
                _ => {}
            }
        }
        let (number, fields) = found?;
        if number == GENERIC {
            return self.generic(fields, time, current, ctx);
        }
        let plan = plan(number);
        let id = match name(number) {
            Some(name) => ctx.counts.id(name, plan.is_some()),
            None => ctx.counts.id(&format!("(ftrace event {number})"), false),
        };
        ctx.counts.add(id);
        let (known, plan) = plan?;
        let mut parts = Parts::EMPTY;
        // Numbers that are 0 are not written by all writers.
        let (mut a_comm, mut b_comm) = (None, None);
        if plan.first != 0 {
            parts.first = 0;
        }
        if plan.second != 0 {
            parts.second = 0;
        }
        if plan.a != 0 {
            parts.a = 0;
        }
        if plan.b != 0 {
            parts.b = 0;
        }
        for field in Fields::new(fields) {
            let (number, value) = field?;
            match value {
                Value::Bytes(bytes) if number == plan.a_comm => a_comm = Some(bytes),
                Value::Bytes(bytes) if number == plan.b_comm => b_comm = Some(bytes),
                Value::Bytes(_) => {}
                Value::Number(value) => {
                    let value = value as i64;
                    if number == plan.a {
                        parts.a = value;
                    } else if number == plan.a_prio {
                        parts.a_prio = i64::from(value as i32);
                    } else if number == plan.b {
                        parts.b = value;
                    } else if number == plan.b_prio {
                        parts.b_prio = i64::from(value as i32);
                    } else if number == plan.first {
                        parts.first = value;
                    } else if number == plan.second {
                        parts.second = value;
                    }
                }
            }
        }
        self.finish(known, parts, a_comm, b_comm, time, current, ctx)
    }

    /// An event that Perfetto has no message for: names and values.
    fn generic(
        &self,
        message: &[u8],
        time: u64,
        current: u32,
        ctx: &mut Context,
    ) -> Option<RawEvent> {
        let text = |value: Value<'_>| {
            String::from_utf8_lossy(value.bytes().unwrap_or_default()).into_owned()
        };
        let event = Fields::new(message)
            .flatten()
            .find(|(number, _)| *number == 1)
            .map(|(_, value)| text(value))?;
        let known = Known::from_name(&event);
        let id = ctx.counts.id(&event, known.is_some());
        ctx.counts.add(id);
        let known = known?;
        let mut parts = Parts::EMPTY;
        let (mut a_comm, mut b_comm) = (None, None);
        for (number, value) in Fields::new(message).flatten() {
            let (2, Value::Bytes(field)) = (number, value) else {
                continue;
            };
            let (mut name, mut string, mut int) = (String::new(), None, 0);
            for (number, value) in Fields::new(field).flatten() {
                match number {
                    1 => name = text(value),
                    3 => string = value.bytes(),
                    4 | 5 => int = value.signed().unwrap_or(0),
                    _ => {}
                }
            }
            match name.as_str() {
                "prev_comm" | "comm" | "parent_comm" | "newcomm" => a_comm = string,
                "next_comm" | "child_comm" => b_comm = string,
                "prev_pid" | "pid" | "parent_pid" => parts.a = int,
                "next_pid" | "child_pid" => parts.b = int,
                "prev_prio" | "prio" | "newprio" => parts.a_prio = int,
                "next_prio" => parts.b_prio = int,
                "prev_state" | "target_cpu" | "orig_cpu" | "runtime" | "delay" | "state" => {
                    parts.first = int;
                }
                "dest_cpu" | "cpu_id" => parts.second = int,
                _ => {}
            }
        }
        self.finish(known, parts, a_comm, b_comm, time, current, ctx)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one event")]
    fn finish(
        &self,
        known: Known,
        mut parts: Parts,
        a_comm: Option<&[u8]>,
        b_comm: Option<&[u8]>,
        time: u64,
        current: u32,
        ctx: &mut Context,
    ) -> Option<RawEvent> {
        if known == Known::Switch {
            parts.state = state::from_number(parts.first as u64, self.is_new_kernel);
        }
        let (a, b) = (assemble::pid(parts.a), assemble::pid(parts.b));
        if let Some(comm) = a_comm
            && a != 0
        {
            parts.a_name = ctx.comm(a, comm);
        }
        if let Some(comm) = b_comm
            && b != 0
        {
            parts.b_name = ctx.comm(b, comm);
        }
        assemble(known, time, self.cpu, current, &parts, ctx)
    }
}
