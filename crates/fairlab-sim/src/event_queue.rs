//! What happens next: a priority queue in which equal times leave in a fixed order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use fairlab_rng::Rng;
use fairlab_units::{CpuId, TaskId, Timestamp};
use fairlab_workload::TaskGroupId;

/// Something due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The running task of the CPU has used up its segment. Stale unless `token` is the CPU's.
    Segment { cpu: CpuId, token: u32 },
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

impl Entry {
    const fn time(&self) -> Timestamp {
        Timestamp((self.key >> 64) as u64)
    }
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

/// The queue. Order: time, then kind (as listed in [`Due`]) or chance, then insertion.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Entry>,
    inserted: u64,
    /// Draws the order of what is due at the same time.
    shuffle: Option<Rng>,
}

impl EventQueue {
    /// An empty queue, in which this seed shuffles what is due at the same time.
    pub(crate) fn new(shuffle: Option<u64>) -> Self {
        Self {
            shuffle: shuffle.map(|seed| Rng::stream(seed, "ties")),
            ..Self::default()
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
        self.heap.push(Entry { key, due });
        self.inserted += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<(Timestamp, Due)> {
        self.heap.pop().map(|entry| (entry.time(), entry.due))
    }

    /// How much is due.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(crate) fn next_time(&self) -> Option<Timestamp> {
        self.heap.peek().map(Entry::time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_leave_in_the_order_of_kind_and_then_of_insertion() {
        let mut queue = EventQueue::default();
        let at = Timestamp(5);
        queue.push(at, Due::Tick { cpu: CpuId(1) });
        queue.push(at, Due::Timer { task: TaskId(9) });
        queue.push(at, Due::Timer { task: TaskId(3) });
        queue.push(Timestamp(4), Due::Tick { cpu: CpuId(7) });
        let order: Vec<Due> = std::iter::from_fn(|| queue.pop().map(|e| e.1)).collect();
        let expected = [
            Due::Tick { cpu: CpuId(7) },
            Due::Timer { task: TaskId(9) },
            Due::Timer { task: TaskId(3) },
            Due::Tick { cpu: CpuId(1) },
        ];
        assert_eq!(order, expected);
    }
}
