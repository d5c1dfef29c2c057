//! One case for each reason, answered by every release: a table to review as a diff.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::expect_file;
use fairlab_kernel::Kernel;
use fairlab_policy::{
    Decision, PerfDomain, PerfState, Reason, Scratch, WakeFlags, fallback_cpu, only_cpu,
    select_task_rq_fair,
};
use fairlab_units::{CpuId, CpuMask};

use crate::machine::{Shape, State, context, cpus, kernels, task};

/// A situation; most fields are usual.
#[derive(Clone)]
struct Case {
    name: &'static str,
    shape: Shape,
    flags: u32,
    this: u32,
    prev: u32,
    recent: u32,
    idle: &'static [u32],
    sched_idle: &'static [u32],
    /// None: everywhere.
    allowed: Option<&'static [u32]>,
    hint: bool,
    nr_idle_scan: u32,
    /// SIS_PROP: a budget of four.
    short_of_time: bool,
    kthread: bool,
    util: u64,
    change: fn(&mut State),
}

const SMT: Shape = Shape::llc(4, 2);
const PLAIN: Shape = Shape::llc(8, 1);
const CLUSTERS: Shape = Shape {
    clusters: 2,
    ..Shape::llc(4, 1)
};
const SMT_CLUSTERS: Shape = Shape {
    clusters: 2,
    ..Shape::llc(2, 2)
};
const LITTLE_BIG: Shape = Shape {
    capacity: &[400, 400, 400, 400, 1024, 1024, 1024, 1024],
    ..PLAIN
};

const CASE: Case = Case {
    name: "",
    shape: SMT,
    flags: WakeFlags::TTWU,
    this: 2,
    prev: 0,
    recent: 0,
    idle: &[],
    sched_idle: &[],
    allowed: None,
    hint: false,
    nr_idle_scan: 1000,
    short_of_time: false,
    kthread: false,
    util: 0,
    change: |_| {},
};

/// CPUs 0-3 are small and thrifty, 4-7 big and hungry.
fn energy_model(state: &mut State) {
    let domain = |list: &[u32], states: [(u64, u64); 2]| PerfDomain {
        cpus: cpus(8, list),
        states: states
            .map(|(performance, cost)| PerfState { performance, cost })
            .to_vec(),
    };
    state.perf = vec![
        domain(&[0, 1, 2, 3], [(200, 10), (400, 20)]),
        domain(&[4, 5, 6, 7], [(500, 40), (1024, 80)]),
    ];
}

