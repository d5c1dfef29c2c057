//! Events of a round in the order of time.
//!
//! perf empties one CPU's buffer after another, and says when it has been at all of them. What a buffer
//! held is in order as a rule, so the events wait CPU by CPU, and are merged when it is sure that
//! nothing earlier comes any more. Merging copies each event once; sorting would several times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::lane::Lane;
use crate::raw::{NONE, RawEvent};

/// CPUs above this cannot exist; what is said to be of them waits with what has no CPU.
const MOST_CPUS: u32 = 1 << 14;

/// Events that wait, by CPU.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// The first is for what has no CPU.
    lanes: Vec<Lane>,
    len: usize,
    heap: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Rounds {
    /// How many events wait.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, event: &RawEvent) {
        let index = if event.cpu < MOST_CPUS {
            event.cpu as usize + 1
        } else {
            0
        };
        while index >= self.lanes.len() {
            let cpu = self.lanes.len().checked_sub(1);
            self.lanes
                .push(Lane::new(cpu.map_or(NONE, |cpu| cpu as u32)));
        }
        self.lanes[index].push(event);
        self.len += 1;
    }

    /// Appends the earliest events to `out`, at most `most` of them: those up to the time `until`, and
    /// later ones as long as there are not `least`. Equal times are in the order of the CPUs, as perf
    /// reads their buffers. Says how many it took.
    pub(super) fn take(
        &mut self,
        until: u64,
        least: usize,
        most: usize,
        out: &mut Vec<RawEvent>,
    ) -> usize {
        self.heap.clear();
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.put_in_order();
            self.heap
                .extend(lane.peek().map(|time| Reverse((time, index))));
        }
        let mut taken = 0;
        out.reserve(most.min(self.len));
        while let Some(&Reverse((_, index))) = self.heap.peek() {
            // The second of a heap is one of the two below the first.
            let second = self.heap.as_slice().get(1..).unwrap_or_default();
            let bound = second.iter().take(2).map(|&Reverse(next)| next).min();
            // Up to this time the lane is first, so a busy CPU costs no heap operation per event.
            let bound = bound.map_or(u64::MAX, |(time, other)| {
                time.saturating_sub(u64::from(index > other))
            });
            let lane = &mut self.lanes[index];
            taken += lane.take(bound, until, least.saturating_sub(taken), most - taken, out);
            match lane.peek() {
                Some(time) if time > bound => {
                    // It has its new place when the guard goes.
                    if let Some(mut first) = self.heap.peek_mut() {
                        *first = Reverse((time, index));
                    }
                }
                // It is still first, and not to be taken.
                Some(_) => break,
                None => {
                    self.heap.pop();
                }
            }
        }
        self.len -= taken;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::RawKind;

    fn take(rounds: &mut Rounds, until: u64, least: usize, most: usize) -> Vec<(u64, u32)> {
        let mut out = Vec::new();
        let taken = rounds.take(until, least, most, &mut out);
        assert_eq!(taken, out.len());
        out.iter().map(|event| (event.time, event.cpu)).collect()
    }

    #[test]
    fn events_of_cpus_are_merged_by_time_up_to_what_is_sure() {
        let mut rounds = Rounds::default();
        for (time, cpu) in [
            (1, 0),
            (5, 0),
            (9, 0),
            (2, 3),
            (5, 3),
            (4, NONE),
            (3, NONE),
            (6, 1 << 20),
        ] {
            rounds.push(&RawEvent::new(time, cpu, RawKind::Named));
        }
        assert_eq!(take(&mut rounds, 5, 0, 2), [(1, 0), (2, 3)]);
        assert_eq!(
            take(&mut rounds, 5, 0, 9),
            [(3, NONE), (4, NONE), (5, 0), (5, 3)]
        );
        assert!(take(&mut rounds, 5, 0, 9).is_empty());
        // What is not sure comes when too much waits.
        assert_eq!(take(&mut rounds, 5, 1, 9), [(6, 1 << 20)]);
        rounds.push(&RawEvent::new(7, 0, RawKind::Named));
        assert_eq!(rounds.len(), 2);
        assert_eq!(take(&mut rounds, u64::MAX, 0, 9), [(7, 0), (9, 0)]);
        assert_eq!(rounds.len(), 0);
    }
}
