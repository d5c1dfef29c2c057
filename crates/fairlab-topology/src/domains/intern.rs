//! Masks stored once.

use alloc::vec;
use alloc::vec::Vec;

use fairlab_units::{CpuId, CpuMask};

use super::MaskId;

const EMPTY: u32 = u32::MAX;

/// A table of distinct masks with their weights. All masks have the same number of words, so that
/// equality is equality of rows; numbers follow the order of first appearance.
#[derive(Debug)]
pub(super) struct MaskTable {
    room: usize,
    masks: Vec<CpuMask>,
    weights: Vec<u32>,
    /// Open addressing by hash of the row; a power of two, at most half full.
    slots: Vec<u32>,
}

impl MaskTable {
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            masks: Vec::new(),
            weights: Vec::new(),
            slots: vec![EMPTY; 64],
        }
    }

    /// The number of `mask`, which is stored when it is new.
    ///
    /// CPUs for which the table has no room are dropped.
    pub(super) fn intern(&mut self, mask: &CpuMask) -> MaskId {
        let words = mask.words();
        let len = self.room.div_ceil(64).max(1);
        if words.len() == len {
            return self.intern_row(mask.clone());
        }
        let mut row = CpuMask::new(self.room);
        let common = words.len().min(len);
        row.words_mut()[..common].copy_from_slice(&words[..common]);
        self.intern_row(row)
    }

    fn intern_row(&mut self, row: CpuMask) -> MaskId {
        let mut slot = hash(row.words()) as usize & (self.slots.len() - 1);
        loop {
            match self.slots[slot] {
                EMPTY => break,
                id if self.masks[id as usize].words() == row.words() => return MaskId(id),
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
        let id = self.masks.len() as u32;
        self.slots[slot] = id;
        self.weights.push(row.weight() as u32);
        self.masks.push(row);
        if self.masks.len() * 2 > self.slots.len() {
            self.grow();
        }
        MaskId(id)
    }

    /// The number of the mask that holds only `cpu`.
    pub(super) fn single(&mut self, cpu: CpuId) -> MaskId {
        let mut row = CpuMask::new(self.room);
        if cpu.index() < row.room() {
            row.set(cpu);
        }
        self.intern_row(row)
    }

    pub(super) fn get(&self, id: MaskId) -> &CpuMask {
        &self.masks[id.0 as usize]
    }

    pub(super) fn weight(&self, id: MaskId) -> u32 {
        self.weights[id.0 as usize]
    }

    /// Lowest member, or CPU 0 of an empty mask.
    pub(super) fn first(&self, id: MaskId) -> CpuId {
        self.get(id).first().unwrap_or(CpuId(0))
    }

    pub(super) fn is_subset(&self, inner: MaskId, outer: MaskId) -> bool {
        inner == outer || self.get(inner).is_subset(self.get(outer))
    }

    pub(super) fn len(&self) -> usize {
        self.masks.len()
    }

    pub(super) fn into_masks(self) -> Vec<CpuMask> {
        self.masks
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let mut slots = vec![EMPTY; size];
        for (id, mask) in self.masks.iter().enumerate() {
            let mut slot = hash(mask.words()) as usize & (size - 1);
            while slots[slot] != EMPTY {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = id as u32;
        }
        self.slots = slots;
    }
}

/// Mixes the non-zero words with their positions; most masks are sparse.
fn hash(words: &[u64]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for (i, &word) in words.iter().enumerate() {
        if word != 0 {
            state = (state ^ word ^ ((i as u64) << 32)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            state ^= state >> 32;
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_masks_get_one_number_whatever_their_length() {
        let mut table = MaskTable::new(200);
        let a = table.intern(&CpuMask::from_cpus(8, [CpuId(3)]));
        let b = table.intern(&CpuMask::from_cpus(200, [CpuId(3)]));
        assert_eq!((a, table.single(CpuId(3))), (b, a));
        assert_eq!((table.weight(a), table.first(a)), (1, CpuId(3)));
    }

    #[test]
    fn many_masks_keep_their_numbers() {
        let mut table = MaskTable::new(500);
        let ids: Vec<MaskId> = (0..500).map(|c| table.single(CpuId(c))).collect();
        for (cpu, id) in ids.iter().enumerate() {
            assert_eq!(table.single(CpuId(cpu as u32)), *id);
        }
        assert_eq!(table.len(), 500);
    }
}