fn cases() -> Vec<Case> {
    let energy = Case {
        shape: LITTLE_BIG,
        idle: &[0, 1, 2, 3, 4, 5, 6, 7],
        change: energy_model,
        util: 100,
        ..CASE
    };
    let fork = Case {
        flags: WakeFlags::FORK,
        this: 0,
        change: |state| {
            for cpu in &mut state.cpus {
                let busy = u64::from(!cpu.idle && !cpu.sched_idle) * 1024;
                (cpu.load, cpu.runnable_load) = (busy, busy);
                (cpu.util, cpu.runnable) = (busy, busy);
                cpu.idle_stamp = 5;
            }
        },
        ..CASE
    };
    vec![
        Case {
            name: "bound to one CPU",
            allowed: Some(&[3]),
            ..CASE
        },
        Case {
            name: "target went away, CPUs of its node are left",
            allowed: Some(&[4, 5]),
            ..CASE
        },
        Case {
            name: "target went away with its node",
            shape: Shape {
                nodes: 2,
                ..Shape::llc(2, 2)
            },
            allowed: Some(&[4, 5]),
            ..CASE
        },
        Case {
            name: "every allowed CPU went away",
            allowed: Some(&[4, 5]),
            change: |state| {
                state.active.clear(CpuId(4));
                state.active.clear(CpuId(5));
            },
            ..CASE
        },
        Case {
            name: "waking CPU asked for",
            flags: WakeFlags::TTWU | WakeFlags::CURRENT_CPU,
            ..CASE
        },
        Case {
            name: "energy: task without utilization",
            util: 0,
            ..energy.clone()
        },
        Case {
            name: "energy: previous CPU is as good",
            ..energy.clone()
        },
        Case {
            name: "energy: previous CPU is big",
            prev: 4,
            recent: 4,
            ..energy.clone()
        },
        Case {
            name: "energy: the task seems to save some",
            change: |state| {
                energy_model(state);
                // The faster state is cheaper, so that the task appears to save energy.
                state.perf[0].states[1].cost = 1;
                (state.cpus[0].util, state.cpus[0].util_est) = (100, 100);
            },
            ..energy.clone()
        },
        Case {
            name: "target idle",
            idle: &[0, 5],
            ..CASE
        },
        Case {
            name: "previous CPU idle, sync waker",
            shape: PLAIN,
            prev: 4,
            idle: &[4],
            flags: WakeFlags::TTWU | WakeFlags::SYNC,
            ..CASE
        },
        Case {
            name: "kthread wakes on its CPU",
            this: 0,
            kthread: true,
            idle: &[7],
            ..CASE
        },
        Case {
            name: "recent CPU idle",
            recent: 5,
            idle: &[5],
            ..CASE
        },
        Case {
            name: "capacity: one that fits",
            shape: LITTLE_BIG,
            util: 350,
            idle: &[1, 6],
            ..CASE
        },
        Case {
            name: "capacity: none that fits",
            shape: LITTLE_BIG,
            util: 1000,
            idle: &[1, 3],
            ..CASE
        },
        Case {
            name: "capacity: none idle",
            shape: LITTLE_BIG,
            util: 350,
            ..CASE
        },
        Case {
            name: "no LLC",
            shape: Shape {
                cores: 1,
                threads: 1,
                llcs: 4,
                ..SMT
            },
            ..CASE
        },
        Case {
            name: "hint set, an idle core",
            hint: true,
            idle: &[3, 6, 7],
            ..CASE
        },
        Case {
            name: "hint set, but no idle core",
            hint: true,
            idle: &[3, 5],
            ..CASE
        },
        Case {
            name: "hint set, nothing idle",
            hint: true,
            ..CASE
        },
        Case {
            name: "no hint, an idle thread elsewhere",
            idle: &[5],
            ..CASE
        },
        Case {
            name: "no hint, the sibling of the target idle",
            idle: &[1],
            ..CASE
        },
        Case {
            name: "sibling of the target idle, budget spent before it",
            this: 5,
            prev: 5,
            recent: 5,
            idle: &[4],
            nr_idle_scan: 2,
            short_of_time: true,
            ..CASE
        },
        Case {
            name: "one sched-idle CPU",
            sched_idle: &[6],
            ..CASE
        },
        Case {
            name: "one sched-idle CPU, short of time",
            shape: PLAIN,
            sched_idle: &[1],
            nr_idle_scan: 2,
            short_of_time: true,
            ..CASE
        },
        Case {
            name: "nothing idle",
            shape: PLAIN,
            ..CASE
        },
        Case {
            name: "idle CPU beyond the budget",
            shape: PLAIN,
            idle: &[7],
            nr_idle_scan: 2,
            short_of_time: true,
            ..CASE
        },
        Case {
            name: "no budget at all",
            shape: PLAIN,
            idle: &[7],
            nr_idle_scan: 0,
            ..CASE
        },
        Case {
            name: "waking CPU outside all domains",
            shape: Shape {
                isolated: &[7],
                ..PLAIN
            },
            this: 7,
            idle: &[5],
            ..CASE
        },
        Case {
            name: "idle core in the cluster",
            this: 5,
            shape: SMT_CLUSTERS,
            hint: true,
            idle: &[2, 3],
            ..CASE
        },
        Case {
            name: "idle CPU in the cluster",
            shape: CLUSTERS,
            idle: &[3, 6],
            ..CASE
        },
        Case {
            name: "previous CPU idle in the other cluster, out of budget",
            shape: CLUSTERS,
            this: 1,
            prev: 4,
            recent: 4,
            idle: &[4],
            nr_idle_scan: 2,
            flags: WakeFlags::TTWU | WakeFlags::SYNC,
            ..CASE
        },
        Case {
            name: "recent CPU idle in the other cluster, out of budget",
            shape: CLUSTERS,
            recent: 5,
            idle: &[5],
            nr_idle_scan: 2,
            ..CASE
        },
        Case {
            name: "fork outside all domains",
            shape: Shape {
                isolated: &[0],
                ..PLAIN
            },
            this: 0,
            ..fork.clone()
        },
        Case {
            name: "fork, nowhere allowed",
            allowed: Some(&[20, 21]),
            ..fork.clone()
        },
        Case {
            name: "fork, all equally busy",
            ..fork.clone()
        },
        Case {
            name: "fork, an idle core",
            idle: &[4, 5],
            ..fork.clone()
        },
        Case {
            name: "fork, one idle thread",
            idle: &[4],
            ..fork.clone()
        },
        Case {
            name: "fork, one sched-idle thread",
            sched_idle: &[4],
            ..fork.clone()
        },
        Case {
            name: "fork, one idle CPU, no SMT",
            shape: PLAIN,
            idle: &[5],
            ..fork.clone()
        },
        Case {
            name: "fork, a sched-idle core",
            sched_idle: &[4, 5],
            change: |state| {
                (fork_loads())(state);
                for cpu in [4, 5] {
                    state.cpus[cpu].nr_running = 1;
                }
                for cpu in [0, 1, 2, 3, 6, 7] {
                    state.cpus[cpu].nr_running = 3;
                }
            },
            ..fork.clone()
        },
        Case {
            name: "fork, one core less loaded",
            change: |state| {
                (fork_loads())(state);
                for (i, cpu) in state.cpus.iter_mut().enumerate() {
                    let is_light = i == 6 || i == 7;
                    cpu.nr_running = if is_light { 2 } else { 4 };
                    let load = if is_light { 2000 } else { 5000 };
                    (cpu.load, cpu.runnable_load, cpu.runnable) = (load, load, load);
                    cpu.util = if is_light { 300 } else { 1024 };
                }
            },
            ..fork.clone()
        },
    ]
}

