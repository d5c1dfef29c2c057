//! From decoded events to delivered ones: names and priorities once, times that never go back.

use fairlab_event::{DelayCause, EventKind, NameId, SchedEvent};
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

use crate::context::Context;
use crate::ledger::Loss;
use crate::raw::{NO_PRIO, NONE, RawEvent, RawKind};

/// CPUs above this cannot exist; what runs on them is not tracked.
const MOST_CPUS: u32 = 1 << 14;

/// What was delivered so far.
#[derive(Debug, Default)]
pub(crate) struct Emitter {
    last: u64,
    /// By CPU: the task that runs, [`NONE`] if unknown.
    running: Vec<u32>,
}

fn task(pid: u32) -> Option<TaskId> {
    (pid != 0 && pid != NONE).then_some(TaskId(pid))
}

impl Emitter {
    /// Appends what `raw` says to `out`.
    #[inline]
    pub(crate) fn emit(&mut self, raw: &RawEvent, ctx: &mut Context, out: &mut Vec<SchedEvent>) {
        if raw.time < self.last {
            ctx.ledger.late();
        } else {
            self.last = raw.time;
        }
        let time = Timestamp(self.last);
        let cpu = CpuId(raw.cpu);
        if raw.kind != RawKind::Process && self.track(raw, time, out) && raw.current != 0 {
            // A name that no event will tell, from the tables of the recording.
            let name = ctx.tasks.get(raw.current).name;
            Self::tell(raw.current, name, NO_PRIO, time, cpu, ctx, out);
        }
        match raw.kind {
            RawKind::Process => {
                ctx.tasks.belongs(raw.a, raw.value as u32, raw.current);
                if raw.a_name == NONE {
                    // A new task; the event of the fork tells it.
                    return;
                }
            }
            RawKind::Fork if raw.value != 0 => {
                ctx.tasks.belongs(raw.b, raw.value as u32, raw.a);
            }
            _ => {}
        }
        Self::tell(raw.a, raw.a_name, raw.a_prio, time, cpu, ctx, out);
        Self::tell(raw.b, raw.b_name, raw.b_prio, time, cpu, ctx, out);
        if let Some(kind) = Self::kind(raw, time, ctx) {
            out.push(SchedEvent { time, cpu, kind });
        }
    }

    /// Follows who runs on the CPU, and says so where no switch did; true if it said so.
    #[inline]
    fn track(&mut self, raw: &RawEvent, time: Timestamp, out: &mut Vec<SchedEvent>) -> bool {
        if raw.cpu >= MOST_CPUS {
            return false;
        }
        let index = raw.cpu as usize;
        if index >= self.running.len() {
            self.running.resize(index + 1, NONE);
        }
        let running = &mut self.running[index];
        match raw.kind {
            RawKind::Switch => *running = raw.b,
            RawKind::Lost => *running = NONE,
            _ if raw.current != NONE && raw.current != *running => {
                *running = raw.current;
                out.push(SchedEvent {
                    time,
                    cpu: CpuId(raw.cpu),
                    kind: EventKind::Running {
                        task: task(raw.current),
                    },
                });
                return true;
            }
            _ => {}
        }
        false
    }

    /// Tells the task's process, name and priority if they are new.
    #[inline]
    fn tell(
        pid: u32,
        name: u32,
        prio: i16,
        time: Timestamp,
        cpu: CpuId,
        ctx: &mut Context,
        out: &mut Vec<SchedEvent>,
    ) {
        if pid == 0 || pid == NONE {
            return;
        }
        let known = ctx.tasks.get(pid);
        let task = TaskId(pid);
        if known.process != known.told_process {
            known.told_process = known.process;
            let kind = EventKind::Process {
                task,
                process: TaskId(known.process),
                parent: (known.parent != NONE).then_some(TaskId(known.parent)),
            };
            out.push(SchedEvent { time, cpu, kind });
        }
        if name != NONE && name != known.told_name {
            known.told_name = name;
            let kind = EventKind::Named {
                task,
                name: NameId(name),
            };
            out.push(SchedEvent { time, cpu, kind });
        }
        if prio != NO_PRIO && prio != known.told_prio {
            known.told_prio = prio;
            let kind = EventKind::Priority { task, prio };
            out.push(SchedEvent { time, cpu, kind });
        }
    }

    #[inline]
    fn kind(raw: &RawEvent, time: Timestamp, ctx: &mut Context) -> Option<EventKind> {
        let delay = |cause| {
            Some(EventKind::StatDelay {
                task: task(raw.a)?,
                cause,
                delay: Nanos(raw.value),
            })
        };
        match raw.kind {
            RawKind::Switch => Some(EventKind::Switch {
                prev: task(raw.a),
                prev_state: raw.state,
                next: task(raw.b),
            }),
            RawKind::Waking => Some(EventKind::Waking {
                task: task(raw.a)?,
                prev_cpu: CpuId(raw.value as u32),
            }),
            RawKind::Wakeup => Some(EventKind::Wakeup {
                task: task(raw.a)?,
                target: CpuId(raw.value as u32),
            }),
            RawKind::WakeupNew => Some(EventKind::WakeupNew {
                task: task(raw.a)?,
                target: CpuId(raw.value as u32),
            }),
            RawKind::Migrate => Some(EventKind::Migrate {
                task: task(raw.a)?,
                from: CpuId((raw.value >> 32) as u32),
                to: CpuId(raw.value as u32),
            }),
            RawKind::Fork => Some(EventKind::Fork {
                parent: TaskId(raw.a),
                child: task(raw.b)?,
            }),
            RawKind::Exec => Some(EventKind::Exec { task: task(raw.a)? }),
            RawKind::Exit => Some(EventKind::Exit { task: task(raw.a)? }),
            RawKind::Named | RawKind::Process => None,
            RawKind::StatRuntime => Some(EventKind::StatRuntime {
                task: task(raw.a)?,
                runtime: Nanos(raw.value),
            }),
            RawKind::StatWait => delay(DelayCause::Wait),
            RawKind::StatSleep => delay(DelayCause::Sleep),
            RawKind::StatBlocked => delay(DelayCause::Blocked),
            RawKind::StatIoWait => delay(DelayCause::IoWait),
            RawKind::CpuIdle => Some(EventKind::CpuIdle {
                state: (raw.value as u32 != NONE).then_some(raw.value as u32),
            }),
            RawKind::CpuFrequency => Some(EventKind::CpuFrequency {
                target: CpuId((raw.value >> 32) as u32),
                khz: raw.value as u32,
            }),
            RawKind::Lost => {
                let count = (raw.value > 0).then_some(raw.value);
                ctx.ledger.loss(Loss {
                    time,
                    cpu: (raw.cpu != NONE).then_some(CpuId(raw.cpu)),
                    count,
                });
                Some(EventKind::Lost { count })
            }
        }
    }
}
