//! Task groups: shares, limits, idle groups, and tasks that move between groups.

use fairlab_kernel::{Kernel, Release};
use fairlab_rng::Rng;
use fairlab_sim::{RunResult, Silent, SimError, SimOptions, Turn, run, run_and_turn};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_units::Nanos;
use fairlab_workload::{
    CpuMax, End, Op, Program, ProgramBuilder, Report, Span, TaskGroup, TaskGroupId, Who, Workload,
    WorkloadBuilder,
};

use crate::machines::grid;
use crate::ops::simulate;

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

fn builder(what: &str, runtime: Nanos) -> WorkloadBuilder {
    WorkloadBuilder::new(what, Report::Plain, End::After(runtime))
}

fn group(name: &str, shares: u32) -> TaskGroup {
    TaskGroup {
        shares,
        ..TaskGroup::new(name)
    }
}

fn limited(name: &str, quota: u64, period: u64) -> TaskGroup {
    TaskGroup {
        max: Some(CpuMax {
            quota: ms(quota),
            period: ms(period),
            burst: Nanos::ZERO,
        }),
        ..TaskGroup::new(name)
    }
}

fn hog(group: TaskGroupId) -> Program {
    let busy = Op::Run(Span::Fixed(ms(3)));
    let p = ProgramBuilder::new("hog").group(group);
    p.repeat(0, |p| p.op(busy)).build()
}

fn start(w: &mut WorkloadBuilder, program: Program, count: u32) {
    let id = w.program(program);
    (0..count).for_each(|_| w.start(id));
}

/// CPU time of a group in thousandths of what the CPUs of the run have.
fn share(result: &RunResult, group: TaskGroupId) -> u64 {
    let all: Nanos = result.cpu_time.iter().map(|(_, t)| t.busy + t.idle).sum();
    result.groups[group.index()].cpu.0 * 1_000 / all.0
}

#[track_caller]
fn near(what: &str, value: u64, wanted: u64, by: u64) {
    assert!(
        value.abs_diff(wanted) <= by,
        "{what}: {value}, not {wanted}"
    );
}

#[test]
fn groups_share_one_cpu_by_their_shares_and_not_by_their_tasks() {
    for release in Release::ALL {
        let mut w = builder("shares on one CPU", ms(3_000));
        let (a, b) = (w.group(group("a", 1024)), w.group(group("b", 2048)));
        start(&mut w, hog(a), 3);
        start(&mut w, hog(b), 1);
        let result = simulate(&grid(1, 1, 1, 1), release, &w.build());
        near(&format!("{release} a"), share(&result, a), 333, 15);
        near(&format!("{release} b"), share(&result, b), 667, 15);
    }
}

#[test]
fn groups_share_many_cpus_by_their_shares() {
    for release in Release::ALL {
        let mut w = builder("shares on four CPUs", ms(4_000));
        let (a, b) = (w.group(group("a", 1024)), w.group(group("b", 2048)));
        start(&mut w, hog(a), 8);
        start(&mut w, hog(b), 8);
        let result = simulate(&grid(1, 1, 4, 1), release, &w.build());
        near(&format!("{release} a"), share(&result, a), 333, 50);
        near(&format!("{release} b"), share(&result, b), 667, 50);
    }
}

#[test]
fn shares_of_nested_groups_are_shares_of_the_group_around_them() {
    for release in Release::ALL {
        let mut w = builder("nested", ms(3_000));
        let outer = w.group(group("outer", 1024));
        let inner = [1024, 3072].map(|shares| {
            w.group(TaskGroup {
                parent: Some(outer),
                ..group("inner", shares)
            })
        });
        let other = w.group(group("other", 1024));
        start(&mut w, hog(inner[0]), 2);
        start(&mut w, hog(inner[1]), 1);
        start(&mut w, hog(other), 1);
        let result = simulate(&grid(1, 1, 1, 1), release, &w.build());
        let wanted = [(outer, 500), (inner[0], 125), (inner[1], 375), (other, 500)];
        for (group, wanted) in wanted {
            let what = format!("{release} {group:?}");
            near(&what, share(&result, group), wanted, 20);
        }
    }
}

