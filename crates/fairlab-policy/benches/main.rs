//! One wakeup: the kernel's scan against the word-parallel search, at the same state. The table of
//! `benchsuite/` in time; `examples/decisions.rs` counts the same in instructions.
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has failed"
)]

#[allow(dead_code, reason = "written for the tests")]
#[path = "../tests/it/machine.rs"]
mod machine;
#[path = "../tests/it/scene.rs"]
mod scene;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fairlab_kernel::{Kernel, Release};
use scene::{SEARCHES, SIZES, STATES, Scene, THREADS};

fn wakeup(criterion: &mut Criterion) {
    let kernel = Kernel::of(Release::V6_12);
    for search in SEARCHES {
        for state in STATES {
            let mut group = criterion.benchmark_group(format!("{search} {state}"));
            for (nr, threads) in SIZES.iter().flat_map(|nr| THREADS.map(|t| (*nr, t))) {
                let mut scene = Scene::new(&kernel, search, state, nr, threads).unwrap();
                let id = |how| BenchmarkId::new(how, format!("{nr} CPUs, {threads} threads"));
                group.bench_function(id("scan"), |b| {
                    let mut decide = scene.scan();
                    b.iter(|| black_box(decide()));
                });
                group.bench_function(id("masks"), |b| {
                    let mut decide = scene.masks();
                    b.iter(|| black_box(decide()));
                });
                let mut uncounted = scene.counting_cores(false);
                if search == "core" {
                    group.bench_function(id("masks, cost off"), |b| {
                        let mut decide = uncounted.masks();
                        b.iter(|| black_box(decide()));
                    });
                }
            }
            group.finish();
        }
    }
}

criterion_group! {
    name = benches;
    // Short, since there are 240 of them.
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400));
    targets = wakeup
}
criterion_main!(benches);
