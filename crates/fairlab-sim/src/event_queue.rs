//! What happens next: a priority queue in which equal times leave in a fixed order.
//!
//! ```text
//!   ends of segments    one per CPU, replaced more often than reached       a tournament
//!   ticks               all at the same distance, so in order already       a list
//!   interrupts          few, soon over                                      a small heap
//!   timers              one per sleeping task                               a large heap
//! ```

mod tournament;

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use fairlab_rng::Rng;
use fairlab_units::{CpuId, TaskId, Timestamp};
use fairlab_workload::TaskGroupId;

use tournament::Tournament;

/// Something due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The running task of the CPU has used up its segment. A CPU has one: the last that was pushed.
    Segment { cpu: CpuId },
    /// Wakeups queued for the CPU arrive.
    WakeList { cpu: CpuId },
    /// The CPU was asked to reschedule.
    Resched { cpu: CpuId },
    /// A sleep ends.
    Timer { task: TaskId },
    /// The CPU's tick.
    Tick { cpu: CpuId },
    /// The idle CPU was kicked to balance for the idle CPUs.
    NohzBalance { cpu: CpuId },
    /// The stopper of the CPU is to push its running task.
    ActiveBalance { cpu: CpuId },
    /// A period of the limited task group ends.
    Period { group: TaskGroupId },
    /// The warm-up is over.
    Warm,
}

/// Something due, ordered by its key alone, the least first out of the heap.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Time, class and number of insertion, from the top: one comparison decides. The number is
    /// unique, as long as fewer than 2^56 things are due in a run.
    key: u128,
    due: Due,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// What is due next, and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    key: u128,
    place: Place,
}

impl Next {
    /// When it is due.
    #[inline]
    pub(crate) const fn time(&self) -> Timestamp {
        Timestamp((self.key >> 64) as u64)
    }
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Segments(CpuId),
    Ticks,
    Soon,
    Timers,
}

/// The queue. Order: time, then kind (as listed in [`Due`]) or chance, then insertion.
#[derive(Debug)]
pub(crate) struct EventQueue {
    segments: Tournament,
    ticks: VecDeque<Entry>,
    soon: BinaryHeap<Entry>,
    timers: BinaryHeap<Entry>,
    inserted: u64,
    /// Whose segment was taken out last, and its key. What follows gives most CPUs another one, so the
    /// tournament is told when the next thing is asked for.
    ended: Option<(u128, CpuId)>,
    /// Draws the order of what is due at the same time.
    shuffle: Option<Rng>,
}

impl EventQueue {
    /// An empty queue of a machine with CPU numbers below `nr_cpus`, in which this seed shuffles what is due
    /// at the same time.
    pub(crate) fn new(nr_cpus: usize, shuffle: Option<u64>) -> Self {
        Self {
            segments: Tournament::new(nr_cpus),
            ticks: VecDeque::new(),
            soon: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            inserted: 0,
            ended: None,
            shuffle: shuffle.map(|seed| Rng::stream(seed, "ties")),
        }
    }

    pub(crate) fn push(&mut self, time: Timestamp, due: Due) {
        let kind = match due {
            Due::Segment { .. } => 0,
            Due::WakeList { .. } => 1,
            Due::Resched { .. } => 2,
            Due::Timer { .. } => 3,
            Due::Tick { .. } => 4,
            Due::NohzBalance { .. } => 5,
            Due::ActiveBalance { .. } => 6,
            Due::Period { .. } => 7,
            Due::Warm => 8,
        };
        let class = match &mut self.shuffle {
            Some(rng) => rng.below(256) as u8,
            None => kind,
        };
        let key = u128::from(time.0) << 64 | u128::from(class) << 56 | u128::from(self.inserted);
        self.inserted += 1;
        let entry = Entry { key, due };
        match due {
            Due::Segment { cpu } => self.segments.set(cpu, key),
            Due::Timer { .. } => self.timers.push(entry),
            // Ticks that are shuffled are in no order.
            Due::Tick { .. } if self.ticks.back().is_none_or(|last| last.key < key) => {
                self.ticks.push_back(entry);
            }
            _ => self.soon.push(entry),
        }
    }

