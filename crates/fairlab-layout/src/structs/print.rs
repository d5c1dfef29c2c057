//! The form of `pahole`.
//!
//! # Source
//! The output of `pahole` 1.24 (Debian 12) on the BTF of kernels and on its own tests; the code is
//! ours. What is left out: constants of expanded enumerations are not aligned to those of others,
//! and statistics of nested qualified structures are not printed.

use std::collections::BTreeMap;

use super::holes::{Layout, inner_padding};
use super::type_name::{declaration, type_name};
use crate::types::{Composite, Member, Qualifier, Type, TypeId, Types};

/// Column at which offsets start in a structure; in a union it is two less.
const COMMENT_COLUMN: usize = 57;
/// Columns of the type part, at the outermost level.
const TYPE_COLUMNS: usize = 26;
/// Columns of a level.
const TAB: usize = 8;
/// Deeper structures are not printed; only lying files have them.
const DEPTH: usize = 32;
/// Lines after which a structure is cut off: types that contain each other many times can make any
/// number of them.
const MOST_LINES: usize = 20_000;

/// Prints one structure with its statistics.
pub fn print(types: &Types, id: TypeId) -> String {
    Printer::new(types, 64).print(id)
}

/// Prints structures, with lines of some size.
pub struct Printer<'a> {
    types: &'a Types,
    line: u64,
    out: String,
    lines: usize,
    /// The last cache line that was marked.
    marked: u64,
    column: usize,
    paddings: BTreeMap<TypeId, u64>,
    alignments: BTreeMap<TypeId, u64>,
    packed: BTreeMap<TypeId, bool>,
}

/// Where a member is, as it is printed.
struct Place {
    offset: u64,
    /// Bits from the start of the storage unit, for bit fields.
    bit: Option<u64>,
    size: u64,
    /// Is it an array at the end that grows with its structure?
    is_flexible: bool,
}

/// What the footer counts.
#[derive(Default)]
struct Sums {
    members: u64,
    bits: u64,
    holes: u64,
    hole_bytes: u64,
    bit_holes: u64,
    hole_bits: u64,
    paddings: u64,
    padding_bytes: u64,
    forced: u64,
    forced_holes: u64,
    forced_bytes: u64,
}

impl<'a> Printer<'a> {
    /// A printer for structures of `types`, with cache lines of `line` bytes.
    pub fn new(types: &'a Types, line: u64) -> Self {
        Self {
            types,
            line: line.max(1),
            out: String::new(),
            lines: 0,
            marked: 0,
            column: COMMENT_COLUMN,
            paddings: BTreeMap::new(),
            alignments: BTreeMap::new(),
            packed: BTreeMap::new(),
        }
    }

    /// The structure or union `id`; empty for anything else.
    pub fn print(&mut self, id: TypeId) -> String {
        let types = self.types;
        let Type::Composite(composite) = types.get(id) else {
            return String::new();
        };
        self.out.clear();
        self.lines = 0;
        self.marked = 0;
        self.column = if composite.is_union {
            COMMENT_COLUMN - 2
        } else {
            COMMENT_COLUMN
        };
        self.out.push_str(&head(types, composite));
        self.out.push('\n');
        if composite.is_union {
            self.union_members(composite, 1, 0);
        } else {
            let layout = Layout::of(types, composite);
            let sums = self.struct_members(composite, &layout, 1, 0);
            self.footer(composite, &layout, &sums);
        }
        self.out.push('}');
        let attributes = self.attributes(id, composite);
        self.out.push_str(&attributes);
        self.out.push_str(";\n");
        std::mem::take(&mut self.out)
    }

    fn union_members(&mut self, composite: &'a Composite, depth: usize, base: u64) {
        for member in &composite.members {
            if self.lines > MOST_LINES {
                self.line(depth, "/* and more */");
                break;
            }
            let offset = base.saturating_add(member.bit_offset / 8);
            let size = self.types.size(member.type_id);
            let alignment = if self.types.states_alignment {
                member.alignment
            } else {
                None
            };
            let bit = (member.bit_size > 0).then_some(0);
            let place = Place {
                offset,
                bit,
                size,
                is_flexible: false,
            };
            self.member(member, alignment, depth, &place);
        }
    }

