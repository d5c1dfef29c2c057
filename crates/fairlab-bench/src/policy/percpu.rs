//! Where the values that wakeups read of another CPU stand, in the per-CPU area and in lines.

use core::mem::offset_of;

use fairlab_topology::domains::CpuCached;

/// The address in the published maps at which our blocks begin: the start of a 128-byte line.
pub const BASE: u32 = 0x20500;

/// Bytes of the area that is looked at: two lines of 64 bytes, or one of 128.
pub const BLOCK: u32 = 128;

/// A per-CPU variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the kernel.
    pub name: &'static str,
    /// Bytes from the start of the block.
    pub offset: u32,
    /// Bytes: 8 for a pointer, 4 for an integer.
    pub size: u32,
}

const fn at(name: &'static str, address: u32, size: u32) -> Variable {
    Variable {
        name,
        offset: address - BASE,
        size,
    }
}

/// Where the variables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The published map without the cluster series.
    Without,
    /// The published map with it: the new variables are in the middle.
    Middle,
    /// The new variables defined first, and so allocated last: the old ones stay where they were.
    Top,
    /// The block of this tool, a line of its own ([`CpuCached`]).
    Ours,
}

impl Layout {
    /// In the order of tables; the first is the baseline.
    pub const ALL: [Self; 4] = [Self::Without, Self::Middle, Self::Top, Self::Ours];

    /// As a table calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Without => "without",
            Self::Middle => "middle",
            Self::Top => "top",
            Self::Ours => "ours",
        }
    }

    /// Its variables in ascending order.
    #[must_use]
    pub const fn variables(self) -> &'static [Variable] {
        const WITHOUT: &[Variable] = &[
            at("sd_asym_packing", 0x20520, 8),
            at("sd_numa", 0x20528, 8),
            at("sd_llc_shared", 0x20530, 8),
            at("sd_llc_id", 0x20538, 4),
            at("sd_llc_size", 0x2053c, 4),
            at("sd_llc", 0x20540, 8),
        ];
        const MIDDLE: &[Variable] = &[
            at("sd_asym_packing", 0x20520, 8),
            at("sd_numa", 0x20528, 8),
            at("sd_cluster", 0x20530, 8),
            at("sd_llc_shared", 0x20538, 8),
            at("sd_share_id", 0x20540, 4),
            at("sd_llc_id", 0x20544, 4),
            at("sd_llc_size", 0x20548, 4),
            at("sd_llc", 0x20550, 8),
        ];
        const TOP: &[Variable] = &[
            at("sd_asym_packing", 0x20520, 8),
            at("sd_numa", 0x20528, 8),
            at("sd_llc_shared", 0x20530, 8),
            at("sd_llc_id", 0x20538, 4),
            at("sd_llc_size", 0x2053c, 4),
            at("sd_llc", 0x20540, 8),
            at("sd_share_id", 0x20548, 4),
            at("sd_cluster", 0x20550, 8),
        ];
        const OURS: &[Variable] = &[
            ours("sd_llc_id", offset_of!(CpuCached, llc_id), 4),
            ours("sd_share_id", offset_of!(CpuCached, share_id), 4),
            ours("sd_llc_size", offset_of!(CpuCached, llc_size), 4),
            ours("sd_llc", offset_of!(CpuCached, llc), 8),
            ours("sd_llc_shared", offset_of!(CpuCached, llc_shared), 8),
            ours("sd_numa", offset_of!(CpuCached, numa), 8),
            ours("sd_asym_packing", offset_of!(CpuCached, asym_packing), 8),
        ];
        match self {
            Self::Without => WITHOUT,
            Self::Middle => MIDDLE,
            Self::Top => TOP,
            Self::Ours => OURS,
        }
    }

    /// The variable called `name`; without the series `sd_llc_id` answers for `sd_share_id`.
    #[must_use]
    pub fn variable(self, name: &str) -> Option<&'static Variable> {
        let find = |name: &str| self.variables().iter().find(|v| v.name == name);
        find(name).or_else(|| {
            if name == "sd_share_id" {
                find("sd_llc_id")
            } else {
                None
            }
        })
    }

    /// Is the block apart from the variables of others?
    #[must_use]
    pub const fn is_apart(self) -> bool {
        matches!(self, Self::Ours)
    }
}

const fn ours(name: &'static str, offset: usize, size: u32) -> Variable {
    Variable {
        name,
        offset: offset as u32,
        size,
    }
}

/// What is read of another CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Whether two CPUs share the LLC: its number (`cpus_share_cache`).
    Share,
    /// A wakeup: four times the number, then the domain, its shared object, its size, and the number
    /// of the cluster.
    Wakeup,
}