    /// The end of the segment of `cpu` is not due any more.
    pub(crate) fn cancel_segment(&mut self, cpu: CpuId) {
        self.segments.clear(cpu);
    }

    /// How much is due; ends of segments count as one.
    pub(crate) fn len(&self) -> usize {
        let segments = usize::from(self.segments.first().0 != u128::MAX);
        segments + self.ticks.len() + self.soon.len() + self.timers.len()
    }

    /// The next thing due.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Next> {
        if let Some((key, cpu)) = self.ended.take()
            && self.segments.key(cpu) == key
        {
            self.segments.clear(cpu);
        }
        let key = |entry: Option<&Entry>| entry.map_or(u128::MAX, |entry| entry.key);
        let (segment, cpu) = self.segments.first();
        let mut first = Next {
            key: segment,
            place: Place::Segments(cpu),
        };
        for (key, place) in [
            (key(self.soon.peek()), Place::Soon),
            (key(self.timers.peek()), Place::Timers),
            (key(self.ticks.front()), Place::Ticks),
        ] {
            if key < first.key {
                first = Next { key, place };
            }
        }
        (first.key != u128::MAX).then_some(first)
    }

    /// Takes out what [`Self::next`] has told.
    #[inline]
    pub(crate) fn take(&mut self, next: Next) -> Option<Due> {
        match next.place {
            Place::Segments(cpu) => {
                self.ended = Some((next.key, cpu));
                Some(Due::Segment { cpu })
            }
            Place::Ticks => self.ticks.pop_front().map(|entry| entry.due),
            Place::Soon => self.soon.pop().map(|entry| entry.due),
            Place::Timers => self.timers.pop().map(|entry| entry.due),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop(queue: &mut EventQueue) -> Option<(Timestamp, Due)> {
        let next = queue.next()?;
        Some((next.time(), queue.take(next)?))
    }

    #[test]
    fn equal_times_leave_in_the_order_of_kind_and_then_of_insertion() {
        let mut queue = EventQueue::new(8, None);
        let at = Timestamp(5);
        queue.push(at, Due::Tick { cpu: CpuId(1) });
        queue.push(at, Due::Timer { task: TaskId(9) });
        queue.push(at, Due::Timer { task: TaskId(3) });
        queue.push(Timestamp(4), Due::Tick { cpu: CpuId(7) });
        let order: Vec<Due> = std::iter::from_fn(|| pop(&mut queue).map(|e| e.1)).collect();
        let expected = [
            Due::Tick { cpu: CpuId(7) },
            Due::Timer { task: TaskId(9) },
            Due::Timer { task: TaskId(3) },
            Due::Tick { cpu: CpuId(1) },
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_cpu_has_one_end_of_a_segment() {
        let mut queue = EventQueue::new(2, None);
        for (at, cpu) in [(5, 0), (7, 1), (9, 0)] {
            queue.push(Timestamp(at), Due::Segment { cpu: CpuId(cpu) });
        }
        let due = |at, cpu| Some((Timestamp(at), Due::Segment { cpu: CpuId(cpu) }));
        assert_eq!(pop(&mut queue), due(7, 1));
        assert_eq!(pop(&mut queue), due(9, 0));
        queue.push(Timestamp(11), Due::Segment { cpu: CpuId(1) });
        queue.cancel_segment(CpuId(1));
        assert_eq!(pop(&mut queue), None);
    }

    #[test]
    fn shuffled_ticks_are_shuffled_among_themselves_only() {
        let mut queue = EventQueue::new(64, Some(3));
        for at in [1, 2] {
            for cpu in 0..64 {
                queue.push(Timestamp(at), Due::Tick { cpu: CpuId(cpu) });
            }
        }
        let order: Vec<_> = std::iter::from_fn(|| pop(&mut queue)).collect();
        assert_eq!(order.len(), 128);
        assert!(order.is_sorted_by_key(|(time, _)| *time));
        assert!(!order.is_sorted_by_key(|(time, due)| match due {
            Due::Tick { cpu } => (*time, cpu.0),
            _ => (*time, 0),
        }));
    }
}
