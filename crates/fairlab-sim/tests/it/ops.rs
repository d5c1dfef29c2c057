//! What each operation of a program does, and that time adds up to the nanosecond around it.

use std::collections::BTreeMap;

use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::{Kernel, Release};
use fairlab_sim::{Observer, RunResult, SimOptions, run};
use fairlab_topology::Machine;
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_units::{Nanos, TaskId, Timestamp};
use fairlab_workload::{
    Class, End, Op, Program, ProgramBuilder, Report, Span, TimerOrigin, TimerSpec, Workload,
    WorkloadBuilder,
};

use crate::machines::grid;

/// When tasks were born and died.
#[derive(Default)]
struct Lives {
    born: BTreeMap<TaskId, Timestamp>,
    died: BTreeMap<TaskId, Timestamp>,
}

impl Observer for Lives {
    fn event(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Fork { child, .. } => {
                self.born.insert(child, event.time);
            }
            EventKind::Exit { task } => {
                self.died.insert(task, event.time);
            }
            _ => {}
        }
    }
}

/// Runs it under `release`, and holds every CPU and task against the clock.
pub fn simulate(machine: &Machine, release: Release, workload: &Workload) -> RunResult {
    let kernel = Kernel::of(release);
    let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
    let options = SimOptions::new(kernel, 1);
    let mut lives = Lives::default();
    let result = run(machine, &domains, workload, &options, &mut lives, None).unwrap();
    let what = &workload.description;
    for (cpu, time) in &result.cpu_time {
        let elapsed = Nanos(result.end.0);
        assert_eq!(time.busy + time.idle, elapsed, "{what} {release} {cpu}");
    }
    for (task, time) in &result.task_time {
        let born = lives.born.get(task).copied().unwrap_or_default();
        let died = lives.died.get(task).copied().unwrap_or(result.end);
        let sum = time.running + time.waiting + time.sleeping;
        assert_eq!(sum, died - born, "{what} {release} {task:?}");
    }
    let busy: Nanos = result.cpu_time.iter().map(|(_, t)| t.busy).sum();
    let running: Nanos = result.task_time.iter().map(|(_, t)| t.running).sum();
    assert_eq!(busy, running, "{what} {release}: a busy CPU runs a task");
    result
}

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

fn run_for(n: u64) -> Op {
    Op::Run(Span::Fixed(ms(n)))
}

fn builder(what: &str) -> WorkloadBuilder {
    WorkloadBuilder::new(what, Report::Plain, End::AllExited)
}

fn program(name: &str, ops: impl IntoIterator<Item = Op>) -> Program {
    let add = |p: ProgramBuilder, op| p.op(op);
    ops.into_iter().fold(ProgramBuilder::new(name), add).build()
}

/// Starts a task for each list of operations, in this order.
fn start(mut w: WorkloadBuilder, tasks: Vec<Vec<Op>>) -> Workload {
    for (i, ops) in tasks.into_iter().enumerate() {
        let id = w.program(program(&format!("task{i}"), ops));
        w.start(id);
    }
    w.build()
}

/// Runs it under every release on two CPUs; `look` gets the time that it took and the result.
fn each_release(workload: &Workload, look: impl Fn(Nanos, &RunResult)) {
    let machine = grid(1, 1, 2, 1);
    for release in Release::ALL {
        let result = simulate(&machine, release, workload);
        look(Nanos(result.end.0), &result);
    }
}

/// Within a twentieth of `ms`: switches, wakeups, forks and ticks come on top of what the programs ask for.
fn about(time: Nanos, ms: u64) {
    let wanted = Nanos::from_millis(ms).0;
    assert!(
        time.0 >= wanted && time.0 < wanted + wanted / 20,
        "{time} instead of {ms} ms"
    );
}

#[test]
fn a_mutex_lets_one_task_in_at_a_time() {
    let mut w = builder("mutex");
    let m = w.mutex();
    let ops = vec![Op::Lock(m), run_for(10), Op::Unlock(m)];
    each_release(&start(w, vec![ops; 3]), |time, _| about(time, 30));
}

#[test]
fn a_signal_wakes_one_waiter_and_a_broadcast_all() {
    let mut w = builder("condition");
    let (m, c) = (w.mutex(), w.cond());
    let waiter = vec![
        Op::Lock(m),
        Op::CondWait { cond: c, mutex: m },
        run_for(5),
        Op::Unlock(m),
    ];
    let waker = vec![
        Op::Sleep(Span::Fixed(ms(10))),
        Op::Lock(m),
        Op::Signal(c),
        run_for(5),
        Op::Unlock(m),
        Op::Sleep(Span::Fixed(ms(20))),
        Op::Broadcast(c),
    ];
    // The first waiter has the mutex from 15 to 20 ms, the others one after another from 35 ms on.
    let tasks = vec![waiter.clone(), waiter.clone(), waiter, waker];
    each_release(&start(w, tasks), |time, _| about(time, 45));
}

