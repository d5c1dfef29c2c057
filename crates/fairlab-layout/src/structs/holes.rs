//! Where a structure has holes.

use serde::Serialize;

use crate::types::{Composite, Member, Type, TypeId, Types};

/// A structure with what is between its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// Bytes.
    pub size: u64,
    /// The members.
    pub slots: Vec<Slot>,
    /// Bytes after the last member.
    pub padding: u64,
    /// Bits after the last member, when that is a bit field.
    pub bit_padding: u64,
}

/// A member and the hole behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// Bytes from the start: of the storage unit for a bit field.
    pub offset: u64,
    /// Bytes: of the storage unit for a bit field.
    pub size: u64,
    /// Bits from the start.
    pub bit_offset: u64,
    /// Bits from the start of the storage unit, for bit fields.
    pub bit: u64,
    /// Bits, for bit fields; 0 otherwise.
    pub bits: u64,
    /// What is empty behind it.
    pub gap: Gap,
}

/// What is empty behind a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Whole bytes.
    pub bytes: u64,
    /// Bits of a storage unit before them.
    pub bits: u64,
}

impl Layout {
    /// Works out the holes of a structure. Those of unions are not looked for.
    pub fn of(types: &Types, composite: &Composite) -> Self {
        let mut slots: Vec<Slot> = composite
            .members
            .iter()
            .map(|member| slot(types, member))
            .collect();
        if composite.is_union {
            let largest = slots.iter().map(|slot| slot.size).max().unwrap_or(0);
            return Self {
                size: composite.size,
                slots,
                padding: composite.size.saturating_sub(largest),
                bit_padding: 0,
            };
        }
        let mut seen = 0_u64;
        // End and width of the storage unit that bit fields are in.
        let mut unit: Option<(u64, u64)> = None;
        for i in 0..slots.len() {
            let (start, is_bits, width) = (
                slots[i].bit_offset,
                slots[i].bits > 0,
                slots[i].size.saturating_mul(8),
            );
            let mut gap = Gap::default();
            if let Some((end, _)) = unit {
                let end = end.min(start);
                gap.bits = end.saturating_sub(seen);
                seen = seen.max(end);
            }
            if is_bits && width > 0 {
                let aligned = start / width * width;
                if seen < aligned {
                    gap.bytes = (aligned - seen) / 8;
                    gap.bits += (aligned - seen) % 8;
                    seen = aligned;
                }
                gap.bits += start.saturating_sub(seen);
            } else {
                let empty = start.saturating_sub(seen);
                gap.bytes = empty / 8;
                gap.bits += empty % 8;
            }
            if let Some(previous) = i.checked_sub(1).and_then(|i| slots.get_mut(i)) {
                previous.gap = gap;
            }
            let slot = &slots[i];
            let end = start.saturating_add(if is_bits { slot.bits } else { width });
            seen = seen.max(end);
            unit = if is_bits && width > 0 {
                let own_end = (start / width * width).saturating_add(width);
                match unit {
                    Some((unit_end, unit_width)) if end <= unit_end && width <= unit_width => {
                        Some((unit_end, unit_width))
                    }
                    _ => Some((own_end, width)),
                }
            } else {
                None
            };
        }
        let total = composite.size.saturating_mul(8);
        let mut bit_padding = 0;
        if let Some((end, _)) = unit {
            let end = end.min(total);
            bit_padding = end.saturating_sub(seen);
            seen = seen.max(end);
        }
        Self {
            size: composite.size,
            slots,
            padding: total.saturating_sub(seen) / 8,
            bit_padding,
        }
    }

    /// Bytes of all holes.
    pub fn hole_bytes(&self) -> u64 {
        self.slots
            .iter()
            .fold(0, |sum, slot| sum.saturating_add(slot.gap.bytes))
    }
}

fn slot(types: &Types, member: &Member) -> Slot {
    let mut size = types.size(member.type_id);
    let bits = member.bit_size;
    let mut offset = member.bit_offset / 8;
    let mut bit = 0;
    if bits > 0 {
        let unit = size.saturating_mul(8).max(8);
        // The storage unit that the field lies in, aligned to its size.
        offset = member.bit_offset / unit * unit / 8;
        bit = member.bit_offset - offset.saturating_mul(8).min(member.bit_offset);
        size = size.max(1);
    }
    Slot {
        offset,
        size,
        bit_offset: member.bit_offset,
        bit,
        bits,
        gap: Gap::default(),
    }
}

/// Bytes of padding at the end of a member that is a structure.
pub(super) fn inner_padding(types: &Types, id: TypeId) -> u64 {
    match types.get(id) {
        Type::Composite(composite) if !composite.is_union => Layout::of(types, composite).padding,
        _ => 0,
    }
}
