//! Cache-aware scheduling: the threads of a process gather in one LLC while there is room.

use std::collections::BTreeMap;

use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::Kernel;
use fairlab_sim::{Observer, SimOptions, run};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId, Timestamp};
use fairlab_workload::{End, Op, ProgramBuilder, Report, Span, Who, Workload, WorkloadBuilder};

use crate::machines::grid;

/// CPU time of each task per LLC of eight CPUs, from a moment on.
struct Time {
    from: Timestamp,
    running: BTreeMap<CpuId, (TaskId, Timestamp)>,
    spent: BTreeMap<TaskId, [u64; 2]>,
}

impl Observer for Time {
    fn event(&mut self, event: &SchedEvent) {
        let EventKind::Switch { next, .. } = event.kind else {
            return;
        };
        if let Some((task, since)) = self.running.remove(&event.cpu) {
            let since = since.max(self.from);
            let llc = (event.cpu.0 / 8) as usize;
            self.spent.entry(task).or_default()[llc] += event.time.0.saturating_sub(since.0);
        }
        if let Some(next) = next {
            self.running.insert(event.cpu, (next, event.time));
        }
    }
}

/// Two processes of `threads` threads that compute and sleep; one thread in two starts in the
/// other LLC.
fn workload(threads: u32) -> Workload {
    let end = End::After(Nanos::from_secs(3));
    let mut w = WorkloadBuilder::new("processes", Report::Plain, end);
    let everywhere = w.mask(CpuMask::full(16));
    let llc = [
        w.mask(CpuMask::from_cpus(16, (0..8).map(CpuId))),
        w.mask(CpuMask::from_cpus(16, (8..16).map(CpuId))),
    ];
    let who = Who::Myself;
    for process in 0..2 {
        for n in 0..threads {
            // Each process starts with one thread more in its own half.
            let half = if n <= threads / 2 {
                process
            } else {
                1 - process
            };
            let thread = ProgramBuilder::new("thread")
                .process(process)
                .allowed(llc[half as usize])
                .op(Op::Run(Span::Fixed(Nanos::from_millis(100))))
                .op(Op::SetAffinity {
                    who,
                    cpus: everywhere,
                })
                .repeat(0, |p| {
                    p.op(Op::Run(Span::around(Nanos::from_millis(8), 20)))
                        .op(Op::Sleep(Span::around(Nanos::from_millis(2), 20)))
                });
            let thread = w.program(thread.build());
            w.start(thread);
        }
    }
    w.build()
}

/// Share of the CPU time of each process in the LLC where it spent most, in percent: the mean of some
/// seeds, since a process may stay together by chance.
fn gathered(kernel: &str, threads: u32) -> [u64; 2] {
    const SEEDS: u64 = 4;
    let mut sum = [0; 2];
    for seed in 1..=SEEDS {
        let shares = gathered_once(kernel, threads, seed);
        sum = [sum[0] + shares[0], sum[1] + shares[1]];
    }
    sum.map(|sum| sum / SEEDS)
}

fn gathered_once(kernel: &str, threads: u32, seed: u64) -> [u64; 2] {
    let machine = grid(1, 2, 8, 1);
    let kernel: Kernel = kernel.parse().unwrap();
    let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
    let mut time = Time {
        from: Timestamp(1_000_000_000),
        running: BTreeMap::new(),
        spent: BTreeMap::new(),
    };
    let options = SimOptions::new(kernel, seed);
    run(
        &machine,
        &domains,
        &workload(threads),
        &options,
        &mut time,
        None,
    )
    .unwrap();
    [0, 1].map(|process| {
        let mut sum = [0; 2];
        for (task, spent) in &time.spent {
            if task.0 / threads == process {
                sum[0] += spent[0];
                sum[1] += spent[1];
            }
        }
        100 * sum[0].max(sum[1]) / (sum[0] + sum[1]).max(1)
    })
}

#[test]
fn the_threads_of_a_process_gather_in_one_llc_only_with_sched_cache() {
    let with = gathered("7.2", 4);
    let without = gathered("7.2:NO_SCHED_CACHE", 4);
    assert!(
        with.iter().all(|p| *p >= 95),
        "with {with:?}, without {without:?}"
    );
    assert!(
        without.iter().all(|p| *p <= 80),
        "with {with:?}, without {without:?}"
    );
}

#[test]
fn a_process_with_more_threads_than_an_llc_has_cpus_has_no_preference() {
    // Of twelve threads nine or so run at once; eight CPUs with a fifth to spare take six.
    let with = gathered("7.2", 12);
    assert!(
        with.iter().all(|p| *p <= 60),
        "both LLCs are used: {with:?}"
    );
}