#[test]
fn a_limited_group_gets_its_quota_and_the_others_the_rest() {
    for release in Release::ALL {
        let mut w = builder("half of one CPU", ms(4_000));
        let a = w.group(limited("a", 50, 100));
        start(&mut w, hog(a), 2);
        let result = simulate(&grid(1, 1, 1, 1), release, &w.build());
        near(&format!("{release}"), share(&result, a), 500, 30);
        let time = result.groups[a.index()];
        assert!(time.nr_throttled >= 38, "{release}: {time:?}");
        let all = time.throttled.0 / 1_000_000;
        near(&format!("{release}: throttled ms"), all, 2_000, 120);
    }
}

#[test]
fn a_limit_counts_on_all_cpus_together_and_holds_for_the_groups_inside() {
    for release in Release::ALL {
        let mut w = builder("one of four CPUs", ms(4_000));
        let outer = w.group(limited("outer", 100, 100));
        let inner = w.group(TaskGroup {
            parent: Some(outer),
            ..TaskGroup::new("inner")
        });
        start(&mut w, hog(inner), 6);
        let result = simulate(&grid(1, 1, 4, 1), release, &w.build());
        near(&format!("{release}"), share(&result, inner), 250, 15);
        assert_eq!(share(&result, outer), share(&result, inner), "{release}");
    }
}

#[test]
fn an_idle_group_gets_what_others_leave() {
    for release in Release::ALL {
        let mut w = builder("idle group", ms(2_000));
        let idle = w.group(TaskGroup {
            is_idle: true,
            ..TaskGroup::new("idle")
        });
        let other = w.group(TaskGroup::new("other"));
        start(&mut w, hog(idle), 2);
        start(&mut w, hog(other), 1);
        let result = simulate(&grid(1, 1, 1, 1), release, &w.build());
        let kernel = Kernel::of(release);
        if kernel.has(fairlab_kernel::Feature::GROUP_IDLE) {
            let share = share(&result, idle);
            assert!(share <= 10, "{release}: {share}");
        }
    }
}

/// Five groups, two of them limited, and tasks that compute, sleep, fork and go to other groups.
fn restless(seed: u64, end: End) -> Workload {
    let mut rng = Rng::stream(seed, "restless groups");
    let mut w = WorkloadBuilder::new(format!("restless {seed}"), Report::Plain, end);
    let a = w.group(limited("a", 20, 40));
    let b = w.group(group("b", 4096));
    let inner = |parent, group: TaskGroup| TaskGroup {
        parent: Some(parent),
        ..group
    };
    let c = w.group(inner(a, group("c", 300)));
    let d = w.group(inner(b, limited("d", 10, 20)));
    let e = w.group(inner(d, TaskGroup::new("e")));
    let groups = [None, Some(a), Some(b), Some(c), Some(d), Some(e)];
    let mut programs = Vec::new();
    for task in 0..10u32 {
        let mut ops = Vec::new();
        for _ in 0..12 {
            let us = Nanos::from_micros(100 + rng.below(3_000));
            ops.push(Op::Run(Span::Fixed(us)));
            let group = groups[rng.below(6) as usize];
            let who = match programs.get(rng.below(10) as usize) {
                Some(program) => Who::Program(*program),
                None => Who::Myself,
            };
            match rng.below(4) {
                0 => ops.push(Op::SetGroup { who, group }),
                1 => ops.push(Op::Sleep(Span::Fixed(us))),
                2 => ops.push(Op::SetNice {
                    who: Who::Myself,
                    nice: rng.below(10) as i8,
                }),
                _ => ops.push(Op::Yield),
            }
        }
        let mut p = ProgramBuilder::new(format!("t{task}"));
        if let Some(group) = groups[rng.below(6) as usize] {
            p = p.group(group);
        }
        let p = p.repeat(6, |p| ops.iter().fold(p, |p, op| p.op(*op)));
        let id = w.program(p.build());
        programs.push(id);
        w.start(id);
    }
    w.build()
}

