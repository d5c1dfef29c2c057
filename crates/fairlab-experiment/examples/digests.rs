//! Are the runs of this build always the same, and the same as those of another build?
//!
//! ```text
//! cargo run --release -p fairlab-experiment --example digests -- [SEEDS [MACHINE,... [LOAD,...]]]
//! ```
//!
//! Each load on each machine under its kernel (or those named; loads by the word that they begin with),
//! for as many seeds, four times: twice on one thread, and twice on two that take the seeds in turns.
//! Says which differ, and exits with 1. Prints a line per load and machine, with a digest of all that its
//! runs say; the lines of two builds that simulate alike are equal (`diff` them).

#![allow(clippy::unwrap_used, reason = "an example that cannot be set up fails")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use fairlab_kernel::Kernel;
use fairlab_machines::{LoadOptions, load};
use fairlab_sim::{RunResult, Silent, SimOptions, run};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_topology::{Domains, Machine};
use fairlab_workload::{Workload, parse};

/// Machines: flat, of many caches and nodes, with eight threads to a core, with cores of several kinds.
const MACHINES: [(&str, &str); 9] = [
    ("vm-4-smt", "5.4"),
    ("vm-4", "6.12"),
    ("2s:2l:4c:2t", "5.6"),
    ("1s:8c:8t", "5.15"),
    ("kunpeng-920", "7.2"),
    ("epyc-7713-nps4", "6.1"),
    ("power9-ac922", "6.12"),
    ("hybrid-laptop", "6.6"),
    ("phone", "7.2"),
];

/// Loads: wakeups through futexes, pipes and sockets; processes that come and go; random arrivals with
/// locks and timers; tasks that stay, on one CPU at first; memory that has to follow.
const LOADS: [&str; 6] = [
    "schbench -m 2 -t 8 -r 0.03 -F 16",
    "hackbench -g 2 -f 4 -l 10",
    "kernbench -j 8 -n 12 -c 2 + tbench 4",
    "service -w 8 -R 20000 -c 100 -b 3 -r 0.03 + frames -f 500 + hogs -n 5 -N 5",
    "hogs --stacked -n 100 -r 0.2 + periodic -n 20 -p 3000 -c 300",
    "stream -t 6 -n 200000 -k 20 + hogs -n 4 -f 2",
];

/// What is run: one load on one machine.
struct Case {
    machine: Machine,
    domains: Domains,
    kernel: Kernel,
    workload: Workload,
}

impl Case {
    /// A digest of all that the run with `seed` says, but for the number of steps that it took.
    fn digest(&self, seed: u64) -> u64 {
        let options = SimOptions::new(self.kernel, seed);
        let result = run(
            &self.machine,
            &self.domains,
            &self.workload,
            &options,
            &mut Silent,
            None,
        );
        match result {
            Ok(mut result) => {
                result.counts.steps = 0;
                of_result(&result)
            }
            Err(error) => of_text(&error.to_string()),
        }
    }

    /// A digest of the runs with the seeds from 1 to `seeds`, on so many threads.
    fn digests(&self, seeds: u64, threads: usize) -> u64 {
        let (next, sum) = (AtomicU64::new(1), AtomicU64::new(0));
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed > seeds {
                    return;
                }
                // Sums do not depend on who is first; the seed keeps runs from standing for each other.
                let digest = fairlab_rng::derive(self.digest(seed), &seed.to_string());
                sum.fetch_add(digest, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        sum.into_inner()
    }
}

fn of_result(result: &RunResult) -> u64 {
    of_text(&format!("{result:?}"))
}

fn of_text(text: &str) -> u64 {
    fairlab_rng::derive(0, text)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let seeds: u64 = args.first().map_or(2, |n| n.parse().unwrap());
    let is_wanted = |at: usize, name: &str| {
        let names = args.get(at).map(|names| names.split(','));
        names.is_none_or(|mut names| names.any(|wanted| wanted == name))
    };
    let mut differ = false;
    for (name, kernel) in MACHINES.into_iter().filter(|m| is_wanted(1, m.0)) {
        let kernel: Kernel = kernel.parse().unwrap();
        let machine = load(name, &LoadOptions::default()).unwrap();
        let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
        for text in LOADS {
            if !is_wanted(2, text.split(' ').next().unwrap_or_default()) {
                continue;
            }
            let case = Case {
                machine: machine.clone(),
                domains: domains.clone(),
                kernel,
                workload: parse(text).unwrap(),
            };
            let digest = case.digests(seeds, 1);
            println!("{digest:016x} {name} {kernel} {text}");
            for (threads, which) in [(1, "again"), (2, "on two threads"), (2, "again on two")] {
                if case.digests(seeds, threads) != digest {
                    eprintln!("{name} {kernel} {text}: differs {which}");
                    differ = true;
                }
            }
        }
    }
    if differ {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
