//! Measuring the policy's own code while a simulated load runs.

use std::cell::{Cell, RefCell};

use fairlab_policy::{Cost, Section};
use fairlab_sim::{Asked, SectionTimer};

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
    /// Ticks of this host's CPU around each call, the median of [`REPETITIONS`]; empty when nothing
    /// was measured. Not reproducible.
    pub ticks: Vec<u64>,
    /// CPUs whose idle state was read in each call.
    pub probes: Vec<u64>,
    /// Mask operations and single bits cleared in each call.
    pub mask_work: Vec<u64>,
}

/// How often a call is measured under each kernel, the two alternating. The median takes out cold
/// caches and interrupts, which are the host's and not the code's.
pub const REPETITIONS: u32 = 9;

/// Collects the calls of the search for an idle core, under the kernel that schedules and the one
/// asked beside.
pub(crate) struct IdleCoreTimer {
    clock: Option<TickClock>,
    state: RefCell<State>,
    start: Cell<u64>,
}

#[derive(Default)]
struct State {
    asked: usize,
    before: Cost,
    /// Measurements of the present placement.
    ticks: [Vec<u64>; 2],
    samples: [SectionSamples; 2],
}

impl IdleCoreTimer {
    pub(crate) fn new(clock: Option<TickClock>) -> Self {
        Self {
            clock,
            state: RefCell::default(),
            start: Cell::new(0),
        }
    }

    /// The calls under the kernel that scheduled, and under the one asked beside.
    pub(crate) fn into_samples(self) -> [SectionSamples; 2] {
        self.state.into_inner().samples
    }
}

impl SectionTimer for IdleCoreTimer {
    fn ask(&self, asked: Asked) {
        self.state.borrow_mut().asked = usize::from(asked == Asked::Beside);
    }

    #[inline]
    fn enter(&self, section: Section, cost: &Cost) {
        if section == Section::IdleCore {
            self.state.borrow_mut().before = *cost;
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
        let mut state = self.state.borrow_mut();
        let State {
            asked,
            before,
            ticks,
            samples,
        } = &mut *state;
        let is_first = ticks[*asked].is_empty();
        ticks[*asked].push(end.map_or(0, |end| end.saturating_sub(self.start.get())));
        if is_first {
            let work = |c: &Cost| u64::from(c.mask_ops) + u64::from(c.bit_clears);
            let samples = &mut samples[*asked];
            samples
                .probes
                .push(u64::from(cost.idle_tests - before.idle_tests));
            samples.mask_work.push(work(cost) - work(before));
        }
    }

    fn repeats(&self) -> u32 {
        let searched = self
            .state
            .borrow()
            .ticks
            .iter()
            .any(|ticks| !ticks.is_empty());
        if searched && self.clock.is_some() {
            REPETITIONS - 1
        } else {
            0
        }
    }

    fn done(&self) {
        let mut state = self.state.borrow_mut();
        let State { ticks, samples, .. } = &mut *state;
        for (ticks, samples) in ticks.iter_mut().zip(samples) {
            if self.clock.is_some() && !ticks.is_empty() {
                ticks.sort_unstable();
                samples.ticks.push(ticks[ticks.len() / 2]);
            }
            ticks.clear();
        }
    }
}
