//! Measured against ideal shares of one CPU, per release:
//!
//! ```text
//! cargo run --release -p fairlab-runqueue --example fairness
//! ```
//!
//! The tasks never sleep; ticks come at the release's HZ. Deviations are in percent of the ideal share.

#![allow(clippy::unwrap_used, reason = "shared with the tests")]

use fairlab_kernel::Release;
use fairlab_runqueue::{GroupId, Weight};

#[path = "../tests/it/ready.rs"]
mod ready;

use ready::Cpu;

/// `ran` of `total` against `ideal`, as a cell.
fn cell(ran: f64, total: f64, ideal: f64) -> String {
    let share = ran / total;
    format!("{:.3} ({:+.2} %)", share, (share / ideal - 1.0) * 100.0)
}

fn row(name: &str, value: impl Fn(Release) -> String) {
    let cells: Vec<String> = Release::ALL.map(value).into_iter().collect();
    println!("| {name} | {} |", cells.join(" | "));
}

fn main() {
    println!(
        "| share of | {} |",
        Release::ALL.map(Release::name).join(" | ")
    );
    println!("|---|{}", "---|".repeat(Release::ALL.len()));
    // The nice values whose weights are nearest to 1:2:4.
    let nices = [0i8, -3, -6];
    for (i, nice) in nices.into_iter().enumerate() {
        row(&format!("nice {nice} among 0, -3, -6"), |release| {
            let mut cpu = Cpu::new(release);
            let ids = nices.map(|nice| cpu.add(nice, GroupId::ROOT));
            cpu.run(20_000);
            let weights = nices.map(|n| Weight::of_nice(n).0 as f64);
            let ideal = weights[i] / weights.iter().sum::<f64>();
            cell(cpu.ran(&[ids[i]]), cpu.ran(&ids), ideal)
        });
    }
    for nice in [-20, -10, -5, -1, 1, 5, 10, 19] {
        row(&format!("nice {nice} against 0"), |release| {
            let mut cpu = Cpu::new(release);
            let ids = [nice, 0].map(|nice| cpu.add(nice, GroupId::ROOT));
            cpu.run(60_000);
            let weights = [nice, 0].map(|n| Weight::of_nice(n).0 as f64);
            let ideal = weights[0] / (weights[0] + weights[1]);
            cell(cpu.ran(&ids[..1]), cpu.ran(&ids), ideal)
        });
    }
    for (of, ideal) in [
        ("100, 5 tasks, against 300, 2 tasks", 0.25),
        ("300 against 100", 0.75),
    ] {
        row(&format!("group of weight {of}"), |release| {
            let mut cpu = Cpu::new(release);
            let groups = [100, 300].map(|weight| cpu.group(weight));
            let small: Vec<_> = (0..5).map(|_| cpu.add(0, groups[0])).collect();
            let large: Vec<_> = (0..2).map(|_| cpu.add(0, groups[1])).collect();
            cpu.run(40_000);
            let (a, b) = (cpu.ran(&small), cpu.ran(&large));
            cell(if ideal < 0.5 { a } else { b }, a + b, ideal)
        });
    }
}
