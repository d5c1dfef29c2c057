//! A decision allocates nothing, in any release.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

// The whole machine module serves other tests.
#[allow(dead_code, reason = "written for the other tests")]
#[path = "it/machine.rs"]
mod machine;

use std::alloc::System;

use fairlab_policy::{IdleMasks, Scratch, WakeFlags, fast_task_rq_fair, select_task_rq_fair};
use fairlab_units::{CpuId, CpuMask};
use machine::{Shape, context, kernels, task};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    // Runners such as nextest ask first which tests there are: one, and none is ignored.
    let asked = |option: &str| std::env::args().any(|arg| arg == option);
    if asked("--list") {
        if !asked("--ignored") {
            println!("no_decision_allocates: test");
        }
        return;
    }
    let shape = Shape {
        nodes: 2,
        clusters: 4,
        ..Shape::llc(4, 2)
    };
    let nr = shape.nr();
    let allowed = CpuMask::full(nr as usize);
    for kernel in kernels() {
        for (idle, hint) in [(&[][..], false), (&[9, 20], true), (&[9, 20, 21], true)] {
            let mut state = shape.state(&kernel).idle(idle, &[]).hint(hint);
            state.watches_sections = false;
            let mut masks = IdleMasks::new(&state.domains);
            for cpu in idle {
                masks.on_idle_enter(CpuId(*cpu));
            }
            let mut scratch = Scratch::new(nr as usize);
            let (p, current) = (task(1, &allowed), task(2, &allowed));
            let region = Region::new(GLOBAL);
            for flags in [WakeFlags::TTWU, WakeFlags::FORK, WakeFlags::EXEC] {
                for prev in 0..nr {
                    let context = context(3, prev, flags);
                    let slow =
                        select_task_rq_fair(&state, &kernel, &context, &p, &current, &mut scratch);
                    let fast = fast_task_rq_fair(
                        &state,
                        &masks,
                        &kernel,
                        &context,
                        &p,
                        &current,
                        &mut scratch,
                    );
                    assert!(slow == fast);
                }
            }
            let change = region.change();
            assert_eq!(change.allocations + change.reallocations, 0, "{kernel}");
        }
    }
    println!("no decision allocated");
}
