//! Signals in the terms of another kernel.
//!
//! No kernel does this, see the runqueue crate's `FairRq::turn`. Load and utilization mean the same in
//! all of them; the middle signal and the form of the estimate do not.

use fairlab_kernel::{Feature, Kernel};

use crate::{QueueAvg, SchedAvg};

/// Does the middle signal mean another thing under `to`?
const fn middle_differs(from: &Kernel, to: &Kernel) -> bool {
    from.has(Feature::RUNNABLE_AVG) != to.has(Feature::RUNNABLE_AVG)
}

impl SchedAvg {
    /// Turns the signals of a task from the terms of `from` into those of `to`.
    ///
    /// The time spent runnable is not known to a kernel without `RUNNABLE_AVG`: it is taken for the
    /// time spent running, which is its least. The other way round a task's load while it is queued is
    /// its load.
    pub fn turn_task(&mut self, from: &Kernel, to: &Kernel) {
        if middle_differs(from, to) {
            (self.runnable_sum, self.runnable_avg) = if to.has(Feature::RUNNABLE_AVG) {
                (u64::from(self.util_sum), self.util_avg)
            } else {
                (self.load_sum, self.load_avg)
            };
        }
        self.util_est.turn(from, to);
    }
}

/// A task whose load is on a queue.
#[derive(Clone, Copy, Debug)]
pub struct OnQueue<'a> {
    /// Its signals, turned already.
    pub avg: &'a SchedAvg,
    /// It is queued, and not asleep.
    pub is_queued: bool,
}

impl QueueAvg {
    /// Turns the signals of a queue from the terms of `from` into those of `to`. `tasks` are those whose
    /// load it carries.
    ///
    /// What ended tasks left behind in the middle signal is lost where its meaning differs.
    pub fn turn<'a>(
        &mut self,
        from: &Kernel,
        to: &Kernel,
        tasks: impl IntoIterator<Item = OnQueue<'a>>,
    ) {
        let (mut middle, mut estimates) = (0, 0u32);
        for task in tasks {
            if task.is_queued || to.has(Feature::RUNNABLE_AVG) {
                middle += task.avg.runnable_avg;
            }
            if task.is_queued && to.has(Feature::UTIL_EST) {
                estimates = estimates.wrapping_add(task.avg.util_est.of_task(to) as u32);
            }
        }
        self.avg.util_est.enqueued = estimates;
        if middle_differs(from, to) {
            self.avg.runnable_avg = middle;
            self.avg.runnable_sum = middle * u64::from(self.avg.divider());
            self.removed.runnable_avg = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlab_kernel::Release;

    use super::*;
    use crate::UtilEst;

    fn task() -> SchedAvg {
        SchedAvg {
            load_sum: 20_000,
            load_avg: 400,
            util_sum: 300 * 47_000,
            util_avg: 300,
            runnable_sum: 500 * 47_000,
            runnable_avg: 500,
            util_est: UtilEst {
                enqueued: 280,
                ewma: 350,
            },
            ..SchedAvg::default()
        }
    }

    #[test]
    fn between_kernels_of_the_same_terms_nothing_changes() {
        for (from, to) in [
            (Release::V5_4, Release::V5_6),
            (Release::V5_15, Release::V6_1),
            (Release::V6_12, Release::V7_2),
        ] {
            let (from, to) = (Kernel::of(from), Kernel::of(to));
            let mut avg = task();
            if from.has(Feature::UTIL_EST_SINGLE) {
                avg.util_est.ewma = 0;
            }
            let before = avg;
            avg.turn_task(&from, &to);
            assert_eq!(avg, before);
        }
    }

    #[test]
    fn the_estimate_of_a_task_stays() {
        for from in Release::ALL {
            for to in Release::ALL {
                let (from, to) = (Kernel::of(from), Kernel::of(to));
                let mut avg = task();
                let before = avg.util_est.of_task(&from);
                avg.turn_task(&from, &to);
                // To v5.11 the lowest bit is always set.
                assert_eq!(avg.util_est.of_task(&to) | 1, before | 1, "{from} to {to}");
            }
        }
    }

    #[test]
    fn the_middle_signal_of_a_queue_is_the_sum_over_its_tasks() {
        let (old, new) = (Kernel::of(Release::V5_4), Kernel::of(Release::V6_12));
        let (mut queued, mut asleep) = (task(), task());
        queued.turn_task(&old, &new);
        asleep.turn_task(&old, &new);
        let tasks =
            [(&queued, true), (&asleep, false)].map(|(avg, is_queued)| OnQueue { avg, is_queued });
        let mut queue = QueueAvg::default();
        queue.turn(&old, &new, tasks);
        // Runnable is taken for running; a sleeper's share stays in the queue and decays there.
        assert_eq!(queue.avg.runnable_avg, 600);

        let mut back = queue;
        let (mut queued, mut asleep) = (queued, asleep);
        queued.turn_task(&new, &old);
        asleep.turn_task(&new, &old);
        let tasks =
            [(&queued, true), (&asleep, false)].map(|(avg, is_queued)| OnQueue { avg, is_queued });
        back.turn(&new, &old, tasks);
        // The load of queued time alone.
        assert_eq!(back.avg.runnable_avg, 400);
    }
}
