//! Sets of CPUs.
//!
//! A mask is a row of 64-bit words, as in the kernel. Its length is fixed when it is made; CPUs
//! beyond it are simply not members, and masks of different lengths compare by their members.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use core::fmt;

use crate::CpuId;

const BITS: usize = 64;

/// A set of CPUs.
#[derive(Clone, Default)]
pub struct CpuMask {
    words: Box<[u64]>,
}

impl CpuMask {
    /// An empty mask with room for CPUs `0..nr_cpus`.
    #[must_use]
    pub fn new(nr_cpus: usize) -> Self {
        Self {
            words: vec![0; nr_cpus.div_ceil(BITS).max(1)].into_boxed_slice(),
        }
    }

    /// All of the CPUs `0..nr_cpus`.
    #[must_use]
    pub fn full(nr_cpus: usize) -> Self {
        let mut mask = Self::new(nr_cpus);
        for cpu in 0..nr_cpus {
            mask.set(CpuId::from_index(cpu));
        }
        mask
    }

    /// The given CPUs, with room for `nr_cpus`.
    ///
    /// # Panics
    /// When a CPU has no room.
    pub fn from_cpus(nr_cpus: usize, cpus: impl IntoIterator<Item = CpuId>) -> Self {
        let mut mask = Self::new(nr_cpus);
        for cpu in cpus {
            mask.set(cpu);
        }
        mask
    }

    /// The mask made of `words`; bit `n` of word `w` is CPU `64 * w + n`.
    #[must_use]
    pub fn from_words(words: &[u64]) -> Self {
        Self {
            words: if words.is_empty() {
                vec![0].into()
            } else {
                words.into()
            },
        }
    }

    /// The words; bit `n` of word `w` is CPU `64 * w + n`.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words, for word-parallel writers.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// How many CPU numbers the mask has room for (a multiple of 64).
    #[inline]
    #[must_use]
    pub fn room(&self) -> usize {
        self.words.len() * BITS
    }

    /// Adds `cpu`.
    ///
    /// # Panics
    /// When the mask has no room for it.
    #[inline]
    pub fn set(&mut self, cpu: CpuId) {
        self.words[cpu.index() / BITS] |= 1 << (cpu.index() % BITS);
    }

    /// Removes `cpu` (nothing happens when it is not a member).
    #[inline]
    pub fn clear(&mut self, cpu: CpuId) {
        if let Some(word) = self.words.get_mut(cpu.index() / BITS) {
            *word &= !(1 << (cpu.index() % BITS));
        }
    }

    /// Removes every CPU.
    pub fn clear_all(&mut self) {
        self.words.fill(0);
    }

    /// Is `cpu` a member?
    #[inline]
    #[must_use]
    pub fn test(&self, cpu: CpuId) -> bool {
        self.words
            .get(cpu.index() / BITS)
            .is_some_and(|w| w >> (cpu.index() % BITS) & 1 != 0)
    }

