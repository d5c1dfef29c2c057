//! What scheduling costs under the kernel's own class, under sched_ext with the kernel's choices, and
//! under ours. Means something where guest time counts instructions (`--icount`) only.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::time::{Duration, Instant};

use fairlab_live::{Builtin, domains_here};
use rustix::process::Signal;
use serde_json::json;

use crate::scheduler::options;
use crate::tests::{Facts, give_back, last_seen, take_over};

const TURNS: usize = 3;
const ROUND_TRIPS: u32 = 1000;
const WAKEUPS: usize = 101;

/// ns of guest time.
#[derive(Clone, Copy)]
struct Cost {
    /// From thread to thread and back, through two pipes.
    round_trip: u64,
    /// Of the call that wakes a thread, in the one that wakes.
    wakeup: u64,
}

type Measured = [Vec<Cost>; 3];

/// Interleaved, so that what drifts drifts for all.
pub fn run(facts: &mut Facts) -> bool {
    let mut all: Measured = Default::default();
    for _ in 0..TURNS {
        if let Err(problem) = turn(&mut all, facts) {
            facts.insert("problem".to_owned(), json!(problem));
            return false;
        }
    }
    let median = |of: fn(&Cost) -> u64, costs: &[Cost]| {
        let mut values: Vec<u64> = costs.iter().map(of).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    let mut within = true;
    for (what, of) in [
        ("round_trip", (|c| c.round_trip) as fn(&Cost) -> u64),
        ("wakeup", |c| c.wakeup),
    ] {
        let [kernel, builtin, ours] = all.each_ref().map(|costs| median(of, costs));
        facts.insert(
            what.to_owned(),
            json!({
                "eevdf_ns": kernel,
                "sched_ext_builtin_ns": builtin,
                "fairlab_ns": ours,
                "fairlab_to_eevdf": ours as f64 / kernel as f64,
                "fairlab_to_builtin": ours as f64 / builtin as f64,
            }),
        );
        within &= ours > 0;
    }
    within && by_program(facts)
}

/// What each of our programs takes in the mean, ns; in a turn of its own, since that is counted by two
/// looks at the clock a run, which are part of what is counted.
fn by_program(facts: &mut Facts) -> bool {
    let Some(child) = take_over(&["cost"], facts) else {
        return false;
    };
    let measured = measure();
    // It tells every two seconds.
    std::thread::sleep(Duration::from_secs(3));
    give_back(child, Signal::TERM);
    let seen = last_seen(&mut Facts::new());
    facts.insert("mean_ns_by_program".to_owned(), seen["mean_ns"].clone());
    measured.is_ok()
}

fn turn([kernel, builtin, ours]: &mut Measured, facts: &mut Facts) -> Result<(), String> {
    kernel.push(measure()?);
    let options = options(&[]);
    let domains = domains_here(&options).map_err(|error| error.to_string())?;
    {
        let _session = Builtin::start(&domains, &options).map_err(|error| error.to_string())?;
        builtin.push(measure()?);
    }
    let child = take_over(&[], facts).ok_or("our scheduler does not start")?;
    ours.push(measure()?);
    give_back(child, Signal::TERM).ok_or("our scheduler does not end")?;
    Ok(())
}

/// A thread that answers each byte with a byte.
struct Echo {
    to: PipeWriter,
    from: PipeReader,
}

impl Echo {
    fn start() -> std::io::Result<Self> {
        let (mut there, to) = std::io::pipe()?;
        let (from, mut back) = std::io::pipe()?;
        std::thread::spawn(move || {
            let mut byte = [0];
            while there.read_exact(&mut byte).is_ok() && back.write_all(&byte).is_ok() {}
        });
        Ok(Self { to, from })
    }

    fn ask(&mut self) -> std::io::Result<()> {
        self.to.write_all(&[1])
    }

    fn hear(&mut self) -> std::io::Result<()> {
        self.from.read_exact(&mut [0])
    }
}

fn measure() -> Result<Cost, String> {
    let measured = || -> std::io::Result<Cost> {
        let mut echo = Echo::start()?;
        for _ in 0..100 {
            echo.ask()?;
            echo.hear()?;
        }
        let start = Instant::now();
        for _ in 0..ROUND_TRIPS {
            echo.ask()?;
            echo.hear()?;
        }
        let round_trip = start.elapsed() / ROUND_TRIPS;
        let mut calls = Vec::with_capacity(WAKEUPS);
        for _ in 0..WAKEUPS {
            // The other thread waits, on a CPU that idles, again.
            std::thread::sleep(Duration::from_millis(1));
            let start = Instant::now();
            echo.ask()?;
            calls.push(start.elapsed());
            echo.hear()?;
        }
        calls.sort_unstable();
        Ok(Cost {
            round_trip: round_trip.as_nanos() as u64,
            wakeup: calls[WAKEUPS / 2].as_nanos() as u64,
        })
    };
    measured().map_err(|error| error.to_string())
}
