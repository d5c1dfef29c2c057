//! The words of a mask that a search has to look at.

use fairlab_units::CpuMask;

/// The words of a mask that may have members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordRange {
    /// The first.
    pub first: usize,
    /// One past the last.
    pub end: usize,
}

impl WordRange {
    /// Those of `mask`.
    #[must_use]
    pub fn of(mask: &CpuMask) -> Self {
        let words = mask.words();
        let first = words.iter().position(|w| *w != 0).unwrap_or(0);
        let end = words.iter().rposition(|w| *w != 0).map_or(0, |i| i + 1);
        Self { first, end }
    }
}
