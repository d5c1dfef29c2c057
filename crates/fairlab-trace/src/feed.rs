//! Reading beside using: two threads, one order.

use std::sync::mpsc;
use std::thread;

use fairlab_event::SchedEvent;

use crate::recording::Recording;

/// Events that are handed over at once. Waking the other thread takes as long as reading a hundred or two.
const HANDED: usize = 4096;
/// Batches that may wait between the two: enough to even out batches of unequal effort, few enough
/// to stay in the caches.
const AHEAD: usize = 4;

impl Recording {
    /// Reads all events that are left and hands them to `take`, some thousands at a time and in
    /// order. Where there is a second CPU and more than a batch, `take` runs on a thread of its own, so the
    /// reading of the next events goes on beside it; what it sees is the same.
    ///
    /// `note` stays with the reader, before the events are handed over: it may look at
    /// [`Recording::names`] and all else that grows with reading, and what it gives goes along with them.
    pub fn feed<N: Send>(
        &mut self,
        mut note: impl FnMut(&Self, &[SchedEvent]) -> N,
        mut take: impl FnMut(&[SchedEvent], N) + Send,
    ) {
        let mut events = Vec::new();
        if !self.gather(&mut events) {
            return;
        }
        let is_alone = thread::available_parallelism().is_ok_and(|nr_cpus| nr_cpus.get() == 1);
        if is_alone || self.is_at_end() {
            loop {
                let noted = note(self, &events);
                take(&events, noted);
                if !self.gather(&mut events) {
                    return;
                }
            }
        }
        thread::scope(|scope| {
            let (full, filled) = mpsc::sync_channel::<(Vec<SchedEvent>, N)>(AHEAD);
            let (spent, empty) = mpsc::channel();
            scope.spawn(move || {
                for (events, noted) in filled {
                    take(&events, noted);
                    // Nobody waits for the last ones.
                    let _ = spent.send(events);
                }
            });
            loop {
                let noted = note(self, &events);
                // The other end is gone only if it panicked, which the scope tells.
                if full.send((events, noted)).is_err() {
                    return;
                }
                events = empty.try_recv().unwrap_or_default();
                if !self.gather(&mut events) {
                    return;
                }
            }
        });
    }

    /// Replaces the content of `events` by enough of the next events; false after the last.
    fn gather(&mut self, events: &mut Vec<SchedEvent>) -> bool {
        events.clear();
        while events.len() < HANDED && self.append(events) {}
        !events.is_empty()
    }
}
