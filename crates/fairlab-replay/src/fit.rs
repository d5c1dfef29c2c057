//! Makes the work such that it takes as long as it was seen to take.

use std::collections::BTreeMap;

use fairlab_sim::{Lap, RunResult};
use fairlab_units::{Nanos, TaskId};
use fairlab_workload::{Op, Workload};

use crate::draft::Stretch;
use crate::recorder::Recorded;

/// How far a replay is from the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearness {
    /// Rounds of fitting before it.
    pub rounds: u32,
    /// Its length.
    pub elapsed: Nanos,
    /// Time that its tasks were on CPUs.
    pub running: Nanos,
}

impl Nearness {
    fn of(rounds: u32, replay: &RunResult) -> Self {
        Self {
            rounds,
            elapsed: Nanos(replay.end.0),
            running: replay.task_time.iter().map(|(_, time)| time.running).sum(),
        }
    }

    /// The larger of the two deviations from `recorded`, in millionths.
    fn deviation(&self, recorded: &Recorded) -> u128 {
        let running: Nanos = recorded.ran.iter().copied().sum();
        let pairs = [(self.elapsed, recorded.elapsed), (self.running, running)];
        let off = |(a, b): (Nanos, Nanos)| {
            u128::from(a.0.abs_diff(b.0)) * 1_000_000 / u128::from(b.0.max(1))
        };
        pairs.into_iter().map(off).max().unwrap_or(0)
    }
}

impl Recorded {
    /// Fits the work in up to `rounds` rounds, and keeps what came nearest to the recording. `replay` simulates a
    /// workload on the machine and under the kernel that were recorded.
    ///
    /// One round more is not always better: tasks that take turns shift each other, and where they compete for CPUs,
    /// a nanosecond decides who goes where.
    ///
    /// # Errors
    /// Those of `replay`.
    pub fn fit<E>(
        &mut self,
        rounds: u32,
        mut replay: impl FnMut(&Workload) -> Result<RunResult, E>,
    ) -> Result<Option<Nearness>, E> {
        let mut best: Option<(u128, Nearness, Workload)> = None;
        if rounds == 0 {
            return Ok(None);
        }
        for round in 0..=rounds {
            let again = replay(&self.workload)?;
            let nearness = Nearness::of(round, &again);
            let deviation = nearness.deviation(self);
            if best.as_ref().is_none_or(|(least, _, _)| deviation < *least) {
                best = Some((deviation, nearness, self.workload.clone()));
            }
            if deviation == 0 || round == rounds {
                break;
            }
            self.fit_once(&again);
        }
        Ok(best.map(|(_, nearness, workload)| {
            self.workload = workload;
            nearness
        }))
    }

    /// Corrects every stretch of work by what `replay`, of this workload on the machine and under the kernel that
    /// were recorded, let it run too long or too short.
    ///
    /// What the kernel takes hangs on what events do not tell: idle states, the caches of others, locks,
    /// the length of searches. The recorder takes typical costs out; a replay charges them as its own run
    /// has it. Whatever is left between the two is no work, so it goes.
    fn fit_once(&mut self, replay: &RunResult) {
        let replayed = replayed(replay);
        let programs = self.workload.programs.iter_mut();
        for (number, (program, stretches)) in programs.zip(&self.stretches).enumerate() {
            fit(&mut program.ops, stretches, |op| {
                replayed.get(&(number as u32, op)).copied()
            });
        }
    }
}

/// What became of a stretch of work.
#[derive(Clone, Copy, Debug, Default)]
struct Took {
    /// Time on CPUs.
    ran: Nanos,
    /// What the kernel took of it.
    overhead: Nanos,
    /// Had the task slept before?
    has_slept: bool,
}

/// What became of the stretch of each operation of a program.
fn replayed(replay: &RunResult) -> BTreeMap<(u32, u32), Took> {
    let mut of: BTreeMap<_, Took> = BTreeMap::new();
    let mut last: BTreeMap<TaskId, ((u32, u32), Lap)> = BTreeMap::new();
    for lap in &replay.laps {
        let stretch = (lap.program.0, lap.op);
        let before = last
            .insert(lap.task, (stretch, *lap))
            .map(|(_, before)| before);
        let took = match before {
            Some(before) => Took {
                ran: lap.ran - before.ran,
                overhead: lap.overhead - before.overhead,
                has_slept: lap.sleeps != before.sleeps,
            },
            None => Took {
                ran: lap.ran,
                overhead: lap.overhead,
                has_slept: lap.sleeps != 0,
            },
        };
        of.insert(stretch, took);
    }
    // What comes after the last lap of a task, its exit, belongs to its last stretch, as in a recording.
    for (task, time) in &replay.task_time {
        if let Some((stretch, before)) = last.get(task) {
            let took = of.entry(*stretch).or_default();
            let exit = time.running - before.ran;
            took.ran += exit;
            took.overhead += exit;
        }
    }
    of
}

