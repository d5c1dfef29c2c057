//! Cost of one wakeup, one pick and one sleep on queues of different lengths.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fairlab_kernel::Release;

mod cpu;

use cpu::Cpu;

fn cycle(c: &mut Criterion) {
    for release in [Release::V6_1, Release::V6_12, Release::V7_2] {
        let mut group = c.benchmark_group(format!("enqueue+pick+dequeue/{release}"));
        for nr in [1, 2, 8, 64, 1_000, 100_000, 1_000_000] {
            let mut cpu = Cpu::new(release, nr);
            group.bench_function(BenchmarkId::from_parameter(nr), |b| {
                b.iter(|| {
                    cpu.cycle();
                    black_box(&cpu.rq);
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, cycle);
criterion_main!(benches);