    fn struct_members(
        &mut self,
        composite: &'a Composite,
        layout: &Layout,
        depth: usize,
        base: u64,
    ) -> Sums {
        let mut sums = Sums::default();
        let mut has_gap_line = false;
        for (i, (member, slot)) in composite.members.iter().zip(&layout.slots).enumerate() {
            if self.lines > MOST_LINES {
                self.line(depth, "/* and more */");
                break;
            }
            let previous = i
                .checked_sub(1)
                .map(|i| (&composite.members[i], &layout.slots[i]));
            let alignment = self.alignment(composite, layout, i);
            if let Some((before, gap)) = previous.map(|(m, slot)| (m, slot.gap)) {
                if gap.bits > 0 {
                    self.gap_line(depth, &mut has_gap_line, gap.bits, "bit", "bits");
                    sums.bit_holes += 1;
                    sums.hole_bits = sums.hole_bits.saturating_add(gap.bits);
                }
                if gap.bytes > 0 {
                    self.gap_line(depth, &mut has_gap_line, gap.bytes, "byte", "bytes");
                    sums.holes += 1;
                    sums.hole_bytes = sums.hole_bytes.saturating_add(gap.bytes);
                    if alignment.is_some() {
                        sums.forced_holes += 1;
                        sums.forced_bytes = sums.forced_bytes.saturating_add(gap.bytes);
                    }
                }
                self.joints(slot, previous, depth, &mut has_gap_line, before);
            }
            if has_gap_line {
                self.line(0, "");
                has_gap_line = false;
            }
            if alignment.is_some() {
                sums.forced += 1;
            }
            let offset = base.saturating_add(slot.offset);
            let start = base.saturating_add(slot.bit_offset / 8);
            self.mark(depth, if slot.bits > 0 { offset } else { start });
            let bit = (slot.bits > 0).then_some(slot.bit);
            // An array without elements at the end is a flexible one.
            let is_flexible = depth == 1 && i > 0 && i + 1 == composite.members.len();
            let place = Place {
                offset,
                bit,
                size: slot.size,
                is_flexible,
            };
            self.member(member, alignment, depth, &place);
            if slot.bits > 0 {
                sums.bits = sums.bits.saturating_add(slot.bits);
            } else {
                sums.members = sums.members.saturating_add(slot.size);
            }
            let padding = self.padding(member.type_id);
            if padding > 0 && slot.bits == 0 {
                self.line(0, "");
                has_gap_line = true;
                let plural = if padding == 1 { "" } else { "s" };
                let text = format!("/* XXX last struct has {padding} byte{plural} of padding */");
                self.line(depth, &text);
                sums.paddings += 1;
                sums.padding_bytes = sums.padding_bytes.saturating_add(padding);
            }
        }
        sums
    }

    /// Says where bit fields and others share a storage unit, and what fills the bits between two.
    fn joints(
        &mut self,
        slot: &super::Slot,
        previous: Option<(&Member, &super::Slot)>,
        depth: usize,
        has_gap_line: &mut bool,
        before: &Member,
    ) {
        let Some((_, last)) = previous else {
            return;
        };
        if last.bits > 0 {
            let unit_end = last.offset.saturating_add(last.size);
            let overlaps = if slot.bits > 0 {
                slot.offset > last.offset && slot.offset < unit_end
            } else {
                slot.offset < unit_end
            };
            if overlaps {
                if !*has_gap_line {
                    self.line(0, "");
                    *has_gap_line = true;
                }
                self.line(depth, "/* Bitfield combined with next fields */");
            }
        } else if slot.bits > 0 && slot.offset < last.offset.saturating_add(last.size) {
            if !*has_gap_line {
                self.line(0, "");
                *has_gap_line = true;
            }
            self.line(depth, "/* Bitfield combined with previous fields */");
        }
        if slot.bits > 0 && last.bits > 0 && last.gap.bits > 0 {
            let (type_part, _) = declaration(self.types, before.type_id, "");
            let columns = type_columns(depth);
            if slot.offset == last.offset {
                let text = format!("{type_part:<columns$} :{};", last.gap.bits);
                self.line(depth, &text);
            } else {
                self.line(0, "");
                self.line(depth, "/* Force alignment to the next boundary: */");
                self.line(depth, &format!("{type_part:<columns$} :0;"));
            }
        }
    }

