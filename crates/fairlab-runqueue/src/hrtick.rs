//! The high resolution timer that ends slices (on by default in v7.2).

use fairlab_kernel::Feature;
use fairlab_units::{Nanos, Timestamp};

use crate::entity::Entities;
use crate::rq::FairRq;
use crate::weight::Weight;
use crate::{Resched, Vruntime};

impl FairRq {
    /// Time after which the running task will have used up its slice, in ns of running; zero when
    /// it has already (ask for a reschedule at once instead of starting a timer). Nothing without
    /// the feature, and while the task has no competitor.
    ///
    /// Start a timer for it when a task becomes current, and at an enqueue while none runs. Time
    /// taken by interrupts lengthens it; the caller knows how much.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `hrtick_start_fair()`.
    #[must_use]
    #[doc(alias = "hrtick_start_fair")]
    pub fn slice_timer(&self, ents: &Entities) -> Option<Nanos> {
        if !self.cfg.has(Feature::HRTICK) || !self.cfg.eevdf || self.h_nr_queued() < 2 {
            return None;
        }
        let curr = &ents[self.curr(ents)?];
        let (deadline, vruntime): (Vruntime, Vruntime) = (curr.deadline, curr.vruntime);
        let rest = deadline.since(vruntime).max(0);
        let real = i128::from(rest) * i128::from(curr.weight.0) / i128::from(Weight::NICE_0.0);
        Some(Nanos(u64::try_from(real).unwrap_or(u64::MAX)))
    }

    /// The timer of [`Self::slice_timer`] has expired.
    #[doc(alias = "hrtick")]
    pub fn slice_timer_expired(&mut self, ents: &mut Entities, now: Timestamp) -> Resched {
        self.tick(ents, now).or(Resched::Now)
    }
}

#[cfg(test)]
mod tests {
    use fairlab_kernel::{Kernel, Release};

    use super::*;
    use crate::{EnqueueFlags, Policy, RqConfig};

    #[test]
    fn the_timer_runs_while_there_is_a_competitor_and_ends_with_the_slice() {
        for release in Release::ALL {
            let mut ents = Entities::new();
            let mut rq = FairRq::new(RqConfig::new(&Kernel::of(release), 8));
            let ids = [5, 0].map(|nice| ents.add_task(nice, Policy::Normal));
            let _ = rq.enqueue(&mut ents, ids[0], EnqueueFlags::WAKEUP, Timestamp(1));
            rq.set_next(&mut ents, ids[0], Timestamp(1));
            assert_eq!(rq.slice_timer(&ents), None, "{release}");
            let _ = rq.enqueue(&mut ents, ids[1], EnqueueFlags::WAKEUP, Timestamp(1));
            let expected = (release == Release::V7_2).then_some(Nanos(2_799_999));
            assert_eq!(rq.slice_timer(&ents), expected, "{release}");
            let _ = rq.update_curr(&mut ents, Timestamp(1_000_001));
            let rest = rq.slice_timer(&ents).map(|t| t.0 / 1_000);
            assert_eq!(rest, expected.map(|_| 1_799), "{release}");
            let now = Timestamp(2_000_001);
            assert_eq!(rq.slice_timer_expired(&mut ents, now), Resched::Now);
        }
    }
}