#[test]
fn a_signal_that_nobody_waits_for_is_lost() {
    let mut w = WorkloadBuilder::new("lost signal", Report::Plain, End::AllExitedBy(ms(50)));
    let (m, c) = (w.mutex(), w.cond());
    let late = vec![
        run_for(5),
        Op::Lock(m),
        Op::CondWait { cond: c, mutex: m },
        Op::Unlock(m),
    ];
    let workload = start(w, vec![vec![Op::Signal(c)], late]);
    each_release(&workload, |time, result| {
        assert_eq!(time, ms(50));
        assert_eq!(result.counts.exits, 1);
    });
}

#[test]
fn a_semaphore_counts() {
    let mut w = builder("semaphore");
    let s = w.semaphore(1);
    let taker = vec![Op::SemWait(s), Op::SemWait(s), Op::SemWait(s)];
    let giver = vec![run_for(10), Op::SemPost(s), run_for(10), Op::SemPost(s)];
    each_release(&start(w, vec![taker, giver]), |time, _| about(time, 20));
}

fn timer_case(is_absolute: bool) -> Workload {
    let mut w = builder(if is_absolute { "absolute" } else { "relative" }).log_loops();
    let timer = w.timer(TimerSpec {
        is_unique: true,
        is_absolute,
        origin: TimerOrigin::Start(Nanos::ZERO),
    });
    let pass = |run| {
        [
            Op::LoopBegin { phase: 0 },
            run_for(run),
            Op::Timer {
                timer,
                period: ms(20),
            },
            Op::LoopEnd,
        ]
    };
    let ops = [10, 10, 30, 10, 10].into_iter().flat_map(pass).collect();
    start(w, vec![ops])
}

#[test]
fn a_relative_timer_starts_anew_when_it_was_missed_and_an_absolute_one_catches_up() {
    // The two drawings of rt-app's tutorial: the third pass computes 30 ms of a period of 20.
    each_release(&timer_case(false), |_, result| {
        let ends: Vec<u64> = result.loops.iter().map(|l| l.end.0 / 1_000_000).collect();
        assert_eq!(ends, [20, 40, 70, 90, 110]);
    });
    each_release(&timer_case(true), |_, result| {
        let ends: Vec<u64> = result.loops.iter().map(|l| l.end.0 / 1_000_000).collect();
        assert_eq!(ends, [20, 40, 70, 80, 100]);
        let slack: Vec<i64> = result.loops.iter().map(|l| l.slack / 1_000_000).collect();
        // Rounded towards zero; computing takes a little longer than asked for.
        assert_eq!(slack, [9, 9, -10, 0, 9]);
    });
}

#[test]
fn a_shared_timer_fires_in_turn_for_those_who_use_it() {
    let mut w = builder("shared timer");
    let timer = w.timer(TimerSpec {
        is_unique: false,
        is_absolute: false,
        origin: TimerOrigin::Start(Nanos::ZERO),
    });
    let period = ms(10);
    let ops = vec![Op::Timer { timer, period }; 2];
    // Each use moves it on: at 10 and 20 ms, then at 30 and 40.
    each_release(&start(w, vec![ops; 2]), |time, _| about(time, 40));
}

#[test]
fn spinning_lasts_as_long_on_a_slow_cpu_and_computing_does_not() {
    // Two threads of a core slow each other down to 640/1024.
    let machine = grid(1, 1, 1, 2);
    for release in Release::ALL {
        let spin = Op::Spin(Span::Fixed(ms(10)));
        let workload = start(builder("spin"), vec![vec![spin]; 2]);
        about(Nanos(simulate(&machine, release, &workload).end.0), 10);
        let workload = start(builder("run"), vec![vec![run_for(10)]; 2]);
        about(Nanos(simulate(&machine, release, &workload).end.0), 16);
    }
}

#[test]
fn spinning_goes_on_while_the_task_waits_for_a_cpu() {
    let machine = grid(1, 1, 1, 1);
    for release in Release::ALL {
        let spin = Op::Spin(Span::Fixed(ms(40)));
        let workload = start(builder("spin"), vec![vec![spin]; 2]);
        let end = Nanos(simulate(&machine, release, &workload).end.0);
        // One after the other would take 80 ms. The second begins when the first is preempted.
        assert!(end > ms(40) && end < ms(60), "{release}: {end}");
    }
}

#[test]
fn a_parent_waits_for_its_children() {
    let mut w = builder("children");
    let child = w.program(program("child", [run_for(10)]));
    let fork = Op::Fork(child);
    let parent = w.program(program(
        "parent",
        [fork, Op::WaitChildren(0), fork, Op::WaitChildren(0)],
    ));
    w.start(parent);
    each_release(&w.build(), |time, result| {
        about(time, 20);
        assert_eq!(result.counts.exits, 3);
    });
}

#[test]
fn sleeping_until_a_time_ends_then_or_never_began() {
    let w = builder("sleep until");
    let ops = vec![
        Op::SleepUntil(ms(20)),
        run_for(10),
        Op::SleepUntil(ms(25)),
        run_for(10),
    ];
    each_release(&start(w, vec![ops]), |time, _| about(time, 40));
}

