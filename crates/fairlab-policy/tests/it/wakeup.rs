//! Whole wakeups.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::{
    Affine, Outcome, Reason, Scratch, TaskView, WakeFlags, hint_on_idle_entry, only_cpu,
    record_wakee, select_task_rq_fair,
};
use fairlab_units::{CpuId, CpuMask, TaskId};

use crate::machine::{Shape, State, context, cpus, kernels, task};

fn wake(
    kernel: &Kernel,
    state: &State,
    this: u32,
    prev: u32,
    flags: u32,
    p: &TaskView<'_>,
    current: &TaskView<'_>,
) -> Outcome {
    select_task_rq_fair(
        state,
        kernel,
        &context(this, prev, WakeFlags::TTWU | flags),
        p,
        current,
        &mut Scratch::new(state.cpus.len()),
    )
}

#[test]
fn wake_counts_halve_once_after_a_second_and_grow_with_each_new_wakee() {
    let kernel = Kernel::of(Release::V6_12);
    let allowed = CpuMask::full(2);
    let wakee = task(1, &allowed);
    let mut waker = task(2, &allowed);
    waker.wakee_flips = 9;
    waker.wakee_flip_decay_ts = 1000;
    let counts = |waker: &TaskView<'_>, now| {
        let update = record_wakee(&kernel, now, waker, &wakee);
        (update.wakee_flips, update.wakee_flip_decay_ts)
    };
    // Exactly a second later is not yet after it.
    assert_eq!(counts(&waker, 1000 + kernel.tunables.hz), (10, 1000));
    let later = 1001 + kernel.tunables.hz;
    assert_eq!(counts(&waker, later), (5, later));
    assert_eq!(counts(&waker, later + 10 * kernel.tunables.hz).0, 5);
    waker.last_wakee = Some(TaskId(1));
    assert_eq!(counts(&waker, 1000), (9, 1000));
}

#[test]
fn an_idle_waking_cpu_pulls_only_from_a_busy_previous_cpu() {
    let shape = Shape::llc(4, 1);
    let allowed = CpuMask::full(4);
    let (p, current) = (task(1, &allowed), task(2, &allowed));
    for kernel in kernels() {
        let state = shape.state(&kernel).idle(&[1], &[]);
        let outcome = wake(&kernel, &state, 1, 0, 0, &p, &current);
        assert_eq!(outcome.affine, Some(Affine::ThisIdle), "{kernel}");
        assert_eq!(outcome.decision.cpu, CpuId(1), "{kernel}");
        let state = shape.state(&kernel).idle(&[0, 1], &[]);
        let outcome = wake(&kernel, &state, 1, 0, 0, &p, &current);
        assert_eq!(outcome.affine, Some(Affine::PrevIdle), "{kernel}");
        assert_eq!(outcome.decision.cpu, CpuId(0), "{kernel}");
    }
}

#[test]
fn an_idle_previous_cpu_keeps_its_task_from_v5_11_on() {
    let shape = Shape::llc(4, 1);
    let allowed = CpuMask::full(4);
    let (p, current) = (task(1, &allowed), task(2, &allowed));
    for kernel in kernels() {
        let mut state = shape.state(&kernel).idle(&[0], &[]);
        // The weight part would pull: the previous CPU still carries load.
        state.cpus[0].load = 5000;
        state.cpus[0].runnable_load = 5000;
        let outcome = wake(&kernel, &state, 1, 0, 0, &p, &current);
        let want = if kernel.has(Feature::WA_PREV_IDLE) {
            Affine::PrevIdle
        } else {
            Affine::Weight
        };
        assert_eq!(outcome.affine, Some(want), "{kernel}");
    }
}

#[test]
fn a_sync_waker_alone_on_its_cpu_is_about_to_leave() {
    let shape = Shape::llc(4, 1);
    let allowed = CpuMask::full(4);
    for kernel in kernels() {
        let mut state = shape.state(&kernel);
        let p = task(1, &allowed);
        let mut current = task(2, &allowed);
        let affine = |state: &State, current: &TaskView<'_>| {
            wake(&kernel, state, 1, 0, WakeFlags::SYNC, &p, current).affine
        };
        assert_eq!(affine(&state, &current), Some(Affine::Sync), "{kernel}");
        // A delayed task beside the waker counts until v6.6.
        state.cpus[1].nr_running = 2;
        state.cpus[1].h_nr = 2;
        state.cpus[1].delayed = 1;
        let is_sync = affine(&state, &current) == Some(Affine::Sync);
        assert_eq!(is_sync, kernel.has(Feature::WA_DELAYED), "{kernel}");
        state.cpus[1].nr_running = 1;
        state.cpus[1].delayed = 0;
        current.is_exiting = true;
        assert_ne!(affine(&state, &current), Some(Affine::Sync), "{kernel}");
    }
}

#[test]
fn a_wide_waker_leaves_the_wakee_where_it_was() {
    let shape = Shape::llc(4, 1);
    let allowed = CpuMask::full(4);
    for kernel in kernels() {
        let state = shape.state(&kernel).idle(&[1], &[]);
        let mut p = task(1, &allowed);
        p.wakee_flips = 4;
        let mut current = task(2, &allowed);
        // The wakeup itself makes it sixteen, four times four.
        current.wakee_flips = 15;
        let outcome = wake(&kernel, &state, 1, 0, 0, &p, &current);
        assert_eq!(outcome.affine, Some(Affine::Unwanted), "{kernel}");
        current.wakee_flips = 14;
        let outcome = wake(&kernel, &state, 1, 0, 0, &p, &current);
        assert_eq!(outcome.affine, Some(Affine::ThisIdle), "{kernel}");
        assert_eq!(outcome.effects.waker.map(|w| w.wakee_flips), Some(15));
    }
}

