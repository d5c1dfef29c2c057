//! Features that are off in every release: patches, as their posts describe them.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::{Affine, Outcome, Reason, Scratch, WakeFlags, select_task_rq_fair};
use fairlab_units::{CpuId, CpuMask};

use crate::machine::{Shape, State, context, task};

/// Two LLCs of two cores without SMT, in one node: CPUs 0 and 1, 2 and 3.
const TWO_LLCS: Shape = Shape {
    llcs: 2,
    ..Shape::llc(2, 1)
};

fn kernel(release: Release, feature: Feature) -> Kernel {
    let mut kernel = Kernel::of(release);
    kernel.features = kernel.features.with(feature, true);
    kernel
}

/// CPU 1 wakes a task that was on CPU 0.
fn wake(kernel: &Kernel, state: &State, prev: u32, flags: u32, in_task: bool) -> Outcome {
    let allowed = CpuMask::full(state.cpus.len());
    let mut context = context(1, prev, WakeFlags::TTWU | flags);
    context.in_task = in_task;
    let (p, current) = (task(1, &allowed), task(2, &allowed));
    select_task_rq_fair(state, kernel, &context, &p, &current, &mut Scratch::new(4))
}

#[test]
fn a_full_llc_looks_at_the_others_of_its_node() {
    for release in [Release::V6_1, Release::V6_6, Release::V6_12] {
        let plain = Kernel::of(release);
        let state = TWO_LLCS.state(&plain).idle(&[3], &[]);
        let choice = wake(&plain, &state, 0, 0, true).decision;
        assert_eq!(
            (choice.cpu, choice.reason),
            (CpuId(0), Reason::Target),
            "{plain}"
        );
        let node = kernel(release, Feature::SIS_NODE);
        let choice = wake(&node, &state, 0, 0, true).decision;
        assert_eq!(
            (choice.cpu, choice.reason),
            (CpuId(3), Reason::NodeIdle),
            "{node}"
        );
        // Four CPUs were looked at, and the probes of wake_affine come on top.
        let full = TWO_LLCS.state(&plain);
        let choice = wake(&node, &full, 0, 0, true).decision;
        assert_eq!(
            (choice.cpu, choice.reason),
            (CpuId(0), Reason::Target),
            "{node}"
        );
    }
}

#[test]
fn the_search_of_the_node_does_not_leave_it() {
    let shape = Shape {
        nodes: 2,
        ..Shape::llc(2, 1)
    };
    let kernel = kernel(Release::V6_1, Feature::SIS_NODE);
    let state = shape.state(&kernel).idle(&[3], &[]);
    assert_eq!(wake(&kernel, &state, 0, 0, true).decision.cpu, CpuId(0));
}

#[test]
fn hints_of_other_llcs_are_cleared_by_group() {
    let shape = Shape {
        llcs: 3,
        ..Shape::llc(1, 2)
    };
    let kernel = kernel(Release::V6_1, Feature::SIS_NODE);
    let state = shape.state(&kernel).hint(true);
    let allowed = CpuMask::full(6);
    let (p, current) = (task(1, &allowed), task(2, &allowed));
    let context = context(1, 0, WakeFlags::TTWU);
    let outcome = select_task_rq_fair(
        &state,
        &kernel,
        &context,
        &p,
        &current,
        &mut Scratch::new(6),
    );
    let own = state.domains.cached(CpuId(0)).llc_shared;
    assert_eq!(outcome.effects.clear_idle_cores, own);
    // The first group is the target's own.
    assert_eq!(
        outcome.effects.clear_groups.map(|(_, groups)| groups),
        Some(0b110)
    );
}

#[test]
fn the_more_idle_llc_wins_between_waker_and_wakee() {
    let kernel = kernel(Release::V5_15, Feature::WA_LLC_IDLER);
    // The waker's LLC is full, that of the previous CPU has an idle CPU.
    let state = TWO_LLCS.state(&kernel).idle(&[3], &[]);
    let outcome = wake(&kernel, &state, 2, 0, true);
    assert_eq!(outcome.affine, Some(Affine::PrevLlcIdler));
    assert_eq!(outcome.decision.cpu, CpuId(3));
    let state = TWO_LLCS.state(&kernel).idle(&[0], &[]);
    let outcome = wake(&kernel, &state, 2, 0, true);
    assert_eq!(outcome.affine, Some(Affine::LlcIdler));
    assert_eq!(outcome.decision.cpu, CpuId(0));
    // Both being full, a sync waker decides as without the change.
    let state = TWO_LLCS.state(&kernel);
    let outcome = wake(&kernel, &state, 2, WakeFlags::SYNC, true);
    assert_eq!(outcome.affine, Some(Affine::Sync));
    // Only the waker is busy: its LLC is the busier one, though it is about to sleep.
    let state = TWO_LLCS.state(&kernel).idle(&[1, 2, 3], &[]);
    let outcome = wake(&kernel, &state, 2, WakeFlags::SYNC, true);
    assert_eq!(outcome.affine, Some(Affine::PrevLlcIdler));
}

#[test]
fn a_filtered_scan_finds_what_is_beyond_the_budget() {
    let shape = Shape::llc(4, 1);
    let plain = Kernel::of(Release::V6_1);
    let mut state = shape.state(&plain).idle(&[3], &[]);
    state.nr_idle_scan = 2;
    assert_eq!(
        wake(&plain, &state, 0, 0, true).decision.reason,
        Reason::TargetBudget
    );
    let filter = kernel(Release::V6_1, Feature::SIS_FILTER);
    let choice = wake(&filter, &state, 0, 0, true).decision;
    assert_eq!((choice.cpu, choice.reason), (CpuId(3), Reason::IdleCpu));
}

#[test]
fn a_sync_wakeup_from_an_interrupt_can_be_taken_as_a_plain_one() {
    let shape = Shape::llc(4, 1);
    let plain = Kernel::of(Release::V6_1);
    let state = shape.state(&plain);
    let sync = WakeFlags::SYNC;
    assert_eq!(
        wake(&plain, &state, 0, sync, false).affine,
        Some(Affine::Sync)
    );
    let patched = kernel(Release::V6_1, Feature::WA_SYNC_IN_TASK);
    assert_eq!(
        wake(&patched, &state, 0, sync, true).affine,
        Some(Affine::Sync)
    );
    assert_ne!(
        wake(&patched, &state, 0, sync, false).affine,
        Some(Affine::Sync)
    );
}
