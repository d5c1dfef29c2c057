//! A fixed number of decisions on a machine in a given state, to count instructions with; the
//! difference between two numbers of decisions is free of the set-up:
//!
//! ```text
//! cargo build --release -p fairlab-policy --example decisions
//! valgrind --tool=callgrind target/release/examples/decisions masks 6.12 core last 256 2 2000
//! valgrind --tool=callgrind target/release/examples/decisions fork 6.12:CPU_UTIL_INLINE 2000
//! ```
#![allow(
    clippy::unwrap_used,
    reason = "an example that cannot be set up has failed"
)]

#[allow(dead_code, reason = "written for the tests")]
#[path = "../tests/it/machine.rs"]
mod machine;

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use fairlab_kernel::Kernel;
use fairlab_policy::{
    IdleMasks, Outcome, Scratch, WakeFlags, fast_task_rq_fair, select_task_rq_fair,
};
use fairlab_units::{CpuId, CpuMask};
use machine::{Shape, context, task};

const USAGE: &str = "error: wanted are
  scan|masks|uncounted KERNEL core|cpu busy|last|half|none CPUS THREADS DECISIONS
  fork KERNEL DECISIONS
  change KERNEL CPUS THREADS CHANGES";

/// Which CPUs of one LLC are idle; with `none` the budget refuses the scan, so that what it costs is
/// the difference to that state. `whole` says whether the last idle place is a core or a CPU.
fn idle_cpus(state: &str, whole: bool, nr: u32, threads: u32) -> Option<Vec<u32>> {
    Some(match state {
        "busy" | "none" => Vec::new(),
        "last" if whole => (nr - threads..nr).collect(),
        "last" => vec![nr - 1],
        "half" => (0..nr).filter(|cpu| cpu / threads % 2 == 1).collect(),
        _ => return None,
    })
}

fn repeat(times: u64, mut decide: impl FnMut() -> Outcome) {
    let begin = Instant::now();
    let mut last = None;
    for _ in 0..times {
        last = Some(black_box(decide()));
    }
    let spent = begin.elapsed();
    if let Some(outcome) = last {
        println!("{:?}", outcome.decision);
    }
    println!("{} ns each", spent.as_nanos() / u128::from(times.max(1)));
}

fn wakeups(args: &[&str]) -> Option<()> {
    let [how, kernel, search, idle, nr, threads, times] = args else {
        return None;
    };
    let kernel: Kernel = kernel.parse().ok()?;
    let (nr, threads): (u32, u32) = (nr.parse().ok()?, threads.parse().ok()?);
    let times = times.parse().ok()?;
    let whole = *search == "core";
    let is_refused = *idle == "none";
    let idle = idle_cpus(idle, whole, nr, threads)?;
    let shape = Shape::llc(nr / threads, threads);
    let mut state = shape.state(&kernel).idle(&idle, &[]).hint(whole);
    state.watches_sections = false;
    state.nr_idle_scan = if is_refused { 0 } else { nr };
    let mut masks = IdleMasks::new(&state.domains).counting_cores(*how != "uncounted");
    for cpu in &idle {
        masks.on_idle_enter(CpuId(*cpu));
    }
    let everywhere = CpuMask::full(nr as usize);
    let (p, current) = (task(1, &everywhere), task(2, &everywhere));
    let context = context(0, 0, WakeFlags::TTWU);
    let mut scratch = Scratch::new(nr as usize);
    if *how == "scan" {
        repeat(times, || {
            select_task_rq_fair(&state, &kernel, &context, &p, &current, &mut scratch)
        });
    } else {
        repeat(times, || {
            fast_task_rq_fair(
                &state,
                &masks,
                &kernel,
                &context,
                &p,
                &current,
                &mut scratch,
            )
        });
    }
    Some(())
}

/// Forks on two nodes of 80 CPUs, all as busy as each other.
fn forks(kernel: &str, times: &str) -> Option<()> {
    let kernel: Kernel = kernel.parse().ok()?;
    let shape = Shape {
        nodes: 2,
        ..Shape::llc(40, 2)
    };
    let mut state = shape.state(&kernel);
    state.watches_sections = false;
    for cpu in &mut state.cpus {
        (cpu.util, cpu.util_est, cpu.load, cpu.runnable) = (300, 280, 1024, 310);
    }
    let everywhere = CpuMask::full(160);
    let (mut p, current) = (task(1, &everywhere), task(2, &everywhere));
    p.is_new = true;
    let context = context(7, 7, WakeFlags::FORK);
    let mut scratch = Scratch::new(160);
    repeat(times.parse().ok()?, || {
        select_task_rq_fair(&state, &kernel, &context, &p, &current, &mut scratch)
    });
    Some(())
}

/// One CPU after another goes idle and busy again.
fn changes(kernel: &str, nr: &str, threads: &str, times: &str) -> Option<()> {
    let kernel: Kernel = kernel.parse().ok()?;
    let (nr, threads): (u32, u32) = (nr.parse().ok()?, threads.parse().ok()?);
    let mut masks = IdleMasks::new(&Shape::llc(nr / threads, threads).domains(&kernel));
    for i in 0..times.parse().ok()? {
        let cpu = CpuId((i * 7) % nr);
        masks.on_idle_enter(black_box(cpu));
        masks.on_idle_exit(black_box(cpu));
    }
    println!("{} CPUs idle", masks.idle().weight());
    Some(())
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["fork", kernel, times] => forks(kernel, times),
        ["change", kernel, nr, threads, times] => changes(kernel, nr, threads, times),
        ["scan" | "masks" | "uncounted", ..] => wakeups(&args),
        _ => None,
    };
    if done.is_none() {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}
