//! Makes the work such that it takes as long as it was seen to take.

use fairlab_sim::RunResult;
use fairlab_units::Nanos;
use fairlab_workload::{Op, Span};

use crate::recorder::Recorded;

impl Recorded {
    /// Corrects the work of every task by what `replay`, of this workload on the machine and under the
    /// kernel that were recorded, let it run too long or too short.
    ///
    /// What the kernel takes hangs on what events do not tell: idle states, the caches of others, locks,
    /// the length of searches. The recorder takes typical costs out; a replay charges them as its own run
    /// has it. Whatever is left between the two is no work, so it goes. A few rounds do, since tasks
    /// that take turns shift each other a little.
    pub fn fit(&mut self, replay: &RunResult) {
        let mut replayed = vec![Nanos::ZERO; self.ran.len()];
        for ((_, time), program) in replay.task_time.iter().zip(&replay.programs) {
            if let Some(sum) = replayed.get_mut(program.index()) {
                *sum += time.running;
            }
        }
        let programs = self.workload.programs.iter_mut();
        for ((program, ran), replayed) in programs.zip(&self.ran).zip(replayed) {
            // A task that got no turn before the replay ended says nothing.
            if replayed > Nanos::ZERO {
                stretch(&mut program.ops, ran.0, replayed.0);
            }
        }
    }
}

/// The length of a stretch of work.
fn work(op: &mut Op) -> Option<&mut Nanos> {
    match op {
        Op::Run(Span::Fixed(span)) => Some(span),
        _ => None,
    }
}

/// Makes the work in `ops` longer or shorter by `wanted` less `took`, each part in proportion.
fn stretch(ops: &mut [Op], wanted: u64, took: u64) {
    let whole: u64 = ops.iter_mut().filter_map(work).map(|span| span.0).sum();
    let target = whole.saturating_add(wanted).saturating_sub(took);
    let (mut before, mut done) = (0u128, 0u64);
    for span in ops.iter_mut().filter_map(work) {
        before += u128::from(span.0);
        // Each end is rounded once, so that the parts add up to the target.
        let end = before * u128::from(target) / u128::from(whole.max(1));
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        *span = Nanos(end.saturating_sub(done).max(1));
        done = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_proportions_and_add_up() {
        let mut ops = [3, 50, 947].map(|ns| Op::Run(Span::Fixed(Nanos(ns))));
        stretch(&mut ops, 2_000, 1_000);
        let spans = ops.map(|op| match op {
            Op::Run(Span::Fixed(span)) => span.0,
            _ => 0,
        });
        assert_eq!(spans, [6, 100, 1_894]);
    }

    #[test]
    fn no_part_goes_away() {
        let mut ops = [10, 20].map(|ns| Op::Run(Span::Fixed(Nanos(ns))));
        stretch(&mut ops, 0, 1_000);
        assert!(ops == [1, 1].map(|ns| Op::Run(Span::Fixed(Nanos(ns)))));
    }
}
