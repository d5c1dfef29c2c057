//! Decisions told in sentences.

use expect_test::{Expect, expect};
use fairlab_kernel::{Kernel, Release};
use fairlab_policy::{Scratch, Story, WakeFlags, explain_task_rq_fair};
use fairlab_units::CpuMask;

use crate::machine::{Shape, State, context, task};

fn check(release: Release, state: &State, flags: u32, expected: &Expect) {
    let kernel = Kernel::of(release);
    let allowed = CpuMask::full(state.cpus.len());
    let mut p = task(1, &allowed);
    p.is_new = flags == WakeFlags::FORK;
    let mut story = Story::new(&state.domains);
    let outcome = explain_task_rq_fair(
        state,
        &kernel,
        &context(2, 0, flags),
        &p,
        &task(2, &allowed),
        &mut Scratch::new(state.cpus.len()),
        &mut story,
    );
    let mut text = story.finish(&outcome).join("\n");
    text.push('\n');
    expected.assert_eq(&text);
}

#[test]
fn a_wakeup_that_finds_an_idle_core() {
    let kernel = Kernel::of(Release::V6_12);
    let state = Shape::llc(4, 2)
        .state(&kernel)
        .idle(&[1, 6, 7], &[])
        .hint(true);
    check(
        Release::V6_12,
        &state,
        WakeFlags::TTWU,
        &expect![[r#"
        wake counts: waker 1, wakee 0, LLC of 8 CPUs: not many to many
        waking and previous CPU: 2 busy, 0 busy
        load after the move: waking CPU 0, previous CPU 0: no pull
        search around CPU 0: the previous one; nothing speaks for the waking CPU
        target: 0 busy
        scan: the hint promises an idle core, so no limit
        search for an idle core: 0 busy, 1 idle, 2 busy, 4 busy, 6-7 idle
        CPU 6: idle core. A core of the LLC was idle with all its threads.
    "#]],
    );
}

#[test]
fn a_stale_hint() {
    let kernel = Kernel::of(Release::V5_4);
    let state = Shape::llc(4, 2)
        .state(&kernel)
        .idle(&[3, 5], &[])
        .hint(true);
    check(
        Release::V5_4,
        &state,
        WakeFlags::TTWU,
        &expect![[r#"
        wake counts: waker 1, wakee 0, LLC of 8 CPUs: not many to many
        waking and previous CPU: 2 busy
        load after the move: waking CPU 0, previous CPU 0: no pull
        search around CPU 0: the previous one; nothing speaks for the waking CPU
        target: 0 busy
        search for an idle core: 0-2 busy, 3 idle, 4 busy, 5 idle, 6-7 busy
        scan: at most 15624999 CPUs
        scan of the LLC: 0-2 busy, 3 idle
        CPU 3: idle CPU. The scan of the LLC found an idle CPU.
        the hint "some core is idle" of LLC object 1 is cleared
    "#]],
    );
}

#[test]
fn a_fork() {
    let kernel = Kernel::of(Release::V7_2);
    let mut state = Shape::llc(3, 2).state(&kernel).idle(&[4, 5], &[]);
    (state.cpus[4].idle_stamp, state.cpus[5].idle_stamp) = (7, 8);
    check(
        Release::V7_2,
        &state,
        WakeFlags::FORK,
        &expect![[r#"
        MC {0-5}: group {2-3} (local): has spare capacity, 0 idle CPUs, 2 tasks, utilization 0 of 2048, load 0
        MC {0-5}: group {4-5}: has spare capacity, 2 idle CPUs, 0 tasks, utilization 0 of 2048, load 0
        MC {0-5}: group {0-1}: has spare capacity, 0 idle CPUs, 2 tasks, utilization 0 of 2048, load 0
        MC {0-5} from CPU 2: group {4-5} is idlest
        CPUs of the group: 4-5 idle
        SMT {4-5}: group {5} (local): has spare capacity, 1 idle CPUs, 0 tasks, utilization 0 of 1024, load 0
        SMT {4-5}: group {4}: has spare capacity, 1 idle CPUs, 0 tasks, utilization 0 of 1024, load 0
        SMT {4-5} from CPU 5: no group is better than the local one
        CPU 5: idle CPU in group. A CPU of the chosen group was idle; the one in the shallowest idle state, or the last to go idle.
    "#]],
    );
}
