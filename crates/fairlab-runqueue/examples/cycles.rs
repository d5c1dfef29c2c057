//! A fixed number of enqueue+pick+dequeue cycles on a queue of a given length, to count instructions
//! with; the difference between two numbers of cycles is free of the set-up:
//!
//! ```text
//! cargo build --release -p fairlab-runqueue --example cycles
//! valgrind --tool=callgrind target/release/examples/cycles 6.12 64 20000
//! ```

use std::env;
use std::process::ExitCode;

use fairlab_kernel::Release;

#[path = "../benches/cpu.rs"]
mod cpu;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let parsed = match args.as_slice() {
        [release, tasks, cycles] => {
            Release::from_name(release).zip(tasks.parse().ok().zip(cycles.parse::<u64>().ok()))
        }
        _ => None,
    };
    let Some((release, (tasks, cycles))) = parsed else {
        eprintln!("error: a release, a number of tasks and a number of cycles are wanted");
        return ExitCode::from(2);
    };
    let mut cpu = cpu::Cpu::new(release, tasks);
    for _ in 0..cycles {
        cpu.cycle();
    }
    println!("{} tasks queued", cpu.rq.h_nr_queued());
    ExitCode::SUCCESS
}
