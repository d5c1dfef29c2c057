//! Running programs: what each operation of a task does.

use fairlab_policy::WakeFlags;
use fairlab_units::{CpuId, Nanos, TaskId};
use fairlab_workload::{FutexId, MetricId, Op, PipeId, Span};

use crate::engine::Engine;
use crate::event_queue::Due;
use crate::task::Phase;

/// How far the cost of copying a message spreads around its mean, in percent: caches and allocators
/// are never in the same state twice, and without it every seed would give the same run.
const COPY_SPREAD: u64 = 15;

/// What comes of an operation.
enum Step {
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
        loop {
            let step = self.perform(cpu, id);
            let task = &mut self.world.tasks[id.index()];
            match step {
                Step::Next => task.pc = task.pc.wrapping_add(1),
                Step::Paid => {
                    task.pc = task.pc.wrapping_add(1);
                    if task.overhead > Nanos::ZERO {
                        break self.start_segment(cpu);
                    }
                }
                Step::Again => break self.start_segment(cpu),
                Step::Busy => {
                    task.pc = task.pc.wrapping_add(1);
                    break self.start_segment(cpu);
                }
                Step::Sleep => break self.deactivate(cpu, Phase::Sleeping),
                Step::Exit => break self.deactivate(cpu, Phase::Dead),
                Step::Leave => {
                    task.pc = task.pc.wrapping_add(1);
                    break self.leave_cpu(cpu);
                }
                Step::Yield => {
                    task.pc = task.pc.wrapping_add(1);
                    break self.yield_cpu(cpu);
                }
            }
        }
    }

    fn perform(&mut self, cpu: CpuId, id: TaskId) -> Step {
        let now = self.now;
        let task = &mut self.world.tasks[id.index()];
        let Some(op) = self.workload.programs[task.program.index()]
            .ops
            .get(task.pc)
            .copied()
        else {
            return Step::Exit;
        };
        match op {
            Op::Run(span) => {
                task.work = span.sample(&mut task.rng);
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
                self.queue.push(now + span, Due::Timer { task: id });
                Step::Sleep
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
            Op::SetNice { who, nice } => {
                self.set_nice(cpu, id, who, nice);
                Step::Paid
            }
            Op::Repeat { to, times } => {
                task.repeat(to, times);
                Step::Next
            }
            Op::Exit => Step::Exit,
            // `Op` may grow; an operation that this engine does not know is a fault of ours.
            other => unreachable!("operation {other:?} is not implemented"),
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
        pipe.messages += 1;
        task.overhead += Span::around(pipe.spec.write_cost, COPY_SPREAD).sample(&mut task.rng);
        let flags = if pipe.spec.sync { WakeFlags::SYNC } else { 0 };
        if let Some(reader) = pipe.readers.pop_front() {
            self.grant(cpu, reader, flags);
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
        task.overhead += Span::around(pipe.spec.read_cost, COPY_SPREAD).sample(&mut task.rng);
        let flags = if pipe.spec.sync { WakeFlags::SYNC } else { 0 };
        if pipe.messages <= pipe.spec.wake_writers_at {
            // One writer at a time, as exclusive waiters are woken.
            if let Some(writer) = pipe.writers.pop_front() {
                self.grant(cpu, writer, flags);
            }
        }
        Step::Paid
    }

    /// Lets the operation that `task` sleeps in complete, and wakes it.
    fn grant(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        let target = &mut self.world.tasks[task.index()];
        target.granted = true;
        target.granted_at = self.now;
        self.wake_up(task, cpu, flags, true);
    }

    /// Books a sample, unless it falls into the warm-up.
    fn sample(&mut self, metric: MetricId, span: Nanos) {
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
