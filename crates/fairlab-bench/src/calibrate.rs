//! What this host's hardware and kernel cost, for the simulator's cost table.
//!
//! # Method
//! Rounds: each measures every part once, one after the other, so that a drift of the host is spread
//! over all parts alike; what is a difference of parts is taken within its round. A figure is the
//! median over the rounds, with its bootstrap interval of 95 percent.
//!
//! ```text
//!   calls      messages within one thread: pipes, sockets, TCP, UDP
//!   switches   token rings on one CPU and across; wakeups; how late sleeps end
//!   processes  fork, exec, exit, threads
//!   memory     a line between two CPUs, a working set after a move, SMT siblings, bandwidth
//! ```
//!
//! Figures are named after the entries of the cost table, and what the host cannot tell is said.

mod calls;
mod hop;
mod memory;
mod places;
mod processes;
mod rounds;
mod switches;

use fairlab_topology::Machine;

use crate::{BenchError, CpuList};

pub use hop::Hop;
pub use rounds::{Figure, Part};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct CalibrateOptions {
    /// Rounds; the median counts.
    pub rounds: u32,
    /// Part of the usual number of operations in each round, in percent.
    pub effort_percent: u32,
}

impl Default for CalibrateOptions {
    fn default() -> Self {
        Self {
            rounds: 15,
            effort_percent: 100,
        }
    }
}

impl CalibrateOptions {
    /// The usual number `count` of operations at this effort.
    fn count(&self, count: u32) -> u32 {
        (count.saturating_mul(self.effort_percent) / 100).max(2)
    }
}

/// Something that this host could not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The entry of the cost table, or a distance of it.
    pub what: String,
    /// Why.
    pub why: String,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The figures.
    pub figures: Vec<Figure>,
    /// What could not be measured.
    pub missing: Vec<Missing>,
}

/// Measures this host, whose facts are `machine`, from a process with one thread. `done` is called
/// after each round.
///
/// # Errors
/// When something cannot be set up. CPUs that this process may not use are left alone.
pub fn run(
    options: &CalibrateOptions,
    machine: &Machine,
    done: &dyn Fn(),
) -> Result<Calibration, BenchError> {
    let allowed = CpuList::allowed()?;
    let places = places::Places::of(machine, &allowed);
    let mut figures = rounds::Rounds::default();
    let mut missing = places.missing();
    for round in 0..options.rounds.max(3) {
        allowed.pin()?;
        let calls = calls::measure(options)?;
        let processes = processes::measure(options, &places)?;
        let memory = memory::measure(options, &places)?;
        allowed.pin()?;
        let wakes = switches::measure(options, &places, &calls, &memory.parts)?;
        if round == 0 {
            missing.extend(memory.missing.iter().cloned());
        }
        for part in [calls.parts(), wakes, processes, memory.parts] {
            figures.add(part);
        }
        done();
    }
    allowed.pin()?;
    Ok(Calibration {
        figures: figures.finish()?,
        missing,
    })
}

#[cfg(test)]
mod tests;
