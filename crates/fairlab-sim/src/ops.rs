//! Running programs: what each operation of a task does.

use fairlab_policy::WakeFlags;
use fairlab_runqueue::Change;
use fairlab_topology::Distances;
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};
use fairlab_workload::{Channel, FutexId, MetricId, Op, PipeId, ProgramId, Span};

use crate::costs::CostTable;
use crate::engine::Engine;
use crate::loops::{Lap, LoopRow};
use crate::task::Phase;

/// How far the cost of copying a message spreads around its mean, in percent: caches and allocators
/// are never in the same state twice, and without it every seed would give the same run.
const COPY_SPREAD: u64 = 15;

/// Operations of a task that may follow each other in no time. More of them are a program that never
/// lets time pass, and so would never end.
const MOST_IN_NO_TIME: u32 = 1_000_000;

/// What comes of an operation.
pub(crate) enum Step {
    /// Go on with the next one at once.
    Next,
    /// Go on with the next one, after the kernel work that it caused.
    Paid,
    /// The same one again, after the kernel work that it caused.
    Again,
    /// The task computes.
    Busy,
    /// The task sleeps.
    Sleep,
    /// The task gives the CPU away.
    Yield,
    /// The task goes on elsewhere with the next operation, and the CPU has chosen again.
    Gone,
    /// The task may not run here any more.
    Leave,
    /// The task is gone.
    Exit,
}