#[test]
fn the_waker_remembers_its_cpu_to_v5_6() {
    let shape = Shape::llc(4, 1);
    let allowed = CpuMask::full(4);
    let (p, current) = (task(1, &allowed), task(2, &allowed));
    for kernel in kernels() {
        let state = shape.state(&kernel).idle(&[1], &[]);
        let outcome = wake(&kernel, &state, 1, 0, 0, &p, &current);
        let want = kernel.has(Feature::SIS_RECENT_WAKER).then_some(CpuId(1));
        assert_eq!(outcome.effects.waker_recent_used_cpu, want, "{kernel}");
        // Not when the wakee may not run there.
        let elsewhere = cpus(4, &[0, 2, 3]);
        let outcome = wake(&kernel, &state, 1, 0, 0, &task(1, &elsewhere), &current);
        assert_eq!(outcome.effects.waker_recent_used_cpu, None, "{kernel}");
    }
}

#[test]
fn wf_current_cpu_answers_the_waking_cpu_from_v6_6_on() {
    let shape = Shape::llc(4, 1);
    let allowed = CpuMask::full(4);
    let (p, current) = (task(1, &allowed), task(2, &allowed));
    for kernel in kernels() {
        let state = shape.state(&kernel).idle(&[0], &[]);
        let outcome = wake(&kernel, &state, 1, 0, WakeFlags::CURRENT_CPU, &p, &current);
        let knows = kernel.has(Feature::WAKE_CURRENT_CPU);
        assert_eq!(
            outcome.decision.reason == Reason::CurrentCpu,
            knows,
            "{kernel}"
        );
    }
}

#[test]
fn the_kthread_rule_wants_task_context_from_v5_16_on() {
    let shape = Shape::llc(4, 1);
    let allowed = CpuMask::full(4);
    let bound = cpus(4, &[1]);
    for kernel in kernels() {
        let state = shape.state(&kernel).idle(&[3], &[]);
        let p = task(1, &allowed);
        let mut current = task(2, &bound);
        current.is_per_cpu_kthread = true;
        let mut context = context(1, 1, WakeFlags::TTWU);
        context.in_task = false;
        let mut scratch = Scratch::new(4);
        let outcome = select_task_rq_fair(&state, &kernel, &context, &p, &current, &mut scratch);
        let stacks = kernel.has(Feature::SIS_KTHREAD_STACK)
            && !kernel.has(Feature::SIS_KTHREAD_TASK_CONTEXT);
        assert_eq!(
            outcome.decision.reason == Reason::KthreadStack,
            stacks,
            "{kernel}"
        );
    }
}

#[test]
fn going_idle_sets_the_hint_when_the_whole_core_is_idle() {
    for kernel in kernels() {
        let state = Shape::llc(4, 2).state(&kernel).idle(&[2, 3, 4], &[]);
        assert!(
            hint_on_idle_entry(&state, &kernel, CpuId(2)).set.is_some(),
            "{kernel}"
        );
        let update = hint_on_idle_entry(&state, &kernel, CpuId(4));
        assert_eq!((update.set, update.cost.idle_tests), (None, 1), "{kernel}");
        let set = state.hint(true);
        let update = hint_on_idle_entry(&set, &kernel, CpuId(2));
        assert_eq!((update.set, update.cost.idle_tests), (None, 0), "{kernel}");
    }
}

#[test]
fn one_allowed_cpu_or_disabled_migration_ask_nobody() {
    let one = cpus(8, &[5]);
    let two = cpus(8, &[3, 6]);
    assert_eq!(only_cpu(&task(1, &one), false), Some(CpuId(5)));
    assert_eq!(only_cpu(&task(1, &two), false), None);
    assert_eq!(only_cpu(&task(1, &two), true), Some(CpuId(3)));
}

#[test]
fn sixteen_cores_of_smt8_cost_128_tests_before_and_16_after() {
    let shape = Shape::llc(16, 8);
    let before: Kernel = "5.6:NO_IDLE_CORE_EARLY_EXIT,NO_IDLE_CORE_CLEAR_ONCE"
        .parse()
        .unwrap();
    let after = Kernel::of(Release::V5_6);
    let last_core: Vec<u32> = (120..128).collect();
    let core_search = |kernel: &Kernel, idle: &[u32]| {
        let mut state = shape.state(kernel).idle(idle, &[]).hint(true);
        // Four CPUs are the least that the pass after the core search looks at.
        (state.avg_idle, state.avg_scan_cost) = (0, 1_000_000);
        let allowed = CpuMask::full(128);
        let p = task(1, &allowed);
        let outcome = wake(kernel, &state, 0, 0, 0, &p, &task(2, &allowed));
        (outcome.decision.cpu.0, outcome.decision.cost)
    };
    // One test of the target comes first; without an idle core three of the budget and the eight
    // threads of the target follow.
    let rest = 1 + 3 + 8;
    let (_, b) = core_search(&before, &[]);
    let (_, a) = core_search(&after, &[]);
    assert_eq!([b.idle_tests - rest, a.idle_tests - rest], [128, 16]);
    assert_eq!([b.bit_clears, a.bit_clears], [128, 0]);
    // One mask operation begins each of the two passes.
    assert_eq!([b.mask_ops - 2, a.mask_ops - 2], [0, 16]);
    let (cpu, b) = core_search(&before, &last_core);
    assert_eq!((cpu, b.idle_tests - 1), (120, 128));
    let (cpu, a) = core_search(&after, &last_core);
    assert_eq!((cpu, a.idle_tests - 1), (120, 15 + 8));
}