impl Pattern {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Share, Self::Wakeup];

    /// As a table calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Wakeup => "wakeup",
        }
    }

    /// The variables in the order in which they are read.
    #[must_use]
    pub const fn reads(self) -> &'static [&'static str] {
        match self {
            Self::Share => &["sd_llc_id"],
            Self::Wakeup => &[
                "sd_llc_id",
                "sd_llc_id",
                "sd_llc_id",
                "sd_llc_id",
                "sd_llc",
                "sd_llc_shared",
                "sd_llc_size",
                "sd_share_id",
            ],
        }
    }
}

/// The lines of `line` bytes, counted from the start of the block, that `pattern` reads.
#[must_use]
pub fn lines_read(layout: Layout, pattern: Pattern, line: u32) -> Vec<u32> {
    let variables = pattern
        .reads()
        .iter()
        .filter_map(|name| layout.variable(name));
    let mut lines: Vec<u32> = variables.map(|v| v.offset / line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// How many reads of `pattern` fall into the line that holds the written byte `written`.
#[must_use]
pub fn reads_in_written_line(layout: Layout, pattern: Pattern, line: u32, written: u32) -> usize {
    if layout.is_apart() {
        // Its neighbours are the blocks of other CPUs, which are as read-only as itself.
        return 0;
    }
    let variables = pattern
        .reads()
        .iter()
        .filter_map(|name| layout.variable(name));
    variables
        .filter(|v| v.offset / line == written / line)
        .count()
}

/// The words that no layout of the maps uses, where a neighbour that somebody writes could be.
#[must_use]
pub fn free_words() -> Vec<u32> {
    let is_free = |word: &u32| {
        let taken = |v: &Variable| v.offset < word + 8 && *word < v.offset + v.size;
        let maps = Layout::ALL.iter().filter(|layout| !layout.is_apart());
        !maps.flat_map(|layout| layout.variables()).any(taken)
    };
    (0..BLOCK).step_by(8).filter(is_free).collect()
}

/// Over all free words: in how many does `layout` have more, fewer and as many reads in the written
/// line as the layout without the series.
#[must_use]
pub fn odds(layout: Layout, pattern: Pattern, line: u32) -> [usize; 3] {
    let mut odds = [0; 3];
    for word in free_words() {
        let reads = |layout| reads_in_written_line(layout, pattern, line, word);
        odds[match reads(layout).cmp(&reads(Layout::Without)) {
            core::cmp::Ordering::Greater => 0,
            core::cmp::Ordering::Less => 1,
            core::cmp::Ordering::Equal => 2,
        }] += 1;
    }
    odds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_overlaps_another_and_all_are_aligned() {
        for layout in Layout::ALL {
            let variables = layout.variables();
            for pair in variables.windows(2) {
                assert!(
                    pair[0].offset + pair[0].size <= pair[1].offset,
                    "{layout:?}"
                );
            }
            for v in variables {
                // Ours holds numbers of domains, which need four.
                let alignment = if layout.is_apart() { 4 } else { v.size };
                assert_eq!(v.offset % alignment, 0, "{layout:?} {}", v.name);
                assert!(v.offset + v.size <= BLOCK);
            }
        }
    }

    #[test]
    fn the_published_lengths_are_those_of_the_maps() {
        let length = |layout: Layout| {
            let variables = layout.variables();
            variables.last().map(|v| v.offset + v.size).unwrap() - variables[0].offset
        };
        assert_eq!(length(Layout::Without), 40);
        assert_eq!(length(Layout::Middle), 56);
    }

    #[test]
    fn a_wakeup_reads_two_short_lines_in_each_map_and_one_of_ours() {
        let lines = |layout| lines_read(layout, Pattern::Wakeup, 64).len();
        assert_eq!(Layout::ALL.map(lines), [2, 2, 2, 1]);
        let lines = |layout| lines_read(layout, Pattern::Wakeup, 128).len();
        assert_eq!(Layout::ALL.map(lines), [1, 1, 1, 1]);
    }

    #[test]
    fn the_series_puts_the_number_into_the_other_line() {
        let share = |layout, written| reads_in_written_line(layout, Pattern::Share, 64, written);
        let (below, above) = (0x08, 0x78);
        assert_eq!(Layout::ALL.map(|l| share(l, above)), [0, 1, 0, 0]);
        assert_eq!(Layout::ALL.map(|l| share(l, below)), [1, 0, 1, 0]);
        // Four words are free below the variables, and five above.
        assert_eq!(
            free_words(),
            [0x00, 0x08, 0x10, 0x18, 0x58, 0x60, 0x68, 0x70, 0x78]
        );
        assert_eq!(odds(Layout::Middle, Pattern::Share, 64), [5, 4, 0]);
        assert_eq!(odds(Layout::Top, Pattern::Share, 64), [0, 0, 9]);
        assert_eq!(odds(Layout::Middle, Pattern::Share, 128), [0, 0, 9]);
        assert_eq!(odds(Layout::Ours, Pattern::Share, 64), [0, 4, 5]);
    }
}
