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
            // A name that no event has told, from the tables of the recording. Not the name that was last
            // decoded: decoding is ahead, and an exec between here and there has another.
            let known = ctx.tasks.get(raw.current);
            let name = if known.told_name == NONE {
                known.listed_name
            } else {
                NONE
            };
            Self::tell(raw.current, name, NO_PRIO, time, cpu, ctx, out);
        }
        match raw.kind {
            RawKind::Process => {
                ctx.tasks.belongs(raw.a, raw.value as u32, raw.current);
                if raw.a_name == NONE {
                    // A new task; the event of the fork tells it. Where that was lost, it has its
                    // parent's name.
                    Self::inherit(raw.a, raw.current, ctx);
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

    fn inherit(child: u32, parent: u32, ctx: &mut Context) {
        let parent = ctx.tasks.get(parent);
        let name = if parent.told_name == NONE {
            parent.listed_name
        } else {
            parent.told_name
        };
        let child = ctx.tasks.get(child);
        if child.listed_name == NONE {
            child.listed_name = name;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn emit(emitter: &mut Emitter, raw: &RawEvent, ctx: &mut Context) -> Vec<String> {
        let mut out = Vec::new();
        emitter.emit(raw, ctx, &mut out);
        out.iter()
            .map(|event| format!("{:?}", event.kind))
            .collect()
    }

    fn waking(time: u64, current: u32) -> RawEvent {
        let mut raw = RawEvent::new(time, 1, RawKind::Waking);
        (raw.a, raw.value, raw.current) = (9, 0, current);
        raw
    }

    /// A recording is decoded some way ahead of what is delivered. The exec in it, at 20, was decoded before
    /// what the task did at 10 is delivered.
    #[test]
    fn a_name_is_not_told_before_its_time() {
        let (mut emitter, mut ctx) = (Emitter::default(), Context::new());
        ctx.list(7, b"listed");
        let sh = ctx.comm(7, b"sh");
        let mut named = RawEvent::new(5, 0, RawKind::WakeupNew);
        (named.a, named.a_name) = (7, sh);
        let mut exec = RawEvent::new(20, 1, RawKind::Process);
        (exec.a, exec.a_name, exec.value) = (7, ctx.comm(7, b"sleep"), 7);

        let told = |name: u32| format!("Named {{ task: task7, name: NameId({name}) }}");
        assert!(emit(&mut emitter, &named, &mut ctx).contains(&told(sh)));
        let woke = emit(&mut emitter, &waking(10, 7), &mut ctx);
        assert!(woke[0].starts_with("Running"), "{woke:?}");
        assert!(
            !woke.iter().any(|kind| kind.starts_with("Named")),
            "{woke:?}"
        );
        assert!(emit(&mut emitter, &exec, &mut ctx).contains(&told(exec.a_name)));
    }

    #[test]
    fn a_listed_name_is_told_of_a_task_that_runs_and_that_no_event_named() {
        let (mut emitter, mut ctx) = (Emitter::default(), Context::new());
        ctx.list(7, b"sh");
        let woke = emit(&mut emitter, &waking(10, 7), &mut ctx);
        let name = ctx.names.intern(b"sh");
        assert_eq!(woke[1], format!("Named {{ task: task7, name: {name:?} }}"));
        // Its child has it, too, where the event of the fork was lost. (perf's own record of it is left.)
        let mut forked = RawEvent::new(11, 1, RawKind::Process);
        (forked.a, forked.value, forked.current) = (8, 8, 7);
        assert!(emit(&mut emitter, &forked, &mut ctx).is_empty());
        let woke = emit(&mut emitter, &waking(12, 8), &mut ctx);
        assert!(woke.contains(&format!("Named {{ task: task8, name: {name:?} }}")));
        // Not again.
        let woke = emit(&mut emitter, &waking(13, 7), &mut ctx);
        assert!(woke.iter().all(|kind| !kind.contains("Named")), "{woke:?}");
    }
}
