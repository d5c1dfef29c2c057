//! Fork and exec.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::{Event, Explain, Outcome, Reason, Scratch, WakeFlags, explain_task_rq_fair};
use fairlab_units::{CpuId, CpuMask};

use crate::machine::{Shape, State, context, cpus, kernels, task};

/// The groups chosen, as CPU lists; `-` stays.
#[derive(Default)]
struct Groups(Vec<String>);

impl Explain for Groups {
    fn note(&mut self, event: Event<'_>) {
        if let Event::GroupChosen { group, .. } = event {
            self.0.push(group.map_or("-".into(), ToString::to_string));
        }
    }
}

fn fork(kernel: &Kernel, state: &State, allowed: &CpuMask, this: u32) -> (Outcome, Vec<String>) {
    let mut p = task(1, allowed);
    p.is_new = true;
    p.cpu = CpuId(this);
    let everywhere = CpuMask::full(state.cpus.len());
    let mut groups = Groups::default();
    let outcome = explain_task_rq_fair(
        state,
        kernel,
        &context(this, this, WakeFlags::FORK),
        &p,
        &task(2, &everywhere),
        &mut Scratch::new(state.cpus.len()),
        &mut groups,
    );
    (outcome, groups.0)
}

#[test]
fn one_fork_on_two_nodes_of_forty_cpus_asks_122_cpus() {
    let xeon = Shape {
        nodes: 2,
        ..Shape::llc(20, 2)
    };
    for kernel in kernels().filter(|k| k.has(Feature::FIG_GROUP_TYPES)) {
        // Every CPU is as busy as any other, so the walk stays on the local CPU at every level.
        let state = xeon.state(&kernel);
        let (outcome, groups) = fork(&kernel, &state, &CpuMask::full(80), 7);
        assert_eq!(outcome.decision.cpu, CpuId(7), "{kernel}");
        assert_eq!(outcome.decision.reason, Reason::SlowLocal, "{kernel}");
        assert_eq!(groups, ["-", "-", "-"], "{kernel}");
        let cost = outcome.decision.cost;
        assert_eq!(cost.group_cpus, 80 + 40 + 2, "{kernel}");
        assert_eq!(cost.groups, 2 + 20 + 2, "{kernel}");
    }
}

#[test]
fn the_inlined_utilization_answers_alike() {
    let xeon = Shape {
        nodes: 2,
        ..Shape::llc(4, 2)
    };
    for kernel in kernels() {
        let mut state = xeon.state(&kernel).idle(&[3, 9, 12, 13], &[]);
        for (i, cpu) in state.cpus.iter_mut().enumerate() {
            cpu.util = (i as u64 * 37) % 500;
            cpu.load = (i as u64 * 91) % 2000;
            cpu.runnable_load = cpu.load;
        }
        let inlined = kernel.with(Feature::CPU_UTIL_INLINE, true);
        let all = CpuMask::full(16);
        assert_eq!(
            fork(&kernel, &state, &all, 0),
            fork(&inlined, &state, &all, 0)
        );
    }
}

#[test]
fn a_fork_descends_to_the_idle_core_of_its_llc() {
    let shape = Shape::llc(4, 2);
    // v5.4 goes on to the sibling: it leaves for an equal group when all loads are zero.
    for kernel in kernels().filter(|k| k.has(Feature::FIG_GROUP_TYPES)) {
        let mut state = shape.state(&kernel).idle(&[3, 6, 7], &[]);
        for cpu in &mut state.cpus {
            // A busy CPU carries one always-running task.
            let busy = u64::from(!cpu.idle) * 1024;
            (cpu.load, cpu.runnable_load, cpu.util, cpu.runnable) = (busy, busy, busy, busy);
            cpu.idle_stamp = 10;
        }
        state.cpus[7].idle_stamp = 20;
        let (outcome, groups) = fork(&kernel, &state, &CpuMask::full(8), 0);
        // CPU 7 went idle last, so its caches are warmest.
        assert_eq!(outcome.decision.cpu, CpuId(7), "{kernel}");
        assert_eq!(outcome.decision.reason, Reason::SlowIdle, "{kernel}");
        assert_eq!(groups, ["6-7", "-"], "{kernel}");
    }
}