impl Engine<'_> {
    /// Lets the task that runs on `cpu` go on from the end of its segment.
    pub(crate) fn step(&mut self, cpu: CpuId) {
        let Some(id) = self.world.cpus[cpu].curr else {
            return;
        };
        self.settle_latency(id);
        self.log_run(id);
        for _ in 0..MOST_IN_NO_TIME {
            let step = self.perform(cpu, id);
            let task = &mut self.world.tasks[id.index()];
            match step {
                Step::Gone => return task.pc = task.pc.wrapping_add(1),
                Step::Next => task.pc = task.pc.wrapping_add(1),
                Step::Paid => {
                    task.pc = task.pc.wrapping_add(1);
                    if task.overhead > Nanos::ZERO || self.world.cpus[cpu].need_resched {
                        return self.start_segment(cpu);
                    }
                }
                Step::Again => return self.start_segment(cpu),
                Step::Busy => {
                    task.pc = task.pc.wrapping_add(1);
                    return self.start_segment(cpu);
                }
                Step::Sleep => return self.deactivate(cpu, Phase::Sleeping),
                Step::Exit => {
                    self.notify_parent(cpu, id);
                    return self.deactivate(cpu, Phase::Dead);
                }
                Step::Leave => {
                    task.pc = task.pc.wrapping_add(1);
                    return self.leave_cpu(cpu);
                }
                Step::Yield => {
                    task.pc = task.pc.wrapping_add(1);
                    return self.yield_cpu(cpu);
                }
            }
        }
        self.stuck = Some(id);
    }

    pub(crate) fn perform(&mut self, cpu: CpuId, id: TaskId) -> Step {
        let now = self.now;
        let task = &mut self.world.tasks[id.index()];
        let Some(op) = self.ops.get(task.program, task.pc) else {
            return self.exit(cpu, id);
        };
        match op {
            Op::Run(span) | Op::Arithmetic(span) => {
                task.work = span.sample(&mut task.rng);
                if let Op::Arithmetic(_) = op {
                    task.work = Nanos(task.work.0 * self.costs.arithmetic / 100);
                }
                if let Some(log) = &mut task.loop_log {
                    log.configured_run += task.work;
                    task.logged_since = Some(now);
                }
                if task.work == Nanos::ZERO {
                    Step::Next
                } else {
                    Step::Busy
                }
            }
            Op::Sleep(span) => {
                if std::mem::take(&mut task.granted) {
                    return Step::Next;
                }
                let span = span.sample(&mut task.rng);
                self.sleep_until(id, now + span)
            }
            Op::Wait { futex, latency } => self.wait(id, futex, latency),
            Op::Post(futex) => {
                self.post(cpu, futex);
                Step::Paid
            }
            Op::Push { list, futex } => {
                self.resources.lists[list.index()].push(futex);
                Step::Next
            }
            Op::PostAll(list) => match self.resources.lists[list.index()].pop() {
                Some(futex) => {
                    self.post(cpu, futex);
                    Step::Again
                }
                None => Step::Next,
            },
            Op::Write(pipe) => self.write(cpu, id, pipe),
            Op::Read(pipe) => self.read(cpu, id, pipe),
            Op::Barrier(barrier) => {
                if std::mem::take(&mut task.granted) {
                    return Step::Next;
                }
                let barrier = &mut self.resources.barriers[barrier.index()];
                if barrier.waiting.len() + 1 < barrier.parties as usize {
                    barrier.waiting.push(id);
                    return Step::Sleep;
                }
                for other in std::mem::take(&mut barrier.waiting) {
                    self.grant(cpu, other, 0);
                }
                Step::Paid
            }
            Op::Begin(metric) => {
                task.begun.retain(|(m, _)| *m != metric.0);
                task.begun.push((metric.0, now));
                Step::Next
            }
            Op::End(metric) => {
                let begun = task.begun.iter().position(|(m, _)| *m == metric.0);
                if let Some((_, start)) = begun.map(|i| task.begun.swap_remove(i)) {
                    self.sample(metric, now - start);
                }
                Step::Next
            }
            Op::Yield => Step::Yield,
            Op::Fork(program) => {
                // The child is there when the work is done, not before.
                if !std::mem::replace(&mut task.has_paid, true) {
                    let cost = self.fork_cost(id, program);
                    self.charge(cpu, cost);
                    return Step::Again;
                }
                task.has_paid = false;
                self.fork(cpu, id, program);
                Step::Paid
            }
            Op::SetAffinity { who, cpus } => {
                if self.set_affinity(cpu, id, who, cpus) {
                    Step::Leave
                } else {
                    Step::Paid
                }
            }
            Op::SetGroup { who, group } => {
                self.set_group(cpu, id, who, group);
                Step::Paid
            }
            Op::SetNice { who, nice } => {
                self.set_nice(cpu, id, who, nice);
                Step::Paid
            }
            Op::Repeat { to, times } => {
                task.repeat(to, times);
                Step::Next
            }
            Op::Exit => self.exit(cpu, id),
            Op::Finish => match self.exit(cpu, id) {
                Step::Exit => Step::Next,
                pays => pays,
            },
            Op::Lock(mutex) => self.lock(id, mutex),
            Op::Unlock(mutex) => self.unlock(cpu, mutex),
            Op::CondWait { cond, mutex } => self.cond_wait(cpu, id, cond, mutex),
            Op::Signal(cond) => self.signal(cpu, cond, 1),
            Op::Broadcast(cond) => self.signal(cpu, cond, usize::MAX),
            Op::SemWait(semaphore) => self.semaphore_wait(id, semaphore),
            Op::SemPost(semaphore) => self.semaphore_post(cpu, semaphore),
            Op::Send { to, sync, before } => {
                self.before_ipi = before;
                self.send(cpu, id, to, sync);
                self.before_ipi = Nanos::ZERO;
                // Several may be woken at once; what it costs is paid before the task computes again.
                Step::Next
            }
            Op::NextPart => self.next_part(cpu, id),
            Op::Timer { timer, period } => self.wait_for_timer(id, timer, period),
            Op::SleepUntil(span) => {
                let due = Timestamp::ZERO + span;
                if std::mem::take(&mut task.granted) || due <= now {
                    return Step::Next;
                }
                self.sleep_until(id, due)
            }
            Op::Spin(span) => self.spin(id, span),
            Op::Exec => self.exec(cpu, id),
            Op::SemTake {
                semaphore,
                begins,
                latency,
            } => self.semaphore_take(id, semaphore, begins, latency),
            Op::WaitChildren(most) => self.wait_for_children(id, most),
            Op::SetClamp { min, max } => {
                task.clamp = (min, max);
                Step::Next
            }
            Op::SetSlice(slice) => {
                self.charge(cpu, self.costs.set_attribute);
                self.change(cpu, id, Change::Slice(slice));
                Step::Paid
            }
            Op::SetClass(class) => {
                if task.class == class {
                    return Step::Next;
                }
                self.change_class(cpu, id, class);
                Step::Paid
            }
            Op::LoopBegin { phase } => {
                if self.workload.logs_loops {
                    task.loop_log = Some(Box::new(LoopRow::new(id, phase, now)));
                }
                Step::Next
            }
            Op::Stretch(work) => {
                if !std::mem::replace(&mut task.in_stretch, true) {
                    task.work = work;
                    return Step::Again;
                }
                task.in_stretch = false;
                let lap = Lap {
                    program: task.program,
                    op: task.pc as u32,
                    task: id,
                    ran: task.time.running + (now - task.since),
                    overhead: task.overhead_done,
                    sleeps: task.sleeps,
                };
                self.laps.push(lap);
                Step::Next
            }
            Op::LoopEnd => {
                if let Some(mut row) = task.loop_log.take() {
                    row.end = now;
                    self.loops.push(*row);
                }
                Step::Next
            }
            // `Op` may grow; an operation that this engine does not know is a fault of ours.
            other => unreachable!("operation {other:?} is not implemented"),
        }
    }

    /// The end of a task: its work first, then whoever waits for it is told.
    pub(crate) fn exit(&mut self, cpu: CpuId, id: TaskId) -> Step {
        if std::mem::replace(&mut self.world.tasks[id.index()].has_paid, true) {
            return Step::Exit;
        }
        self.charge(cpu, self.costs.exit);
        Step::Again
    }

    /// What starting a task with `program` costs: a thread, or a process.
    fn fork_cost(&self, parent: TaskId, program: ProgramId) -> Nanos {
        let process = |program: ProgramId| self.workload.programs[program.index()].process;
        if process(self.world.tasks[parent.index()].program) == process(program) {
            self.costs.clone_thread
        } else {
            self.costs.fork
        }
    }

    /// Computes until `span` has passed since the operation was first performed.
    fn spin(&mut self, id: TaskId, span: Span) -> Step {
        let now = self.now;
        let task = &mut self.world.tasks[id.index()];
        let until = match task.spin_until {
            Some(until) => until,
            None => {
                let span = span.sample(&mut task.rng);
                if let Some(log) = &mut task.loop_log {
                    log.configured_run += span;
                }
                now + span
            }
        };
        if now >= until {
            task.spin_until = None;
            return Step::Next;
        }
        task.spin_until = Some(until);
        if task.loop_log.is_some() {
            task.logged_since = Some(now);
        }
        Step::Again
    }

    /// A stretch of computing is over, if there was one: its wall-clock time is known now.
    fn log_run(&mut self, id: TaskId) {
        let now = self.now;
        let task = &mut self.world.tasks[id.index()];
        if let (Some(log), Some(since)) = (&mut task.loop_log, task.logged_since.take()) {
            log.run += now - since;
        }
    }

    fn wait(&mut self, id: TaskId, futex: FutexId, latency: Option<MetricId>) -> Step {
        let now = self.now;
        let task = &mut self.world.tasks[id.index()];
        let word = &mut self.resources.futexes[futex.index()];
        if std::mem::take(&mut task.granted) {
            let asked = task.granted_at;
            if let Some(metric) = latency {
                self.sample(metric, now - asked);
            }
            return Step::Next;
        }
        if let Some(posted) = word.posted.take() {
            if let Some(metric) = latency {
                self.sample(metric, now - posted);
            }
            return Step::Next;
        }
        word.waiter = Some(id);
        Step::Sleep
    }

    fn post(&mut self, cpu: CpuId, futex: FutexId) {
        let now = self.now;
        let word = &mut self.resources.futexes[futex.index()];
        match word.waiter.take() {
            Some(waiter) => self.grant(cpu, waiter, 0),
            None => word.posted = Some(now),
        }
    }

    fn write(&mut self, cpu: CpuId, id: TaskId, pipe: PipeId) -> Step {
        let task = &mut self.world.tasks[id.index()];
        let pipe = &mut self.resources.pipes[pipe.index()];
        task.granted = false;
        if pipe.messages >= pipe.spec.capacity {
            pipe.writers.push_back(id);
            return Step::Sleep;
        }
        let channel = pipe.spec.channel;
        let joins = channel.joins_messages() && pipe.messages > 0;
        pipe.messages += 1;
        let last_user = pipe.used_by.replace(cpu);
        pipe.written_by = Some(cpu);
        let cost = if joins {
            self.costs.write_joined(channel)
        } else {
            self.costs.write(channel)
        };
        let cost = Span::around(cost, COPY_SPREAD).sample(&mut task.rng)
            + shared_lines(&self.costs, &self.distances, last_user, cpu);
        task.overhead += cost;
        let flags = if pipe.spec.sync { WakeFlags::SYNC } else { 0 };
        if let Some(reader) = pipe.readers.pop_front() {
            // The message is there before its reader is told.
            self.before_ipi = cost;
            self.grant_over(channel, cpu, reader, flags);
        }
        Step::Paid
    }

    fn read(&mut self, cpu: CpuId, id: TaskId, pipe: PipeId) -> Step {
        let task = &mut self.world.tasks[id.index()];
        let pipe = &mut self.resources.pipes[pipe.index()];
        task.granted = false;
        if pipe.messages == 0 {
            pipe.readers.push_back(id);
            return Step::Sleep;
        }
        pipe.messages -= 1;
        let channel = pipe.spec.channel;
        let writer = pipe.written_by;
        // The rest of a segment comes by the call that took its first message.
        let cost = if pipe.segment > 0 {
            pipe.segment -= 1;
            Span::around(self.costs.read_joined(channel), COPY_SPREAD).sample(&mut task.rng)
        } else {
            if channel.joins_messages() {
                pipe.segment = pipe.messages.min(channel.messages_of_segment() - 1);
            }
            let last_user = pipe.used_by.replace(cpu);
            Span::around(self.costs.read(channel), COPY_SPREAD).sample(&mut task.rng)
                + shared_lines(&self.costs, &self.distances, last_user, cpu)
        };
        let cost = cost + written_bytes(&self.costs, &self.distances, writer, cpu, channel);
        task.overhead += cost;
        let sync = pipe.spec.sync && channel.wakes_writers_sync();
        let flags = if sync { WakeFlags::SYNC } else { 0 };
        if pipe.messages <= pipe.spec.wake_writers_at {
            // One writer at a time, as exclusive waiters are woken.
            if let Some(writer) = pipe.writers.pop_front() {
                self.before_ipi = cost;
                self.grant_over(channel, cpu, writer, flags);
            }
        }
        Step::Paid
    }

    /// Lets the operation that `task` sleeps in complete, and wakes it.
    pub(crate) fn grant(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        self.grant_in(cpu, task, flags, true);
    }

    /// The same for the other end of a channel. Loopback delivers in a software interrupt.
    fn grant_over(&mut self, channel: Channel, cpu: CpuId, task: TaskId, flags: u32) {
        self.grant_in(cpu, task, flags, !channel.is_network());
    }

    fn grant_in(&mut self, cpu: CpuId, task: TaskId, flags: u32, in_task: bool) {
        let target = &mut self.world.tasks[task.index()];
        target.granted = true;
        target.granted_at = self.now;
        self.wake_up(task, cpu, flags, in_task);
    }

    /// Books a sample, unless it falls into the warm-up.
    pub(crate) fn sample(&mut self, metric: MetricId, span: Nanos) {
        if self.now.0 >= self.workload.warmup.0 {
            self.samples[metric.index()].push(span.0);
        }
    }

    /// The task's program goes on: the delay since its wakeup is known now.
    fn settle_latency(&mut self, id: TaskId) {
        if let Some(woken) = self.world.tasks[id.index()].woken_at.take() {
            self.wakeup_delay.push((self.now - woken).0);
        }
    }
}

/// Fetching a pipe or socket that `last` used to `cpu`.
fn shared_lines(
    costs: &CostTable,
    distances: &Distances,
    last: Option<CpuId>,
    cpu: CpuId,
) -> Nanos {
    last.map_or(Nanos::ZERO, |last| {
        costs.shared_object[distances.between(last, cpu) as usize]
    })
}

/// Fetching the bytes of a message that `writer` wrote to `cpu`.
fn written_bytes(
    costs: &CostTable,
    distances: &Distances,
    writer: Option<CpuId>,
    cpu: CpuId,
    channel: Channel,
) -> Nanos {
    writer.map_or(Nanos::ZERO, |writer| {
        let per_kib = costs.refill[distances.between(writer, cpu) as usize];
        Nanos(channel.bytes().saturating_mul(per_kib.0) >> 10)
    })
}