/// Makes the work of `stretches` such that they run as long as they were seen to run.
///
/// Where a stretch cannot have its own length, the task as a whole gets it: where the kernel alone took longer in the
/// replay, or where the task went on to the stretch at once and had to be woken for it when it was recorded, or the
/// other way round, so that the kernel took another time for it.
fn fit(ops: &mut [Op], stretches: &[Stretch], replayed: impl Fn(u32) -> Option<Took>) {
    // What the stretches together run too short, in work.
    let mut missing = 0i128;
    for stretch in stretches {
        // A stretch that did not come before the replay ended says nothing.
        let (Some(work), Some(took)) = (work(ops, stretch.op), replayed(stretch.op)) else {
            continue;
        };
        // Beside siblings and with cold caches, work takes longer than it says.
        let computed = took.ran.0.saturating_sub(took.overhead.0).max(work.0);
        let too_short = i128::from(stretch.ran.0) - i128::from(took.ran.0);
        let too_short = match work.0 {
            0 => too_short,
            work => too_short * i128::from(work) / i128::from(computed),
        };
        if took.has_slept != stretch.has_slept {
            missing += too_short;
            continue;
        }
        let wanted = i128::from(work.0) + too_short;
        missing += wanted.min(0);
        *work = Nanos(u64::try_from(wanted.max(0)).unwrap_or(u64::MAX));
    }
    spread(ops, stretches, missing);
}

fn work(ops: &mut [Op], op: u32) -> Option<&mut Nanos> {
    match ops.get_mut(op as usize) {
        Some(Op::Stretch(work)) => Some(work),
        _ => None,
    }
}

/// Makes all stretches longer by `missing` together, or shorter if it is negative, each in proportion.
fn spread(ops: &mut [Op], stretches: &[Stretch], missing: i128) {
    let mut whole = 0i128;
    for stretch in stretches {
        whole += work(ops, stretch.op).map_or(0, |work| i128::from(work.0));
    }
    let target = (whole + missing).max(0);
    let (mut before, mut done) = (0, 0);
    for stretch in stretches {
        let Some(work) = work(ops, stretch.op) else {
            continue;
        };
        before += i128::from(work.0);
        // Each end is rounded once, so that the parts add up to the target.
        let end = before * target / whole.max(1);
        *work = Nanos(u64::try_from(end - done).unwrap_or(u64::MAX));
        done = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stretches of `work` become that ran for `ran` and in a replay for `took`, of which the kernel had `overhead`.
    fn fitted<const N: usize>(work: [u64; N], ran: [u64; N], took: [(u64, u64); N]) -> [u64; N] {
        let mut ops = work.map(|ns| Op::Stretch(Nanos(ns)));
        let stretches: Vec<Stretch> = (0..)
            .zip(ran)
            .map(|(op, ns)| Stretch {
                has_slept: true,
                op,
                ran: Nanos(ns),
            })
            .collect();
        fit(&mut ops, &stretches, |op| {
            took.get(op as usize).map(|(ran, overhead)| Took {
                ran: Nanos(*ran),
                overhead: Nanos(*overhead),
                has_slept: true,
            })
        });
        ops.map(|op| match op {
            Op::Stretch(work) => work.0,
            _ => 0,
        })
    }

    #[test]
    fn the_kernels_time_is_no_work() {
        assert_eq!(fitted([1_000], [1_300], [(1_400, 400)]), [900]);
    }

    #[test]
    fn work_on_a_slow_cpu_is_less_than_its_time() {
        // At half speed: 2000 of computing for 1000 of work, where 1600 were to be.
        assert_eq!(fitted([1_000], [1_700], [(2_100, 100)]), [800]);
    }

    #[test]
    fn what_a_stretch_is_too_short_for_the_others_give() {
        // The kernel alone took 50 for what was to take 20.
        assert_eq!(fitted([10, 900], [20, 900], [(60, 50), (900, 0)]), [0, 870]);
    }

    #[test]
    fn a_stretch_that_came_otherwise_keeps_its_work_and_the_task_its_time() {
        let mut ops = [1_000, 3_000].map(|ns| Op::Stretch(Nanos(ns)));
        let stretch = |op, ran| Stretch {
            op,
            ran: Nanos(ran),
            has_slept: true,
        };
        // The first one took 400 less, as nobody had to wake the task.
        let replayed = |op| {
            Some(Took {
                ran: Nanos([1_000, 3_400][op as usize]),
                overhead: Nanos([0, 400][op as usize]),
                has_slept: op == 1,
            })
        };
        fit(&mut ops, &[stretch(0, 1_400), stretch(1, 3_400)], replayed);
        assert!(ops == [1_100, 3_300].map(|ns| Op::Stretch(Nanos(ns))));
    }
}
