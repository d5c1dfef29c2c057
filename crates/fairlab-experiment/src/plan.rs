//! What is to be run.

use fairlab_kernel::Kernel;
use fairlab_sim::{CostTable, SimError};
use fairlab_topology::domains::{BuildError, BuildOptions, build};
use fairlab_topology::{Domains, Machine};
use fairlab_workload::Workload;

use crate::sections::TickClock;
use crate::stretch::Stretch;

/// A set of runs: every kernel with every seed.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The workload.
    pub workload: &'a Workload,
    /// The kernels, the baseline first.
    pub kernels: Vec<Kernel>,
    /// Runs of each kernel. Run `i` has the same seed under every kernel.
    pub runs: u32,
    /// The seed from which those of the runs are derived.
    pub seed: u64,
    /// Costs; those of the machine's class when not given.
    pub costs: Option<CostTable>,
    /// With two kernels: ask the other one beside at every placement, in the same state.
    pub ask_beside: bool,
    /// Measures sections of the policy's code with this clock.
    pub clock: Option<TickClock>,
    /// Worker threads.
    pub threads: usize,
    /// The part of each run that counts.
    pub stretch: Stretch,
}

/// Why a plan cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The machine's domains cannot be built for one of the kernels.
    #[error("cannot build the sched domains of {machine} for kernel {kernel}")]
    Domains {
        /// Name of the machine.
        machine: String,
        /// The kernel.
        kernel: String,
        /// Why.
        source: BuildError,
    },
    /// A run failed.
    #[error("run {run} of kernel {kernel} (seed {seed}) failed")]
    Run {
        /// Which, from 1.
        run: u32,
        /// The kernel.
        kernel: String,
        /// Its seed.
        seed: u64,
        /// Why.
        source: SimError,
    },
}

/// One run of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) arm: usize,
    pub(crate) run: u32,
}

impl Plan<'_> {
    /// Seed of run `run`, from 0.
    #[must_use]
    pub fn seed_of(&self, run: u32) -> u64 {
        fairlab_rng::derive(self.seed, &format!("run {run}"))
    }

    /// The jobs in the order in which they are started: kernels alternate, and the order of the
    /// kernels turns round from one run to the next, so that a drift of the host hits all alike.
    pub(crate) fn jobs(&self) -> Vec<Job> {
        let arms = self.kernels.len();
        let mut jobs = Vec::with_capacity(arms * self.runs as usize);
        for run in 0..self.runs {
            for i in 0..arms {
                let arm = if run % 2 == 0 { i } else { arms - 1 - i };
                jobs.push(Job { arm, run });
            }
        }
        jobs
    }

    /// The domains under each kernel.
    ///
    /// # Errors
    /// When a kernel refuses the machine.
    pub fn domains(&self) -> Result<Vec<Domains>, PlanError> {
        self.kernels
            .iter()
            .map(|kernel| self.domains_of(kernel))
            .collect()
    }

    pub(crate) fn domains_of(&self, kernel: &Kernel) -> Result<Domains, PlanError> {
        let options = BuildOptions::default();
        build(self.machine, kernel, &options).map_err(|source| PlanError::Domains {
            machine: self.machine.name().to_owned(),
            kernel: kernel.to_string(),
            source,
        })
    }
}