fn fork_loads() -> fn(&mut State) {
    |state| {
        for cpu in &mut state.cpus {
            let busy = u64::from(!cpu.idle && !cpu.sched_idle) * 1024;
            (cpu.load, cpu.runnable_load) = (busy, busy);
            (cpu.util, cpu.runnable) = (busy, busy);
            cpu.idle_stamp = 5;
        }
    }
}

fn run(kernel: &Kernel, case: &Case) -> (CpuId, Reason) {
    let mut state = case.shape.state(kernel).idle(case.idle, case.sched_idle);
    state = state.hint(case.hint);
    state.nr_idle_scan = case.nr_idle_scan;
    if case.short_of_time {
        (state.avg_idle, state.avg_scan_cost) = (0, 1_000_000);
    }
    (case.change)(&mut state);
    let nr = state.cpus.len();
    let everywhere = CpuMask::full(nr);
    let allowed = case
        .allowed
        .map_or(everywhere.clone(), |list| cpus(64, list));
    let mut p = task(1, &allowed);
    p.recent_used_cpu = CpuId(case.recent);
    p.signals.util_est = case.util;
    p.cpu = CpuId(case.prev);
    p.is_new = case.flags & WakeFlags::FORK != 0;
    let mut current = task(2, &everywhere);
    current.is_per_cpu_kthread = case.kthread;

    if let Some(cpu) = only_cpu(&p, false) {
        return (cpu, Reason::OnlyCpu);
    }
    let context = context(case.this, case.prev, case.flags);
    let mut scratch = Scratch::new(nr);
    let outcome = select_task_rq_fair(&state, kernel, &context, &p, &current, &mut scratch);
    let Decision { cpu, reason, .. } = outcome.decision;
    // A fork out of the mask shows its own reason.
    if case.flags & WakeFlags::FORK != 0 {
        return (cpu, reason);
    }
    fallback_cpu(&state, &p, cpu, &everywhere).unwrap_or((cpu, reason))
}

#[test]
fn every_reason_of_every_release_has_a_case() {
    let cases = cases();
    let mut table = String::new();
    let mut missing = String::new();
    for kernel in kernels() {
        let mut seen = BTreeSet::new();
        writeln!(table, "{kernel}").unwrap();
        for case in &cases {
            let (cpu, reason) = run(&kernel, case);
            assert!(
                reason.applies_to(&kernel),
                "{kernel}: {}: {reason}",
                case.name
            );
            seen.insert(reason);
            writeln!(table, "  {:<52} {cpu} {reason}", case.name).unwrap();
        }
        for reason in Reason::ALL {
            if reason.applies_to(&kernel) && !seen.contains(reason) {
                writeln!(missing, "{kernel}: {reason}").unwrap();
            }
        }
    }
    expect_file!["../golden/reasons.txt"].assert_eq(&table);
    assert_eq!(missing, "", "reasons without a case");
}

#[test]
fn reasons_have_names_of_their_own_and_a_sentence() {
    let mut names = BTreeSet::new();
    for reason in Reason::ALL {
        assert!(names.insert(reason.name()), "{reason} twice");
        assert_eq!(Reason::from_name(reason.name()), Some(*reason));
        assert!(reason.doc().ends_with('.'), "{reason}");
    }
}