#[test]
fn time_adds_up_while_tasks_go_from_group_to_group() {
    for release in Release::ALL {
        for (seed, end) in [
            (1, End::AllExited),
            (2, End::AllExited),
            (3, End::After(ms(150))),
        ] {
            let workload = restless(seed, end);
            let result = simulate(&grid(1, 1, 3, 1), release, &workload);
            let inside: Nanos = [0, 1]
                .map(|group| result.groups[group].cpu)
                .into_iter()
                .sum();
            let all: Nanos = result.task_time.iter().map(|(_, t)| t.running).sum();
            assert!(inside <= all, "{release} {seed}");
        }
    }
}

#[test]
fn equal_seeds_give_equal_events_with_groups() {
    let machine = grid(1, 2, 2, 1);
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
        let workload = restless(4, End::AllExited);
        let options = SimOptions::new(kernel, 7);
        let [a, b] = [0, 1].map(|_| {
            let result = run(&machine, &domains, &workload, &options, &mut Silent, None).unwrap();
            (result.event_hash, result.groups)
        });
        assert_eq!(a, b, "{release}");
    }
}

#[test]
fn a_run_whose_tasks_all_sleep_for_ever_ends_although_a_group_is_limited() {
    let mut w = WorkloadBuilder::new("stuck", Report::Plain, End::AllExited);
    let a = w.group(limited("a", 50, 100));
    let futex = w.futex();
    let p = ProgramBuilder::new("waits").group(a);
    start(
        &mut w,
        p.op(Op::Wait {
            futex,
            latency: None,
        })
        .build(),
        1,
    );
    let machine = grid(1, 1, 1, 1);
    let kernel = Kernel::of(Release::V6_12);
    let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
    let options = SimOptions::new(kernel, 1);
    let stuck = run(&machine, &domains, &w.build(), &options, &mut Silent, None);
    assert!(stuck.unwrap_err().to_string().contains("deadlock"));
}

#[test]
fn a_run_with_groups_goes_on_from_a_point_but_keeps_its_kernel() {
    let machine = grid(1, 1, 2, 1);
    let kernel = Kernel::of(Release::V6_12);
    let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
    let mut w = builder("limited and free", ms(500));
    let slow = w.group(limited("slow", 20, 100));
    let free = w.group(group("free", 1024));
    start(&mut w, hog(slow), 2);
    start(&mut w, hog(free), 2);
    let workload = w.build();
    let options = SimOptions::new(kernel, 1);
    let until = SimOptions {
        until: Some(fairlab_units::Timestamp(ms(230).0)),
        ..options.clone()
    };
    let go = |options: &SimOptions, turn: Option<&Turn<'_>>| {
        run_and_turn(
            &machine,
            &domains,
            &workload,
            options,
            turn,
            &mut Silent,
            None,
        )
    };
    let whole = go(&options, None).unwrap();
    let saved = go(&until, None).unwrap();
    let turn = Turn {
        at: saved.end,
        event_hash: Some(saved.event_hash),
        kernel: None,
        seed: None,
    };
    let rest = go(&options, Some(&turn)).unwrap();
    assert_eq!(rest.event_hash, whole.event_hash);
    for group in [slow, free] {
        let [whole, saved, rest] = [&whole, &saved, &rest].map(|r| r.groups[group.index()]);
        assert_eq!(saved.cpu + rest.cpu, whole.cpu);
        assert_eq!(saved.throttled + rest.throttled, whole.throttled);
        assert_eq!(saved.nr_throttled + rest.nr_throttled, whole.nr_throttled);
    }
    assert!(rest.groups[slow.index()].nr_throttled > 0);
    let other = Kernel::of(Release::V7_2);
    let after = build(&machine, &other, &BuildOptions::default()).unwrap();
    let turn = Turn {
        kernel: Some((other, &after)),
        ..turn
    };
    assert_eq!(
        go(&options, Some(&turn)).unwrap_err(),
        SimError::GroupsKeepKernel
    );
}