    /// Number of members (`cpumask_weight`).
    #[must_use]
    pub fn weight(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// True when there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// The lowest member.
    #[must_use]
    pub fn first(&self) -> Option<CpuId> {
        self.next_from(CpuId(0))
    }

    /// The highest member.
    #[must_use]
    pub fn last(&self) -> Option<CpuId> {
        let (i, w) = self
            .words
            .iter()
            .enumerate()
            .rev()
            .find(|(_, w)| **w != 0)?;
        Some(CpuId::from_index(
            i * BITS + BITS - 1 - w.leading_zeros() as usize,
        ))
    }

    /// The lowest member that is `from` or above.
    #[inline]
    #[must_use]
    pub fn next_from(&self, from: CpuId) -> Option<CpuId> {
        let start = from.index() / BITS;
        let mut word = self.words.get(start)? & (u64::MAX << (from.index() % BITS));
        let mut i = start;
        loop {
            if word != 0 {
                return Some(CpuId::from_index(i * BITS + word.trailing_zeros() as usize));
            }
            i += 1;
            word = *self.words.get(i)?;
        }
    }

    /// Members in ascending order.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            mask: self,
            next: Some(CpuId(0)),
        }
    }

    /// Members in wrap order: from `start` up, then from 0 up to `start`.
    #[inline]
    #[must_use]
    pub fn iter_wrap(&self, start: CpuId) -> Wrap<'_> {
        Wrap {
            mask: self,
            start,
            next: Some(start),
            wrapped: false,
        }
    }

    /// Makes this mask a copy of `other`, without allocating when it has the room.
    pub fn copy_from(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words = other.words.clone();
            return;
        }
        let (low, high) = self.words.split_at_mut(other.words.len());
        low.copy_from_slice(&other.words);
        high.fill(0);
    }

    /// Makes this mask `a ∩ b`, without allocating when it has the room.
    #[inline]
    pub fn assign_and(&mut self, a: &Self, b: &Self) {
        let len = a.words.len().min(b.words.len());
        if self.words.len() < len {
            self.words = vec![0; len].into_boxed_slice();
        }
        let (low, high) = self.words.split_at_mut(len);
        for ((word, a), b) in low.iter_mut().zip(&a.words).zip(&b.words) {
            *word = a & b;
        }
        high.fill(0);
    }

    /// Keeps only members of `other`.
    pub fn and_with(&mut self, other: &Self) {
        for (i, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(i).copied().unwrap_or(0);
        }
    }

    /// Adds the members of `other`, growing when there is no room.
    pub fn or_with(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            let mut grown = other.clone();
            grown.or_with(self);
            *self = grown;
            return;
        }
        for (word, o) in self.words.iter_mut().zip(&other.words) {
            *word |= o;
        }
    }

    /// Removes the members of `other`.
    #[inline]
    pub fn and_not_with(&mut self, other: &Self) {
        for (word, o) in self.words.iter_mut().zip(&other.words) {
            *word &= !o;
        }
    }

    /// A new mask: `self ∩ other`.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut result = self.clone();
        result.and_with(other);
        result
    }

    /// Do the masks have a common member?
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Number of common members.
    #[must_use]
    pub fn weight_and(&self, other: &Self) -> usize {
        self.words
            .iter()
            .zip(&other.words)
            .map(|(a, b)| (a & b).count_ones() as usize)
            .sum()
    }

    /// Is every member also a member of `other`?
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words
            .iter()
            .enumerate()
            .all(|(i, w)| w & !other.words.get(i).copied().unwrap_or(0) == 0)
    }

    /// Reads a kernel CPU list: `0-3,8,10-11`, also with strides (`0-15:2/4`). An empty or blank
    /// text is the empty mask.
    ///
    /// # Errors
    /// When the text is not such a list, or names a CPU of `limit` or above.
    pub fn parse_list(text: &str, limit: usize) -> Result<Self, ParseMaskError> {
        let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\0');
        let mut mask = Self::new(1);
        if text.is_empty() || text == "(null)" {
            return Ok(mask);
        }
        let number = |s: &str| -> Result<usize, ParseMaskError> {
            let n: usize = s.trim().parse().map_err(|_| ParseMaskError::NotAList)?;
            if n >= limit {
                Err(ParseMaskError::Beyond { cpu: n, limit })
            } else {
                Ok(n)
            }
        };
        for part in text.split(',') {
            let (range, stride) = match part.split_once(':') {
                Some((range, stride)) => (range, Some(stride)),
                None => (part, None),
            };
            let (low, high) = match range.split_once('-') {
                Some((low, high)) => (number(low)?, number(high)?),
                None => {
                    let n = number(range)?;
                    (n, n)
                }
            };
            if low > high {
                return Err(ParseMaskError::NotAList);
            }
            let (used, group) = match stride {
                None => (1, 1),
                Some(stride) => {
                    let (used, group) = stride.split_once('/').ok_or(ParseMaskError::NotAList)?;
                    let used: usize = used.parse().map_err(|_| ParseMaskError::NotAList)?;
                    let group: usize = group.parse().map_err(|_| ParseMaskError::NotAList)?;
                    if group == 0 || used > group {
                        return Err(ParseMaskError::NotAList);
                    }
                    (used, group)
                }
            };
            mask.grow(high + 1);
            for cpu in low..=high {
                if (cpu - low) % group < used {
                    mask.set(CpuId::from_index(cpu));
                }
            }
        }
        Ok(mask)
    }

    /// Reads a kernel CPU mask: hexadecimal words of 32 bits, most significant first, separated by
    /// commas (`00000003,ffffffff`), as in sysfs; or one hexadecimal number, with or without `0x`.
    ///
    /// # Errors
    /// When the text is not such a mask, or names a CPU of `limit` or above.
    pub fn parse_hex(text: &str, limit: usize) -> Result<Self, ParseMaskError> {
        let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\0');
        let mut mask = Self::new(1);
        let mut base = 0;
        for part in text.rsplit(',') {
            let part = part.trim();
            let digits = part.strip_prefix("0x").unwrap_or(part);
            if digits.is_empty() && !text.contains(',') {
                return Err(ParseMaskError::NotAMask);
            }
            for (i, digit) in digits.bytes().rev().enumerate() {
                let value = (digit as char)
                    .to_digit(16)
                    .ok_or(ParseMaskError::NotAMask)?;
                for bit in 0..4 {
                    if value >> bit & 1 != 0 {
                        let cpu = base + 4 * i + bit;
                        if cpu >= limit {
                            return Err(ParseMaskError::Beyond { cpu, limit });
                        }
                        mask.grow(cpu + 1);
                        mask.set(CpuId::from_index(cpu));
                    }
                }
            }
            base += 32.max(digits.len() * 4);
        }
        Ok(mask)
    }

    /// The mask as one hexadecimal number with `0x`, as in the recordings.
    #[must_use]
    pub fn to_hex(&self) -> String {
        let mut text = String::from("0x");
        let top = self.words.iter().rposition(|&w| w != 0).unwrap_or(0);
        for (i, word) in self.words[..=top].iter().enumerate().rev() {
            let _ = if i == top {
                fmt::write(&mut text, format_args!("{word:x}"))
            } else {
                fmt::write(&mut text, format_args!("{word:016x}"))
            };
        }
        text
    }

    fn grow(&mut self, nr_cpus: usize) {
        if self.room() < nr_cpus {
            let mut words = vec![0; nr_cpus.div_ceil(BITS)];
            words[..self.words.len()].copy_from_slice(&self.words);
            self.words = words.into_boxed_slice();
        }
    }
}

