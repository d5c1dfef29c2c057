//! Measuring the policy's own code while a simulated load runs.

use std::cell::{Cell, RefCell};

use fairlab_policy::{Cost, Section};
use fairlab_sim::SectionTimer;

/// A clock that reads the ticks of this CPU, and what a tick is.
#[derive(Clone, Copy, Debug)]
pub struct TickClock {
    /// Reads it.
    pub now: fn() -> u64,
    /// What is counted, for tables: "TSC ticks".
    pub unit: &'static str,
}

/// Calls of a section: what each took and touched, in the order of the calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionSamples {
    /// Ticks of this host's CPU around each call; empty when nothing was measured. Not
    /// reproducible.
    pub ticks: Vec<u64>,
    /// CPUs whose idle state was read in each call.
    pub probes: Vec<u64>,
    /// Mask operations and single bits cleared in each call.
    pub mask_work: Vec<u64>,
}

/// Collects the calls of the search for an idle core.
pub(crate) struct IdleCoreTimer {
    clock: Option<TickClock>,
    start: Cell<u64>,
    before: Cell<Cost>,
    samples: RefCell<SectionSamples>,
}

impl IdleCoreTimer {
    pub(crate) fn new(clock: Option<TickClock>) -> Self {
        Self {
            clock,
            start: Cell::new(0),
            before: Cell::default(),
            samples: RefCell::default(),
        }
    }

    pub(crate) fn into_samples(self) -> SectionSamples {
        self.samples.into_inner()
    }
}

impl SectionTimer for IdleCoreTimer {
    #[inline]
    fn enter(&self, section: Section, cost: &Cost) {
        if section == Section::IdleCore {
            self.before.set(*cost);
            // Last, so that only the section lies between the readings.
            if let Some(clock) = self.clock {
                self.start.set((clock.now)());
            }
        }
    }

    #[inline]
    fn leave(&self, section: Section, cost: &Cost) {
        if section != Section::IdleCore {
            return;
        }
        let end = self.clock.map(|clock| (clock.now)());
        let before = self.before.get();
        let mut samples = self.samples.borrow_mut();
        if let Some(end) = end {
            samples.ticks.push(end.saturating_sub(self.start.get()));
        }
        let work = |c: &Cost| u64::from(c.mask_ops) + u64::from(c.bit_clears);
        samples
            .probes
            .push(u64::from(cost.idle_tests - before.idle_tests));
        samples.mask_work.push(work(cost) - work(&before));
    }
}
