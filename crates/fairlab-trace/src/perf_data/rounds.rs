//! Events of a round in the order of time.
//!
//! perf empties one CPU's buffer after another, and says when it has been at all of them. What a buffer
//! held is in order as a rule, so the events wait CPU by CPU, and are merged when it is sure that
//! nothing earlier comes any more. Merging copies each event once; sorting would several times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::raw::RawEvent;

/// CPUs above this cannot exist; what is said to be of them waits with what has no CPU.
const MOST_CPUS: u32 = 1 << 14;

/// What came from one CPU's buffer.
#[derive(Debug, Default)]
struct Lane {
    events: Vec<RawEvent>,
    /// What has been taken of it.
    next: usize,
    is_disordered: bool,
}

impl Lane {
    fn push(&mut self, event: RawEvent) {
        if let Some(last) = self.events.last() {
            self.is_disordered |= event.time < last.time;
            if self.next == self.events.len() {
                self.events.clear();
                self.next = 0;
            } else if self.events.len() == self.events.capacity()
                && self.next > self.events.len() / 2
            {
                self.events.drain(..self.next);
                self.next = 0;
            }
        }
        self.events.push(event);
    }

    /// The time of the next event.
    fn peek(&self) -> Option<u64> {
        self.events.get(self.next).map(|event| event.time)
    }

    /// Moves events to `out`, at most `most`: those up to the time `bound`, and of them those up to `until` and
    /// `least` later ones. Says how many.
    #[inline]
    fn take(
        &mut self,
        bound: u64,
        until: u64,
        least: usize,
        most: usize,
        out: &mut Vec<RawEvent>,
    ) -> usize {
        let sure = bound.min(until);
        let rest = &self.events[self.next..];
        let mut taken = 0;
        // Event by event: runs are short where CPUs wake each other, and a call to copy one costs more than the copy.
        for event in &rest[..rest.len().min(most)] {
            if event.time > sure && (event.time > bound || taken >= least) {
                break;
            }
            out.push(*event);
            taken += 1;
        }
        self.next += taken;
        taken
    }

    fn put_in_order(&mut self) {
        if std::mem::take(&mut self.is_disordered) {
            // Stable: events of the same time keep the order of the file.
            self.events[self.next..].sort_by_key(|event| event.time);
        }
    }
}

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
    pub(super) fn push(&mut self, event: RawEvent) {
        let index = if event.cpu < MOST_CPUS {
            event.cpu as usize + 1
        } else {
            0
        };
        if index >= self.lanes.len() {
            self.lanes.resize_with(index + 1, Lane::default);
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
    use crate::raw::{NONE, RawKind};

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
            rounds.push(RawEvent::new(time, cpu, RawKind::Named));
        }
        assert_eq!(take(&mut rounds, 5, 0, 2), [(1, 0), (2, 3)]);
        assert_eq!(
            take(&mut rounds, 5, 0, 9),
            [(3, NONE), (4, NONE), (5, 0), (5, 3)]
        );
        assert!(take(&mut rounds, 5, 0, 9).is_empty());
        // What is not sure comes when too much waits.
        assert_eq!(take(&mut rounds, 5, 1, 9), [(6, 1 << 20)]);
        rounds.push(RawEvent::new(7, 0, RawKind::Named));
        assert_eq!(rounds.len(), 2);
        assert_eq!(take(&mut rounds, u64::MAX, 0, 9), [(7, 0), (9, 0)]);
        assert_eq!(rounds.len(), 0);
    }
}