    fn gap_line(
        &mut self,
        depth: usize,
        has_gap_line: &mut bool,
        count: u64,
        one: &str,
        many: &str,
    ) {
        if !*has_gap_line {
            self.line(0, "");
            *has_gap_line = true;
        }
        let unit = if count == 1 { one } else { many };
        self.line(
            depth,
            &format!("/* XXX {count} {unit} hole, try to pack */"),
        );
    }

    /// Marks the start of a cache line, when `offset` is the first one in it.
    fn mark(&mut self, depth: usize, offset: u64) {
        let number = offset / self.line;
        if number <= self.marked {
            return;
        }
        self.marked = number;
        let start = number * self.line;
        let text = match offset - start {
            0 => format!("/* --- cacheline {number} boundary ({start} bytes) --- */"),
            over => {
                let plural = if over == 1 { "" } else { "s" };
                format!(
                    "/* --- cacheline {number} boundary ({start} bytes) was {over} byte{plural} ago \
                     --- */"
                )
            }
        };
        self.line(depth, &text);
    }

    fn member(&mut self, member: &'a Member, alignment: Option<u64>, depth: usize, place: &Place) {
        let types = self.types;
        let Place {
            offset,
            bit,
            size,
            is_flexible,
        } = *place;
        let name = member.name.map_or("", |name| types.name(name));
        let place = match bit {
            Some(bit) => format!("/* {offset:>5}:{bit:>2} {size:>2} */"),
            None => format!("/* {offset:>5} {size:>5} */"),
        };
        let mut suffix = String::new();
        let attribute = match alignment {
            Some(alignment) => format!(" __attribute__((__aligned__({alignment})))"),
            None => String::new(),
        };
        if let Some((id, prefix)) = self.anonymous(member.type_id, &mut suffix)
            && depth < DEPTH
        {
            // Lines that are marked inside are marked outside once more.
            let marked = self.marked;
            self.nested(id, &prefix, depth, offset);
            self.marked = marked;
            let mut tail = String::from("}");
            let attributes = match types.get(id) {
                Type::Composite(composite) => self.attributes(id, composite),
                _ => String::new(),
            };
            if name.is_empty() {
                // The columns are counted without attributes here.
                let columns = self.column.saturating_sub(depth * TAB + 2);
                let text = format!("{tail}{attributes};{:columns$}{place}", "");
                self.line(depth, &text);
                return;
            }
            tail.push_str(&attributes);
            tail.push(' ');
            tail.push_str(name);
            tail.push_str(&suffix);
            tail.push_str(&attribute);
            tail.push(';');
            if suffix.is_empty() {
                self.placed(depth, &tail, &place);
            } else {
                self.line(depth, &format!("{tail} {place}"));
            }
            return;
        }
        let (type_part, mut name_part) = declaration(types, member.type_id, name);
        if is_flexible {
            name_part = name_part.replacen("[0]", "[]", 1);
        }
        if member.bit_size > 0 {
            name_part.push_str(&format!(":{}", member.bit_size));
        }
        let columns = type_columns(depth);
        let packed = match types.get(types.resolve(member.type_id)) {
            Type::Composite(_) if attribute.is_empty() => String::new(),
            _ => attribute,
        };
        let text = format!("{type_part:<columns$} {name_part}{packed};");
        self.placed(depth, &text, &place);
    }

    /// A declaration, and its place in the column for it.
    fn placed(&mut self, depth: usize, text: &str, place: &str) {
        let columns = self.column.saturating_sub(depth * TAB);
        if text.chars().count() < columns {
            self.line(depth, &format!("{text:<columns$}{place}"));
        } else {
            self.line(depth, &format!("{text} {place}"));
        }
    }

