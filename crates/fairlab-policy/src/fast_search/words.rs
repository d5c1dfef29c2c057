//! Walks over words of 64 CPUs, in wrap order.

use fairlab_units::CpuId;

use crate::word_range::WordRange;

pub(super) const BITS: usize = 64;

/// The words of a range in wrap order from `start`, each with the bits that count; the word of
/// `start` comes twice. Ends when `each` answers something.
#[inline(always)]
pub fn wrap_words<T>(
    range: WordRange,
    start: CpuId,
    mut each: impl FnMut(usize, u64) -> Option<T>,
) -> Option<T> {
    let middle = start.index() / BITS;
    let from_start = u64::MAX << (start.index() % BITS);
    let (mut i, mut bits, mut last) = (middle, from_start, !from_start);
    if middle < range.first || middle >= range.end {
        if range.first >= range.end {
            return None;
        }
        (i, bits, last) = (range.first, u64::MAX, 0);
    }
    // One loop with one call, so that the call is inlined.
    let mut left = range.end - range.first;
    loop {
        let answer = each(i, bits);
        if answer.is_some() {
            return answer;
        }
        left = left.wrapping_sub(1);
        if (left as isize) < 0 {
            return None;
        }
        i += 1;
        if i == range.end {
            i = range.first;
        }
        bits = u64::MAX;
        if left == 0 {
            if last == 0 {
                return None;
            }
            bits = last;
        }
    }
}

/// A walk over words that comes to those of the cluster first, where there is one.
#[derive(Clone, Copy, Debug)]
pub struct Passes {
    /// Where each pass starts.
    pub start: CpuId,
    /// The words of the cluster; none without a cluster pass.
    pub near: Option<WordRange>,
    /// The words of the other pass.
    pub range: WordRange,
}

impl Passes {
    /// The CPUs of `all` that a pass comes to: 0 in the cluster, 1 outside.
    #[inline(always)]
    #[must_use]
    pub const fn part(self, pass: u8, all: u64, cluster: u64) -> u64 {
        match (self.near, pass) {
            (Some(_), 0) => all & cluster,
            (Some(_), _) => all & !cluster,
            (None, 0) => 0,
            (None, _) => all,
        }
    }

    /// `wrap_words` for the pass in the cluster, then for the other; `each` is told which.
    #[inline(always)]
    pub fn walk<T>(self, mut each: impl FnMut(u8, usize, u64) -> Option<T>) -> Option<T> {
        if let Some(near) = self.near {
            let answer = wrap_words(near, self.start, |i, bits| each(0, i, bits));
            if answer.is_some() {
                return answer;
            }
        }
        wrap_words(self.range, self.start, |i, bits| each(1, i, bits))
    }

    /// The first bit of `words`, and the pass.
    #[inline(always)]
    pub fn first(self, words: impl Fn(u8, usize) -> u64) -> Option<(u8, CpuId)> {
        self.walk(|pass, i, bits| {
            let hit = words(pass, i) & bits;
            (hit != 0).then(|| (pass, cpu_at(i, hit)))
        })
    }
}

/// All bits when sched-idle CPUs are usable, else none.
#[inline(always)]
pub(super) const fn sched_mask(takes_sched_idle: bool) -> u64 {
    (takes_sched_idle as u64).wrapping_neg()
}

/// What a walk does with a word.
pub(super) trait Look {
    /// Looks at `bits` of word `i`. True ends the walk.
    fn look(&mut self, i: usize, bits: u64) -> bool;
}

/// [`wrap_words`] with the look compiled into each part of the walk: the word of `start`, those
/// behind it, those before it, and the rest of the word of `start`. Faster for looks of few instructions.
#[inline(always)]
pub(super) fn wrap_looks(range: WordRange, start: CpuId, words: &mut impl Look) -> Option<usize> {
    let middle = start.index() / BITS;
    let from_start = u64::MAX << (start.index() % BITS);
    let is_inside = middle >= range.first && middle < range.end;
    if is_inside && words.look(middle, from_start) {
        return Some(middle);
    }
    for i in range.first.max(middle + 1)..range.end {
        if words.look(i, u64::MAX) {
            return Some(i);
        }
    }
    for i in range.first..range.end.min(middle) {
        if words.look(i, u64::MAX) {
            return Some(i);
        }
    }
    (is_inside && words.look(middle, !from_start)).then_some(middle)
}

/// The bits below the lowest of `bits`, or all when there is none.
pub(super) const fn below_lowest(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// The bits up to and with the lowest of `bits`, or all when there is none.
pub(super) const fn up_to_lowest(bits: u64) -> u64 {
    bits ^ bits.wrapping_sub(1)
}

/// Number of bits, soon known where all, one or none is set, as most often.
#[inline]
pub(super) const fn ones(bits: u64) -> u32 {
    if bits == u64::MAX {
        BITS as u32
    } else if bits & bits.wrapping_sub(1) == 0 {
        (bits != 0) as u32
    } else {
        bits.count_ones()
    }
}

/// The CPU of the lowest of `bits` in `word`.
#[inline]
#[must_use]
pub const fn cpu_at(word: usize, bits: u64) -> CpuId {
    CpuId((word * BITS) as u32 + bits.trailing_zeros())
}
