//! Cost of load tracking: one update at several distances, a queue with its entity, and the
//! utilization of all CPUs of a large machine with and without inlining.
//!
//! Each measurement advances one set of signals, as a runqueue does.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fairlab_kernel::{Kernel, Release};
use fairlab_pelt::{
    CpuUtil, EntityMut, EntityState, PeltTime, QueueAvg, QueueState, SchedAvg, TaskUtil,
    UpdateFlags, cpu_util_without, cpu_util_without_call, decay,
};
use fairlab_units::CpuId;

const NICE_0: u64 = 1024 << 10;

/// Spans between two updates: within a period, a period, a tick at 250 Hz, a long sleep.
const SPANS: [(&str, u64); 4] = [
    ("50us", 50_000),
    ("1ms", 1_048_576),
    ("4ms", 4_000_000),
    ("100ms", 100_000_000),
];

fn updates(c: &mut Criterion) {
    let mut group = c.benchmark_group("entity");
    for release in [Release::V5_4, Release::V7_2] {
        let kernel = Kernel::of(release);
        let state = EntityState::task(NICE_0, true, true);
        for (name, span) in SPANS {
            group.bench_function(BenchmarkId::new(release.name(), name), |b| {
                let mut avg = SchedAvg::default();
                let mut now = 0;
                b.iter(|| {
                    now += black_box(span);
                    avg.update(&kernel, PeltTime(now), black_box(&state))
                });
                black_box(avg);
            });
        }
    }
    group.finish();

    let mut group = c.benchmark_group("queue and entity");
    let kernel = Kernel::of(Release::V7_2);
    let queue_state = QueueState {
        weight: 3 * NICE_0,
        runnable_weight: 3 * NICE_0,
        h_nr_runnable: 3,
        has_curr: true,
    };
    for (name, span) in SPANS {
        group.bench_function(name, |b| {
            let (mut queue, mut avg) = (QueueAvg::default(), SchedAvg::default());
            let mut now = 0;
            b.iter(|| {
                now += black_box(span);
                let entity = EntityMut::task(&mut avg, EntityState::task(NICE_0, true, true));
                let flags = UpdateFlags::DO_ATTACH.and(UpdateFlags::UPDATE_TG);
                queue.update_load_avg(
                    &kernel,
                    PeltTime(now),
                    black_box(&queue_state),
                    entity,
                    flags,
                )
            });
            black_box((queue, avg));
        });
    }
    group.finish();

    c.bench_function("decay", |b| {
        let mut sum = 1 << 40;
        b.iter(|| {
            sum = decay(sum | 1 << 40, black_box(17));
            sum
        });
    });

    c.bench_function("attach and detach", |b| {
        let mut queue = QueueAvg::default();
        let state = EntityState::task(NICE_0, true, false);
        let mut task = SchedAvg::new_task(&kernel, &state);
        b.iter(|| {
            queue.attach(&kernel, &mut task, black_box(&state));
            queue.detach(&kernel, &task, black_box(&state));
        });
        black_box(queue);
    });
}

fn utilization(c: &mut Criterion) {
    let mut group = c.benchmark_group("cpu_util_without, 80 CPUs");
    let kernel = Kernel::of(Release::V7_2);
    let cpus: Vec<CpuUtil> = (0..80)
        .map(|cpu| CpuUtil {
            cpu: CpuId(cpu),
            util_avg: u64::from(cpu * 37 % 1000),
            runnable_avg: u64::from(cpu * 51 % 1000),
            util_est: u64::from(cpu * 73 % 1000),
            capacity_orig: 1024,
        })
        .collect();
    let task = TaskUtil {
        cpu: CpuId(7),
        util_avg: 100,
        runnable_avg: 120,
        util_est: 150,
        is_counted: true,
        is_new: false,
    };
    group.bench_function("inline", |b| {
        b.iter(|| -> u64 {
            let task = black_box(&task);
            cpus.iter()
                .map(|cpu| cpu_util_without(&kernel, cpu, task))
                .sum()
        });
    });
    group.bench_function("call", |b| {
        b.iter(|| -> u64 {
            let task = black_box(&task);
            cpus.iter()
                .map(|cpu| cpu_util_without_call::<0>(&kernel, cpu, task))
                .sum()
        });
    });
    group.finish();
}

criterion_group!(benches, updates, utilization);
criterion_main!(benches);