impl PartialEq for CpuMask {
    fn eq(&self, other: &Self) -> bool {
        self.is_subset(other) && other.is_subset(self)
    }
}

impl Eq for CpuMask {}

impl<'a> IntoIterator for &'a CpuMask {
    type Item = CpuId;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl fmt::Display for CpuMask {
    /// As the kernel prints a CPU list: `0-3,8`. The empty mask prints nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut iter = self.iter().peekable();
        let mut first = true;
        while let Some(low) = iter.next() {
            let mut high = low;
            while iter.peek() == Some(&CpuId(high.0 + 1)) {
                high.0 += 1;
                iter.next();
            }
            if !first {
                f.write_str(",")?;
            }
            first = false;
            if low == high {
                write!(f, "{low}")?
            } else {
                write!(f, "{low}-{high}")?
            }
        }
        Ok(())
    }
}

impl fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// Why a text is not a set of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseMaskError {
    /// Not a list like `0-3,8`.
    NotAList,
    /// Not a mask like `00000003,ffffffff`.
    NotAMask,
    /// A CPU number that is too high.
    Beyond {
        /// The number found.
        cpu: usize,
        /// The first number that is too high.
        limit: usize,
    },
}

impl fmt::Display for ParseMaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAList => f.write_str("not a CPU list like 0-3,8"),
            Self::NotAMask => f.write_str("not a hexadecimal CPU mask like 00000003,ffffffff"),
            Self::Beyond { cpu, limit } => {
                write!(
                    f,
                    "CPU number {cpu} is too high, numbers below {limit} are accepted"
                )
            }
        }
    }
}

impl core::error::Error for ParseMaskError {}

/// Members in ascending order; see [`CpuMask::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    mask: &'a CpuMask,
    next: Option<CpuId>,
}

impl Iterator for Iter<'_> {
    type Item = CpuId;
    #[inline]
    fn next(&mut self) -> Option<CpuId> {
        let cpu = self.mask.next_from(self.next?);
        self.next = cpu.map(|c| CpuId(c.0 + 1));
        cpu
    }
}

/// Members in wrap order; see [`CpuMask::iter_wrap`].
#[derive(Clone, Debug)]
pub struct Wrap<'a> {
    mask: &'a CpuMask,
    start: CpuId,
    next: Option<CpuId>,
    wrapped: bool,
}

impl Iterator for Wrap<'_> {
    type Item = CpuId;
    #[inline]
    fn next(&mut self) -> Option<CpuId> {
        let from = self.next?;
        let mut cpu = self.mask.next_from(from);
        if cpu.is_none() && !self.wrapped {
            self.wrapped = true;
            cpu = self.mask.first();
        }
        if self.wrapped {
            cpu = cpu.filter(|c| *c < self.start);
        }
        self.next = cpu.map(|c| CpuId(c.0 + 1));
        cpu
    }
}

#[cfg(test)]
mod tests;
