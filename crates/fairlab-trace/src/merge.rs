//! Several streams, each in time order, as one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::context::{Context, Reader};
use crate::raw::RawEvent;

/// The events of one CPU, buffer or file, in time order.
pub(crate) trait Stream {
    /// Appends some events to `out`; false at the end. May append none and still go on.
    fn refill(&mut self, ctx: &mut Context, out: &mut Vec<RawEvent>) -> bool;
}

/// A clock that goes back by more than this has been set; less is the disorder of its readings.
const JUMP_NS: u64 = 1_000_000_000;
/// Ahead by more than this is told as a jump, too. Nothing is done about it.
const GAP_NS: u64 = 3_600_000_000_000;

/// A stream with the events that it has given and the merge has not taken.
struct Lane<S> {
    stream: S,
    events: Vec<RawEvent>,
    next: usize,
    last: u64,
    /// What is added to times after a jump back.
    offset: u64,
    is_at_end: bool,
}

impl<S: Stream> Lane<S> {
    /// The time of the next event.
    fn peek(&mut self, ctx: &mut Context) -> Option<u64> {
        while self.next == self.events.len() {
            if self.is_at_end {
                return None;
            }
            self.events.clear();
            self.next = 0;
            self.is_at_end = !self.stream.refill(ctx, &mut self.events);
            self.straighten(ctx);
        }
        self.events.get(self.next).map(|event| event.time)
    }

    /// Makes times of the new events never go back.
    fn straighten(&mut self, ctx: &mut Context) {
        for event in &mut self.events {
            let time = event.time.saturating_add(self.offset);
            if time < self.last {
                let back = self.last - time;
                if back > JUMP_NS {
                    ctx.jump(event.cpu, self.last, event.time);
                    self.offset = self.offset.saturating_add(back);
                } else {
                    ctx.ledger.late();
                }
                event.time = self.last;
                continue;
            }
            if time - self.last > GAP_NS && self.last != 0 {
                ctx.jump(event.cpu, self.last, event.time);
            }
            event.time = time;
            self.last = time;
        }
    }
}

/// All streams of a recording.
pub(crate) struct Merge<S> {
    lanes: Vec<Lane<S>>,
    /// The next time of each lane that has one. Ties go to the lower lane.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    is_started: bool,
}

/// Events that one call of [`Reader::fill`] gives.
const BATCH: usize = 4096;

impl<S: Stream> Merge<S> {
    pub(crate) fn new(streams: Vec<S>) -> Self {
        Self {
            lanes: streams
                .into_iter()
                .map(|stream| Lane {
                    stream,
                    events: Vec::new(),
                    next: 0,
                    last: 0,
                    offset: 0,
                    is_at_end: false,
                })
                .collect(),
            heap: BinaryHeap::new(),
            is_started: false,
        }
    }
}

impl<S: Stream> Reader for Merge<S> {
    fn fill(&mut self, ctx: &mut Context) -> bool {
        if !self.is_started {
            self.is_started = true;
            for (index, lane) in self.lanes.iter_mut().enumerate() {
                if let Some(time) = lane.peek(ctx) {
                    self.heap.push(Reverse((time, index)));
                }
            }
        }
        let wanted = ctx.ready.len() + BATCH;
        while ctx.ready.len() < wanted {
            let Some(Reverse((_, index))) = self.heap.pop() else {
                return false;
            };
            let bound = match self.heap.peek() {
                Some(&Reverse((time, other))) => (time, other),
                None => (u64::MAX, usize::MAX),
            };
            let lane = &mut self.lanes[index];
            // One lane goes on as long as it is first, so a busy CPU costs no heap operation per event.
            while let Some(time) = lane.peek(ctx) {
                if (time, index) > bound || ctx.ready.len() >= wanted {
                    self.heap.push(Reverse((time, index)));
                    break;
                }
                ctx.ready.push(lane.events[lane.next]);
                lane.next += 1;
            }
        }
        true
    }
}