#[test]
fn a_sched_idle_cpu_ends_the_search_in_the_group_but_for_sched_idle_tasks_in_v7_2() {
    let shape = Shape::llc(2, 2);
    for kernel in kernels() {
        let mut state = shape.state(&kernel).idle(&[], &[2]);
        for cpu in [0, 1] {
            let cpu = &mut state.cpus[cpu];
            (cpu.load, cpu.runnable_load, cpu.util, cpu.runnable) = (1024, 1024, 1024, 1024);
            cpu.nr_running = 3;
        }
        for cpu in [2, 3] {
            state.cpus[cpu].load = 10 + cpu as u64;
        }
        let ask = |is_sched_idle| {
            let allowed = CpuMask::full(4);
            let mut p = task(1, &allowed);
            (p.is_new, p.is_sched_idle) = (true, is_sched_idle);
            explain_task_rq_fair(
                &state,
                &kernel,
                &context(0, 0, WakeFlags::FORK),
                &p,
                &task(2, &allowed),
                &mut Scratch::new(4),
                &mut Groups::default(),
            )
            .decision
        };
        // v5.6 leaves the weight of groups unset, so that they all look overloaded or full, and its
        // load comparison then sees zeros: it stays.
        if kernel.release != Release::V5_6 {
            assert_eq!(ask(false).reason, Reason::SlowSchedIdle, "{kernel}");
            assert_eq!(ask(false).cpu, CpuId(2), "{kernel}");
            let strict = kernel.has(Feature::SIS_SCHED_IDLE_STRICT);
            let want = if strict {
                Reason::SlowLeastLoaded
            } else {
                Reason::SlowSchedIdle
            };
            assert_eq!(ask(true).reason, want, "{kernel}");
        }
    }
}

#[test]
fn a_shallower_idle_state_wins_and_the_stamp_decides_between_equal_ones() {
    let shape = Shape::llc(2, 2);
    let kernel = Kernel::of(Release::V6_12);
    let chosen = |latencies: [Option<u32>; 2], stamps: [u64; 2]| {
        let mut state = shape.state(&kernel).idle(&[2, 3], &[]);
        for i in 0..2 {
            state.cpus[2 + i].exit_latency = latencies[i];
            state.cpus[2 + i].idle_stamp = stamps[i];
        }
        fork(&kernel, &state, &CpuMask::full(4), 0).0.decision.cpu.0
    };
    assert_eq!(chosen([Some(10), Some(2)], [50, 40]), 3);
    assert_eq!(chosen([Some(2), Some(10)], [40, 50]), 2);
    assert_eq!(chosen([Some(2), Some(2)], [40, 50]), 3);
    assert_eq!(chosen([None, None], [50, 40]), 2);
    // Equal stamps: the first stays.
    assert_eq!(chosen([None, None], [50, 50]), 2);
}

#[test]
fn a_task_that_may_run_nowhere_in_the_domain_stays_on_its_previous_cpu() {
    for kernel in kernels() {
        let state = Shape::llc(2, 2).state(&kernel);
        let (outcome, groups) = fork(&kernel, &state, &cpus(8, &[6]), 1);
        assert_eq!(outcome.decision.cpu, CpuId(1), "{kernel}");
        assert_eq!(outcome.decision.reason, Reason::SlowNoneAllowed, "{kernel}");
        assert!(groups.is_empty());
    }
}

#[test]
fn an_exec_ages_its_signals_and_a_fork_does_not() {
    for kernel in kernels() {
        let state = Shape::llc(2, 2).state(&kernel);
        let allowed = CpuMask::full(4);
        let mut p = task(1, &allowed);
        p.on_rq = true;
        let run = |flags| {
            let mut scratch = Scratch::new(4);
            let context = context(0, 0, flags);
            explain_task_rq_fair(
                &state,
                &kernel,
                &context,
                &p,
                &p,
                &mut scratch,
                &mut Groups::default(),
            )
            .effects
            .synced
        };
        assert!(run(WakeFlags::EXEC), "{kernel}");
        assert!(!run(WakeFlags::FORK), "{kernel}");
    }
}
