//! Fork and exec with `cpu_util` and `cpu_util_without` called, and with both inlined.

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::Machine;
use fairlab_topology::domains::BuildError;

use super::instructions;
use super::placement::{Case, Decide};
use super::rounds::Rounds;
use crate::BenchError;

/// The event and state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A fork where all CPUs are alike, which visits every level.
    Fork,
    /// An exec in the same state.
    Exec,
    /// A fork in states drawn at random.
    ForkMixed,
    /// An exec in such states.
    ExecMixed,
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fork, Self::Exec, Self::ForkMixed, Self::ExecMixed];

    /// As a table calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fork => "fork, level",
            Self::Exec => "exec, level",
            Self::ForkMixed => "fork, mixed",
            Self::ExecMixed => "exec, mixed",
        }
    }

    const fn case(self, seed: u64) -> Case {
        match self {
            Self::Fork => Case::Fork,
            Self::Exec => Case::Exec,
            Self::ForkMixed => Case::ForkMixed(seed),
            Self::ExecMixed => Case::ExecMixed(seed),
        }
    }

    const fn is_mixed(self) -> bool {
        matches!(self, Self::ForkMixed | Self::ExecMixed)
    }
}

/// Both forms of one row: `[called, inlined]`.
#[derive(Clone, Debug)]
pub struct Forms {
    /// Nanoseconds per decision, one value per round.
    pub nanos: [Vec<f64>; 2],
    /// Instructions of one decision, one value per state; or why they could not be counted.
    pub instructions: Option<[Vec<f64>; 2]>,
    /// CPUs that one decision visits (calls of `cpu_util_without`), one value per state.
    pub visits: Vec<u32>,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct UtilOptions {
    /// How decisions are timed.
    pub rounds: Rounds,
    /// States drawn for the mixed rows.
    pub states: u32,
    /// Count instructions as well?
    pub counts_instructions: bool,
}

/// Measures `event` by `kernel` on `machine`; the feature CPU_UTIL_INLINE is flipped.
///
/// # Errors
/// When the kernel refuses the machine, or instructions cannot be counted on this host.
///
/// # Panics
/// When the two forms decide differently, which would be a mistake of ours.
pub fn measure(
    machine: &Machine,
    kernel: &Kernel,
    event: Event,
    options: &UtilOptions,
) -> Result<Forms, UtilError> {
    let states = if event.is_mixed() {
        options.states.max(1)
    } else {
        1
    };
    let forms = [false, true].map(|on| kernel.with(Feature::CPU_UTIL_INLINE, on));
    let decide = |kernel: &Kernel| -> Result<Vec<Decide>, BuildError> {
        (0..states)
            .map(|state| {
                let seed = options.rounds.seed.wrapping_add(u64::from(state));
                Decide::new(machine, kernel, event.case(seed))
            })
            .collect()
    };
    let (mut called, mut inlined) = (decide(&forms[0])?, decide(&forms[1])?);
    let mut visits = Vec::new();
    for (called, inlined) in called.iter_mut().zip(&mut inlined) {
        let outcome = called.scan(1);
        assert_eq!(outcome, inlined.scan(1), "two forms of the same arithmetic");
        visits.extend(outcome.map(|outcome| outcome.decision.cost.group_cpus));
    }
    // A call decides once in every state, so that rounds do not differ by state.
    let each = |decides: &mut Vec<Decide>, calls: u64| {
        for _ in 0..calls {
            for decide in &mut *decides {
                decide.scan(1);
            }
        }
    };
    let nanos =
        options.rounds.measure(
            &mut [&mut |calls, _| each(&mut called, calls), &mut |calls, _| {
                each(&mut inlined, calls)
            }],
        );
    let per_decision = |nanos: Vec<f64>| nanos.iter().map(|ns| ns / f64::from(states)).collect();
    let instructions = if options.counts_instructions {
        Some([count(&mut called)?, count(&mut inlined)?])
    } else {
        None
    };
    let mut nanos = nanos.into_iter().map(per_decision);
    Ok(Forms {
        nanos: [
            nanos.next().unwrap_or_default(),
            nanos.next().unwrap_or_default(),
        ],
        instructions,
        visits,
    })
}

/// Instructions of one decision in each state.
fn count(decides: &mut [Decide]) -> Result<Vec<f64>, BenchError> {
    let mut calls: Vec<_> = decides
        .iter_mut()
        .map(|decide| {
            move || {
                decide.scan(1);
            }
        })
        .collect();
    let mut calls: Vec<&mut dyn FnMut()> = calls
        .iter_mut()
        .map(|call| call as &mut dyn FnMut())
        .collect();
    Ok(instructions::count(&mut calls)?
        .into_iter()
        .map(|n| n as f64)
        .collect())
}

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UtilError {
    /// The kernel refuses the machine.
    #[error("cannot build the sched domains of this machine")]
    Domains(#[from] BuildError),
    /// The host.
    #[error(transparent)]
    Host(#[from] BenchError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::one_llc;
    use fairlab_kernel::Release;
    use std::time::Duration;

    #[test]
    fn every_event_of_every_release_is_measured_with_equal_answers() {
        let options = UtilOptions {
            rounds: Rounds {
                rounds: 3,
                batch: Duration::from_micros(1),
                seed: 5,
            },
            states: 2,
            counts_instructions: false,
        };
        let machine = one_llc(16, 2).unwrap();
        for release in Release::ALL {
            for event in Event::ALL {
                let forms = measure(&machine, &Kernel::of(release), event, &options).unwrap();
                assert_eq!(forms.nanos.each_ref().map(Vec::len), [3, 3]);
                let states = if event.is_mixed() { 2 } else { 1 };
                assert_eq!(forms.visits.len(), states);
                assert!(
                    forms.visits.iter().all(|visits| *visits > 0),
                    "{release:?} {event:?}"
                );
                assert!(forms.instructions.is_none());
            }
        }
    }

    #[test]
    fn the_visits_of_a_level_fork_are_those_counted_by_hand() {
        // Two nodes of 40 CPUs of 2 threads: 80 + 40 + 2.
        let mut builder = one_llc(80, 2).unwrap().to_builder();
        builder.nodes = (0..2)
            .map(|id| fairlab_topology::Node {
                id: fairlab_units::NodeId(id),
                distances: if id == 0 { vec![10, 21] } else { vec![21, 10] },
                memory_kb: None,
            })
            .collect();
        for cpu in &mut builder.cpus {
            let half = cpu.id.0 / 40;
            (cpu.llc, cpu.package) = (Some(half), Some(half));
            cpu.node = fairlab_units::NodeId(half);
        }
        let machine = builder.build().unwrap();
        let mut decide = Decide::new(&machine, &Kernel::of(Release::V6_6), Case::Fork).unwrap();
        assert_eq!(decide.scan(1).unwrap().decision.cost.group_cpus, 122);
    }
}