    /// The anonymous structure, union or enumeration behind a member's type, if it is one: also as
    /// the element of an array, or qualified.
    fn anonymous(&self, id: TypeId, suffix: &mut String) -> Option<(TypeId, String)> {
        let mut id = id;
        let mut prefix = String::new();
        for _ in 0..DEPTH {
            match self.types.get(id) {
                Type::Array { element, count } => {
                    match count {
                        Some(count) => suffix.push_str(&format!("[{count}]")),
                        None => suffix.push_str("[]"),
                    }
                    id = *element;
                }
                Type::Qualified { qualifier, target } => {
                    prefix.push_str(match qualifier {
                        Qualifier::Const => "const ",
                        Qualifier::Volatile => "volatile ",
                        Qualifier::Restrict | Qualifier::Atomic => "",
                    });
                    id = *target;
                }
                Type::Composite(Composite { name: None, .. })
                | Type::Enumeration { name: None, .. } => return Some((id, prefix)),
                Type::Typedef { name, target } if self.types.name(*name).is_empty() => {
                    id = *target;
                }
                _ => return None,
            }
        }
        None
    }

    fn nested(&mut self, id: TypeId, prefix: &str, depth: usize, offset: u64) {
        match self.types.get(id) {
            Type::Composite(composite) => {
                let head = head(self.types, composite);
                self.line(depth, &format!("{prefix}{head}"));
                if composite.is_union {
                    self.union_members(composite, depth + 1, offset);
                } else {
                    let layout = Layout::of(self.types, composite);
                    self.struct_members(composite, &layout, depth + 1, offset);
                }
            }
            Type::Enumeration { values, .. } => {
                self.line(depth, &format!("{prefix}enum {{"));
                let names = values.iter().map(|(name, _)| self.types.name(*name));
                let width = names.map(|n| n.chars().count()).max().unwrap_or(0).min(512);
                for (name, value) in values {
                    let name = self.types.name(*name);
                    self.line(depth + 1, &format!("{name:<width$} = {value},"));
                }
            }
            _ => {}
        }
    }

    fn footer(&mut self, composite: &Composite, layout: &Layout, sums: &Sums) {
        self.line(0, "");
        let size = layout.size;
        let lines = size.div_ceil(self.line);
        let members = composite.members.len();
        self.line(
            1,
            &format!("/* size: {size}, cachelines: {lines}, members: {members} */"),
        );
        if sums.holes > 0 {
            self.line(
                1,
                &format!(
                    "/* sum members: {}, holes: {}, sum holes: {} */",
                    sums.members, sums.holes, sums.hole_bytes
                ),
            );
        }
        if sums.bit_holes > 0 || (sums.holes > 0 && sums.bits > 0) {
            if sums.holes == 0 && sums.members > 0 {
                self.line(1, &format!("/* sum members: {} */", sums.members));
            }
            if sums.bit_holes > 0 {
                self.line(
                    1,
                    &format!(
                        "/* sum bitfield members: {} bits, bit holes: {}, sum bit holes: {} bits */",
                        sums.bits, sums.bit_holes, sums.hole_bits
                    ),
                );
            } else {
                self.line(
                    1,
                    &format!(
                        "/* sum bitfield members: {} bits ({} bytes) */",
                        sums.bits,
                        sums.bits / 8
                    ),
                );
            }
        }
        if layout.padding > 0 {
            self.line(1, &format!("/* padding: {} */", layout.padding));
        }
        if sums.paddings > 0 {
            self.line(
                1,
                &format!(
                    "/* paddings: {}, sum paddings: {} */",
                    sums.paddings, sums.padding_bytes
                ),
            );
        }
        if layout.bit_padding > 0 {
            self.line(
                1,
                &format!("/* bit_padding: {} bits */", layout.bit_padding),
            );
        }
        if sums.forced > 0 {
            let holes = if sums.forced_holes > 0 {
                format!(
                    ", forced holes: {}, sum forced holes: {}",
                    sums.forced_holes, sums.forced_bytes
                )
            } else {
                String::new()
            };
            self.line(
                1,
                &format!("/* forced alignments: {}{holes} */", sums.forced),
            );
        }
        let last = size % self.line;
        if last > 0 {
            self.line(1, &format!("/* last cacheline: {last} bytes */"));
        }
    }

