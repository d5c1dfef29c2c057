//! A fixed number of decisions on a machine in a given state, to count instructions with. All of them
//! are made in one function, so that nothing else need be counted:
//!
//! ```text
//! cargo build --release -p fairlab-policy --example decisions
//! count="valgrind --tool=callgrind --toggle-collect=decisions::repeated*"
//! $count target/release/examples/decisions masks 6.12 core last 256 2 50
//! $count target/release/examples/decisions fork 6.12:CPU_UTIL_INLINE 50
//! ```
#![allow(
    clippy::unwrap_used,
    reason = "an example that cannot be set up has failed"
)]

#[allow(dead_code, reason = "written for the tests")]
#[path = "../tests/it/machine.rs"]
mod machine;
#[allow(dead_code, reason = "written for the tests")]
#[path = "../tests/it/scene.rs"]
mod scene;

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use fairlab_kernel::Kernel;
use fairlab_policy::{IdleMasks, Outcome, Scratch, WakeFlags, select_task_rq_fair};
use fairlab_units::{CpuId, CpuMask};
use machine::{Shape, context, task};
use scene::Scene;

const USAGE: &str = "error: wanted are
  scan|masks|uncounted KERNEL core|cpu busy|last|half|none CPUS THREADS DECISIONS
  fork KERNEL DECISIONS
  change KERNEL CPUS THREADS CHANGES";

/// What is counted: decisions and nothing else.
#[inline(never)]
fn repeated(times: u64, mut decide: impl FnMut() -> Outcome) {
    for _ in 0..times {
        let _ = black_box(decide());
    }
}

fn repeat(times: u64, mut decide: impl FnMut() -> Outcome) {
    println!("{:?}", decide().decision);
    let begin = Instant::now();
    repeated(times, decide);
    let spent = begin.elapsed();
    println!("{} ns each", spent.as_nanos() / u128::from(times.max(1)));
}

fn wakeups(args: &[&str]) -> Option<()> {
    let [how, kernel, search, state, nr, threads, times] = args else {
        return None;
    };
    let kernel: Kernel = kernel.parse().ok()?;
    let (nr, threads): (u32, u32) = (nr.parse().ok()?, threads.parse().ok()?);
    let times = times.parse().ok()?;
    let scene = Scene::new(&kernel, search, state, nr, threads)?;
    let mut scene = scene.counting_cores(*how != "uncounted");
    if *how == "scan" {
        repeat(times, scene.scan());
    } else {
        repeat(times, scene.masks());
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
    println!("{} CPUs idle", masks.nr_idle());
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
