//! Programs whose tasks answer notes, and tasks that come into a run queued or asleep.

use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::{Kernel, Release};
use fairlab_sim::{Observer, RunResult, SimOptions, run};
use fairlab_topology::Machine;
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};
use fairlab_workload::{
    Begins, End, Op, Part, Program, ProgramBuilder, ProgramId, Report, Span, Workload,
    WorkloadBuilder,
};

use crate::machines::grid;

#[derive(Default)]
struct Events(Vec<SchedEvent>);

impl Observer for Events {
    fn event(&mut self, event: &SchedEvent) {
        self.0.push(*event);
    }
}

impl Events {
    /// When each task exited.
    fn exits(&self) -> Vec<(TaskId, Timestamp)> {
        let exit = |event: &SchedEvent| match event.kind {
            EventKind::Exit { task } => Some((task, event.time)),
            _ => None,
        };
        self.0.iter().filter_map(exit).collect()
    }

    /// The first CPU on which a task ran.
    fn first_cpu(&self, task: TaskId) -> Option<CpuId> {
        let is_first = |event: &&SchedEvent| matches!(event.kind, EventKind::Switch { next, .. } if next == Some(task));
        self.0.iter().find(is_first).map(|event| event.cpu)
    }
}

fn simulate(machine: &Machine, release: Release, workload: &Workload) -> (Events, RunResult) {
    let kernel = Kernel::of(release);
    let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
    let mut events = Events::default();
    let options = SimOptions::new(kernel, 1);
    let result = run(machine, &domains, workload, &options, &mut events, None).unwrap();
    (events, result)
}

const MS: u64 = 1_000_000;

fn stretch(ms: u64) -> Op {
    Op::Stretch(Nanos(ms * MS))
}

fn sleep(ms: u64) -> Op {
    Op::Sleep(Span::Fixed(Nanos(ms * MS)))
}

fn send(to: u32) -> Op {
    Op::Send {
        to: ProgramId(to),
        sync: false,
        before: Nanos::ZERO,
    }
}

fn program(ops: Vec<Op>) -> Program {
    let mut program = ProgramBuilder::new("task").build();
    program.ops = ops;
    program
}

fn workload(programs: Vec<Program>) -> Workload {
    let mut w = WorkloadBuilder::new("parts", Report::Plain, End::AllExited);
    for program in programs {
        let number = w.program(program);
        w.start(number);
    }
    w.build()
}

/// The server was recorded to answer client 1 with a short stretch, and then client 2 with a long one.
fn server() -> Program {
    let parts = [(1, 1), (3, 2)].map(|(at, client)| Part {
        at,
        answers: Some(ProgramId(client)),
    });
    Program {
        parts: parts.to_vec(),
        ..program(vec![
            Op::NextPart,
            stretch(1),
            Op::NextPart,
            stretch(10),
            Op::NextPart,
        ])
    }
}

#[test]
fn a_server_answers_who_asks_first() {
    let client = |after| program(vec![sleep(after), send(0)]);
    for release in Release::ALL {
        // In the order of the recording: 5 + 1 and 20 + 10.
        let in_order = workload(vec![server(), client(5), client(20)]);
        // The other way round: 5 + 10 and 20 + 1. A server that waited for client 1 would take 31.
        let reversed = workload(vec![server(), client(20), client(5)]);
        for (workload, expected) in [(in_order, 30), (reversed, 21)] {
            let (events, result) = simulate(&grid(1, 1, 4, 1), release, &workload);
            let server = result.programs.iter().position(|p| *p == ProgramId(0));
            let exits = events.exits();
            let exit = exits.iter().find(|(task, _)| Some(task.index()) == server);
            let ms = exit.map(|(_, time)| time.0 / MS);
            assert_eq!(ms, Some(expected), "{release}");
        }
    }
}

#[test]
fn laps_tell_how_long_each_stretch_took_and_what_the_kernel_took_of_it() {
    let lone = workload(vec![program(vec![stretch(2), sleep(1), stretch(3)])]);
    for release in Release::ALL {
        let (_, result) = simulate(&grid(1, 1, 1, 1), release, &lone);
        let [first, second] = result.laps[..] else {
            panic!("{release}: {:?}", result.laps);
        };
        let work = |ran: Nanos, overhead: Nanos| (ran.0 - overhead.0) / MS;
        assert_eq!(work(first.ran, first.overhead), 2, "{release}");
        assert_eq!(work(second.ran, second.overhead), 5, "{release}");
        assert_eq!((first.sleeps, second.sleeps), (0, 1), "{release}");
        assert!(
            second.overhead > first.overhead,
            "{release}: the switch costs"
        );
    }
}

#[test]
fn tasks_begin_where_they_were() {
    let begins = |begins, ops| Program {
        begins,
        ..program(ops)
    };
    let all = workload(vec![
        begins(Begins::Queued(CpuId(3)), vec![stretch(1)]),
        begins(
            Begins::Asleep(CpuId(2)),
            vec![Op::SleepUntil(Nanos(7 * MS)), stretch(1)],
        ),
        // This machine has no such CPU: as if it had begun on the first.
        begins(Begins::Queued(CpuId(99)), vec![stretch(1)]),
    ]);
    for release in Release::ALL {
        let (events, result) = simulate(&grid(1, 1, 4, 1), release, &all);
        assert_eq!(events.first_cpu(TaskId(0)), Some(CpuId(3)), "{release}");
        assert_eq!(events.first_cpu(TaskId(1)), Some(CpuId(2)), "{release}");
        assert_eq!(events.first_cpu(TaskId(2)), Some(CpuId(0)), "{release}");
        // The sleeper's own timer wakes it, and nobody else was woken.
        assert_eq!(result.counts.wakeups, 1, "{release}");
        assert_eq!(result.end.0 / MS, 8, "{release}");
    }
}

#[test]
fn who_waits_for_the_end_of_a_task_is_woken_after_its_work() {
    let parent = Program {
        parts: vec![Part {
            at: 1,
            answers: Some(ProgramId(1)),
        }],
        ..program(vec![Op::NextPart, stretch(1), Op::NextPart])
    };
    let child = program(vec![stretch(1), Op::Finish, send(0)]);
    for release in Release::ALL {
        let (events, _) = simulate(
            &grid(1, 1, 1, 1),
            release,
            &workload(vec![parent.clone(), child.clone()]),
        );
        // On the only CPU, the parent would take it from the child if that still had its exit before it.
        let of_child = |event: &&SchedEvent| matches!(event.kind, EventKind::Switch { prev, .. } if prev == Some(TaskId(1)));
        assert_eq!(events.0.iter().filter(of_child).count(), 1, "{release}");
    }
}
