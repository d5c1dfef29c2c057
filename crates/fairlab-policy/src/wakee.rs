//! Who wakes whom: a task with many partners is better left spread out.

use crate::effects::WakerUpdate;
use crate::explain::{Event, Explain};
use crate::search::Search;
use crate::{Kernel, MachineView, TaskView};

/// The waker's counts after it wakes `wakee`, at time `jiffies`.
///
/// # Source
/// Linux `kernel/sched/fair.c`, `record_wakee()`. Halves once, however long ago the last halving was.
#[inline]
#[must_use]
pub fn record_wakee(
    kernel: &Kernel,
    jiffies: u64,
    waker: &TaskView<'_>,
    wakee: &TaskView<'_>,
) -> WakerUpdate {
    let is_new_wakee = waker.last_wakee != Some(wakee.id);
    let (flips, stamp) = flips_after(
        kernel.tunables.hz,
        jiffies,
        waker.wakee_flips,
        waker.wakee_flip_decay_ts,
        is_new_wakee,
    );
    WakerUpdate {
        wakee_flips: flips,
        wakee_flip_decay_ts: stamp,
        is_new_wakee,
    }
}

/// A waker's count and the time of its last halving, in jiffies, after one more wakeup: the numbers of
/// [`record_wakee`].
#[inline]
#[must_use]
pub const fn flips_after(
    hz: u64,
    jiffies: u64,
    mut flips: u32,
    mut stamp: u64,
    is_new_wakee: bool,
) -> (u32, u64) {
    // Jiffies wrap, so "after" is a signed comparison of the difference.
    let due = stamp.wrapping_add(hz);
    if (due.wrapping_sub(jiffies) as i64) < 0 {
        flips >>= 1;
        stamp = jiffies;
    }
    if is_new_wakee {
        flips = flips.wrapping_add(1);
    }
    (flips, stamp)
}

/// Is each of the two one of many, so that pulling the wakee would crowd the waker's cache?
/// Compares counts of different partners with the size of the LLC.
#[inline]
#[must_use]
pub fn wake_wide(waker_flips: u32, wakee_flips: u32, llc_size: u32) -> bool {
    let (many, few) = (waker_flips.max(wakee_flips), waker_flips.min(wakee_flips));
    few >= llc_size && u64::from(many) >= u64::from(few) * u64::from(llc_size)
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// [`record_wakee`], then [`wake_wide`] with the new count of the waker.
    pub(crate) fn record_wakee(&mut self) {
        let update = record_wakee(self.kernel, self.view.jiffies(), self.current, self.p);
        self.effects.waker = Some(update);
    }

    pub(crate) fn is_wide(&mut self) -> bool {
        let waker = match self.effects.waker {
            Some(update) => update.wakee_flips,
            None => self.current.wakee_flips,
        };
        // A task that wakes itself has the count that was just written.
        let wakee = if self.p.id == self.current.id {
            waker
        } else {
            self.p.wakee_flips
        };
        let llc_size = self.domains.cached(self.ctx.this_cpu).llc_size;
        let is_wide = wake_wide(waker, wakee, llc_size);
        self.explain.note(Event::WakeWide {
            waker_flips: waker,
            wakee_flips: wakee,
            llc_size,
            is_wide,
        });
        is_wide
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_wakers_are_many_to_many() {
        let cases = [
            ((100, 10, 8), true),
            ((64, 8, 8), true),
            ((63, 8, 8), false),
            ((64, 7, 8), false),
            ((8, 64, 8), true),
            ((0, 1000, 16), false),
        ];
        for ((waker, wakee, llc_size), wide) in cases {
            assert_eq!(wake_wide(waker, wakee, llc_size), wide, "{waker} {wakee}");
        }
    }
}