    /// The alignment that the source must have demanded of member `i`: as stated, or where its
    /// offset is more than its type would give.
    fn alignment(&mut self, composite: &Composite, layout: &Layout, i: usize) -> Option<u64> {
        let (member, slot) = (composite.members.get(i)?, layout.slots.get(i)?);
        if self.types.states_alignment {
            return member.alignment;
        }
        if slot.bits > 0 || slot.size == 0 {
            return None;
        }
        // What has no size does not count as a neighbour.
        let before = layout.slots[..i].iter().rposition(|slot| slot.size > 0)?;
        let gap: u64 = layout.slots[before..i]
            .iter()
            .fold(0, |sum, slot| sum.saturating_add(slot.gap.bytes));
        let natural = self.natural_alignment(member.type_id);
        if gap < natural {
            return None;
        }
        largest_power(slot.offset, self.line).filter(|power| *power > natural)
    }

    /// What stands behind the brace of a structure.
    fn attributes(&mut self, id: TypeId, composite: &Composite) -> String {
        let mut text = String::new();
        if self.is_packed(id) {
            text.push_str(" __attribute__((__packed__))");
        }
        let alignment = if self.types.states_alignment {
            composite.alignment
        } else if composite.is_union {
            None
        } else {
            let layout = Layout::of(self.types, composite);
            let natural = self.natural_alignment(id);
            // A flexible array at the end may be what the padding is for.
            let trailing = layout.slots.iter().rev().skip_while(|slot| slot.size == 0);
            let before = trailing.take(1).map(|slot| slot.gap.bytes);
            let padding = layout.padding.max(before.sum());
            if padding < natural {
                None
            } else if padding >= self.line && padding <= layout.size {
                let power = padding.checked_next_power_of_two();
                power.filter(|power| layout.size.is_multiple_of(*power))
            } else {
                largest_power(layout.size, self.line).filter(|power| *power > natural)
            }
        };
        if let Some(alignment) = alignment {
            text.push_str(&format!(" __attribute__((__aligned__({alignment})))"));
        }
        text
    }

    /// Do offsets or the size break the alignment that the members have by themselves?
    fn is_packed(&mut self, id: TypeId) -> bool {
        if let Some(known) = self.packed.get(&id) {
            return *known;
        }
        let types = self.types;
        let Type::Composite(composite) = types.get(id) else {
            return false;
        };
        if composite.is_union {
            return false;
        }
        // Against circles; what contains itself is not packed.
        self.packed.insert(id, false);
        let mut largest = 1;
        let mut is_packed = false;
        for member in &composite.members {
            let natural = self.natural_alignment(member.type_id);
            largest = largest.max(natural);
            let offset = member.bit_offset / 8;
            is_packed |= member.bit_size == 0 && offset % natural != 0;
        }
        is_packed |= composite.size % largest != 0;
        self.packed.insert(id, is_packed);
        is_packed
    }

    fn natural_alignment(&mut self, id: TypeId) -> u64 {
        if let Some(known) = self.alignments.get(&id) {
            return *known;
        }
        let alignment = self.types.natural_alignment(id);
        self.alignments.insert(id, alignment);
        alignment
    }

    fn padding(&mut self, id: TypeId) -> u64 {
        // Padding behind a typedef with a name is not looked for.
        let id = self.types.transparent(id);
        if let Some(known) = self.paddings.get(&id) {
            return *known;
        }
        let padding = inner_padding(self.types, id);
        self.paddings.insert(id, padding);
        padding
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.lines += 1;
        for _ in 0..depth {
            self.out.push('\t');
        }
        self.out.push_str(text);
        self.out.push('\n');
    }
}

/// Columns of the type part at a depth. Below the fourth the difference is negative, which `printf`
/// takes for a width all the same.
fn type_columns(depth: usize) -> usize {
    TYPE_COLUMNS.abs_diff((depth - 1) * TAB)
}

fn largest_power(offset: u64, most: u64) -> Option<u64> {
    (offset > 0).then(|| 1 << offset.trailing_zeros().min(most.trailing_zeros()))
}

fn head(types: &Types, composite: &Composite) -> String {
    let keyword = if composite.is_union {
        "union"
    } else {
        "struct"
    };
    match composite.name {
        Some(name) => format!("{keyword} {} {{", types.name(name)),
        None => format!("{keyword} {{"),
    }
}

/// The name of a structure with its keyword, for messages.
pub(super) fn title(types: &Types, id: TypeId) -> String {
    type_name(types, id)
}
