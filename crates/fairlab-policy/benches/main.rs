//! One wakeup: the kernel's scan against the word-parallel search, at the same state.
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has failed"
)]

#[allow(dead_code, reason = "written for the tests")]
#[path = "../tests/it/machine.rs"]
mod machine;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fairlab_kernel::{Kernel, Release};
use fairlab_policy::{IdleMasks, Scratch, WakeFlags, fast_task_rq_fair, select_task_rq_fair};
use fairlab_units::{CpuId, CpuMask};
use machine::{Shape, context, task};

/// The last core of one LLC is idle, with all its threads or with one; all else is busy.
fn wakeup(criterion: &mut Criterion) {
    for (name, hint) in [("idle core", true), ("idle CPU", false)] {
        let mut group = criterion.benchmark_group(name);
        for cores in [8, 32, 128, 512] {
            let kernel = Kernel::of(Release::V6_12);
            let shape = Shape::llc(cores, 2);
            let nr = shape.nr();
            let last = if hint {
                vec![nr - 2, nr - 1]
            } else {
                vec![nr - 1]
            };
            let mut state = shape.state(&kernel).idle(&last, &[]).hint(hint);
            state.watches_sections = false;
            state.nr_idle_scan = nr;
            let mut masks = IdleMasks::new(&state.domains);
            for cpu in &last {
                masks.on_idle_enter(CpuId(*cpu));
            }
            let uncounted = masks.clone().counting_cores(false);
            let everywhere = CpuMask::full(nr as usize);
            let (p, current) = (task(1, &everywhere), task(2, &everywhere));
            let context = context(0, 0, WakeFlags::TTWU);
            let mut scratch = Scratch::new(nr as usize);
            group.bench_function(BenchmarkId::new("scan", nr), |b| {
                b.iter(|| {
                    black_box(select_task_rq_fair(
                        &state,
                        &kernel,
                        &context,
                        &p,
                        &current,
                        &mut scratch,
                    ))
                });
            });
            for (name, masks) in [("masks", &masks), ("masks, cost off", &uncounted)] {
                group.bench_function(BenchmarkId::new(name, nr), |b| {
                    b.iter(|| {
                        black_box(fast_task_rq_fair(
                            &state,
                            masks,
                            &kernel,
                            &context,
                            &p,
                            &current,
                            &mut scratch,
                        ))
                    });
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, wakeup);
criterion_main!(benches);