#[test]
fn a_task_changes_its_class_while_it_runs() {
    let w = builder("class");
    let half = Op::Run(Span::Fixed(ms(10)));
    let classes = [
        Class::Fifo(10),
        Class::Fair,
        Class::Deadline(ms(100)),
        Class::RoundRobin(1),
        Class::Idle,
        Class::Batch,
    ];
    let changing = classes
        .into_iter()
        .flat_map(|class| [half, Op::SetClass(class), half]);
    let tasks = vec![changing.collect(), vec![run_for(100)], vec![run_for(100)]];
    let machine = grid(1, 1, 1, 1);
    for release in Release::ALL {
        let mut w = start(w.clone(), tasks.clone());
        w.end = End::AllExited;
        about(Nanos(simulate(&machine, release, &w).end.0), 320);
    }
}

#[test]
fn a_task_of_a_higher_class_is_not_disturbed_by_a_fair_one() {
    let machine = grid(1, 1, 1, 1);
    for release in Release::ALL {
        let w = builder("class");
        let first = vec![Op::SetClass(Class::Fifo(1)), run_for(50)];
        let result = simulate(&machine, release, &start(w, vec![first, vec![run_for(50)]]));
        about(result.task_time[0].1.running, 50);
        assert!(result.task_time[0].1.waiting < ms(6), "{release}");
    }
}

#[test]
fn slices_and_clamps_can_be_set() {
    let w = builder("attributes");
    let ops = vec![
        Op::SetSlice(ms(10)),
        Op::SetClamp { min: 100, max: 512 },
        run_for(20),
        Op::SetSlice(Nanos::ZERO),
        run_for(20),
    ];
    each_release(&start(w, vec![ops; 2]), |time, _| about(time, 40));
}

#[test]
fn a_run_does_not_wait_for_tasks_in_the_background() {
    let mut w = builder("background");
    let hog = ProgramBuilder::new("hog").repeat(0, |p| p.op(run_for(1000)));
    let hog = w.program(hog.background().build());
    w.start(hog);
    each_release(&start(w, vec![vec![run_for(20)]]), |time, result| {
        assert!(time < ms(60), "{time}");
        assert_eq!(result.counts.exits, 1);
    });
}

#[test]
fn late_timers_wake_up_to_the_slack_later() {
    let mut w = builder("slack");
    let sleeper = ProgramBuilder::new("sleeper").timer_slack(ms(5));
    let sleeper = w.program(sleeper.op(Op::Sleep(Span::Fixed(ms(10)))).build());
    w.start(sleeper);
    each_release(&w.build(), |time, _| about(time, 15));
}

#[test]
fn an_exec_may_move_the_task_and_time_goes_on() {
    let mut w = builder("exec");
    let child = w.program(program("child", [Op::Exec, run_for(10)]));
    let forks = [Op::Fork(child); 6];
    let parent = w.program(program(
        "parent",
        forks.into_iter().chain([run_for(10), Op::WaitChildren(0)]),
    ));
    w.start(parent);
    let workload = w.build();
    for release in Release::ALL {
        let result = simulate(&grid(2, 1, 2, 2), release, &workload);
        assert_eq!(result.counts.execs, 6, "{release}");
        assert_eq!(result.counts.exits, 7, "{release}");
    }
}

#[test]
fn a_request_is_as_old_as_its_post() {
    let mut w = builder("queue");
    let metric = w.metric(fairlab_workload::Metric {
        name: "request".into(),
        title: "Requests".into(),
        unit: fairlab_workload::MetricUnit::LatencyNs,
    });
    let queue = w.semaphore(0);
    let take = [
        Op::SemTake {
            semaphore: queue,
            begins: metric,
            latency: None,
        },
        run_for(10),
        Op::End(metric),
    ];
    let worker = [take, take, take].concat();
    let poster = vec![Op::SemPost(queue); 3];
    // Posted together and served one after another.
    each_release(&start(w, vec![worker, poster]), |_, result| {
        let ms: Vec<u64> = result.samples[0].iter().map(|ns| ns / 1_000_000).collect();
        assert_eq!(ms, [10, 20, 30]);
    });
}

#[test]
fn a_loop_in_which_no_time_passes_is_reported() {
    let mut w = builder("stuck");
    let m = w.mutex();
    let task = ProgramBuilder::new("spinner").repeat(0, |p| p.op(Op::Lock(m)).op(Op::Unlock(m)));
    let task = w.program(task.build());
    w.start(task);
    let workload = w.build();
    let kernel = Kernel::of(Release::V6_12);
    let machine = grid(1, 1, 1, 1);
    let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
    let options = SimOptions::new(kernel, 1);
    let error = run(
        &machine,
        &domains,
        &workload,
        &options,
        &mut Lives::default(),
        None,
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("task spinner performs operations"),
        "{error}"
    );
}
