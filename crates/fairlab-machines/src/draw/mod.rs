//! Drawing a machine as text: what is inside what, in at most 100 columns.
//!
//! ```text
//! packages 0-1, nodes 0-1                          0-63,128-191 | 64-127,192-255
//!   8 LLCs (L3 32 MiB)                             0-7,128-135 | 8-15,136-143 | ...
//!     8 cores of 2 threads                         0,128 | 1,129 | 2,130 | ...
//! ```
//!
//! Things that are alike are drawn once, with the CPUs of each beside them; what stands below is
//! inside the first of them. Levels with the same CPUs stand on one line. A level that does not nest
//! in the others is listed below the drawing.

pub(crate) mod levels;
mod list;

use std::fmt::Write as _;

use fairlab_topology::{Arch, CapacitySource, CoreKind, Cpu, Machine};
use fairlab_units::CpuMask;

use crate::summary::{self, Summary, summary};
use levels::{Level, Levels};
pub use list::cpu_list;

/// Columns that a drawing may take.
const WIDTH: usize = 100;
/// Where the lists of CPUs begin.
const LIST_AT: usize = 44;
/// Lines that one list may take.
const LIST_LINES: usize = 3;
/// Tables of distances beyond this many nodes are summed up instead.
const TABLE_NODES: usize = 20;
/// Distinct capacities that are listed.
const MAX_CAPACITIES: usize = 8;

/// Draws the machine: counts, what is inside what, nodes and distances, offline and isolated CPUs,
/// and the number of oddities.
#[must_use]
pub fn draw(machine: &Machine) -> String {
    let counts = summary(machine);
    let mut out = heading(machine, &counts);
    let levels = Levels::of(machine);
    out.push('\n');
    let drawing = Drawing {
        machine,
        levels: &levels,
    };
    drawing.children(0, &machine.online(), 0, &mut out);
    for level in &levels.crossing {
        let masks: Vec<String> = level.masks.iter().map(cpu_list).collect();
        let what = drawing.label(level, &level.masks);
        list::line(&mut out, 0, &format!("{what}, across others"), &masks);
    }
    tail(machine, &mut out);
    out
}

fn heading(machine: &Machine, counts: &Summary) -> String {
    let mut out = String::new();
    let model = machine
        .model()
        .map_or(String::new(), |m| format!(": {}", m.trim()));
    let name: String = machine.name().chars().take(60).collect();
    let _ = writeln!(out, "{name}{model} ({})", counts.arch);
    let mut parts = vec![plural(counts.cpus, "CPU")];
    if counts.threads_per_core > 1 {
        parts.push(format!("{} cores", counts.cores));
        parts.push(format!("SMT{}", counts.threads_per_core));
    }
    if counts.llcs > 0 {
        parts.push(plural(counts.llcs, "LLC"));
    } else {
        parts.push("LLC unknown".to_owned());
    }
    parts.push(plural(counts.nodes, "node"));
    if counts.packages > 0 {
        parts.push(plural(counts.packages, "package"));
    }
    if counts.offline_cpus > 0 {
        parts.push(format!("{} offline", counts.offline_cpus));
    }
    let _ = writeln!(out, "{}", parts.join(", "));
    out
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

fn tail(machine: &Machine, out: &mut String) {
    let offline = machine.mask_of(|c| !c.online);
    if !offline.is_empty() {
        list::line(out, 0, "offline", &[cpu_list(&offline)]);
    }
    let isolated = machine.mask_of(|c| c.online && c.isolated);
    if !isolated.is_empty() {
        list::line(out, 0, "isolated", &[cpu_list(&isolated)]);
    }
    for node in machine.nodes() {
        if machine.cpus().iter().all(|c| c.node != node.id) {
            let memory = node.memory_kb.map_or("size unknown".to_owned(), size_kb);
            let _ = writeln!(out, "node {}: memory only ({memory})", node.id);
        }
    }
    let capacities = summary(machine).capacities;
    if capacities.len() > 1 {
        let source = summary::source_name(machine.capacity_source());
        let shown = capacities.iter().take(MAX_CAPACITIES);
        let mut list: Vec<String> = shown.map(ToString::to_string).collect();
        if capacities.len() > MAX_CAPACITIES {
            list.push(format!("... {} more", capacities.len() - MAX_CAPACITIES));
        }
        let _ = writeln!(out, "capacities: {} (source: {source})", list.join(", "));
        if machine.arch() == Arch::X86 {
            let known = match machine.capacity_source() {
                CapacitySource::Stated => "x86 kernels take 1024 for all before v6.12",
                _ => "x86 kernels do not infer capacities and take 1024 for all",
            };
            let _ = writeln!(out, "            {known}");
        }
    }
    distances(machine, out);
    if !machine.oddities().is_empty() {
        let count = machine.oddities().len();
        let noun = if count == 1 { "oddity" } else { "oddities" };
        let _ = writeln!(out, "\n{count} {noun}; `fairlab machines check` lists them");
    }
}

fn distances(machine: &Machine, out: &mut String) {
    let nodes = machine.nodes();
    if nodes.len() < 2 {
        return;
    }
    if nodes.len() > TABLE_NODES {
        let mut counts = std::collections::BTreeMap::new();
        for distance in nodes.iter().flat_map(|n| &n.distances) {
            *counts.entry(*distance).or_insert(0_u32) += 1;
        }
        let list: Vec<String> = counts
            .iter()
            .map(|(distance, count)| format!("{distance} ({count} pairs)"))
            .collect();
        out.push('\n');
        list::line(out, 0, "distances", &list);
        return;
    }
    let _ = write!(out, "\ndistance");
    for node in nodes {
        let _ = write!(out, "{:>4}", node.id.0);
    }
    out.push('\n');
    for node in nodes {
        let _ = write!(out, "{:>8}", node.id.0);
        for distance in &node.distances {
            let _ = write!(out, "{distance:>4}");
        }
        out.push('\n');
    }
}

struct Drawing<'a> {
    machine: &'a Machine,
    levels: &'a Levels,
}

impl Drawing<'_> {
    /// Draws the groups of level `at` and below that are inside `span`.
    fn children(&self, at: usize, span: &CpuMask, indent: usize, out: &mut String) {
        let Some(level) = self.levels.nested.get(at) else {
            return;
        };
        let masks = level.inside(span);
        if masks.is_empty() {
            // The level does not describe these CPUs: its place is taken by the next one.
            self.children(at + 1, span, indent, out);
            return;
        }
        // Levels whose groups hold the same CPUs share the line.
        let mut next = at + 1;
        while let Some(below) = self.levels.nested.get(next) {
            if below.inside(span) != masks {
                break;
            }
            next += 1;
        }
        let merged = &self.levels.nested[at..next];
        let signatures: Vec<String> = masks.iter().map(|m| self.signature(at, m)).collect();
        let mut start = 0;
        for run in signatures.chunk_by(|a, b| a == b) {
            let members: Vec<CpuMask> = masks[start..start + run.len()]
                .iter()
                .map(|m| (*m).clone())
                .collect();
            start += run.len();
            let labels: Vec<String> = merged.iter().map(|l| self.label(l, &members)).collect();
            let lists: Vec<String> = members.iter().map(cpu_list).collect();
            list::line(out, indent, &labels.join(", "), &lists);
            if let Some(first) = members.first() {
                self.children(next, first, indent + 2, out);
            }
        }
        let covered = masks.iter().fold(CpuMask::default(), |mut all, m| {
            all.or_with(m);
            all
        });
        let mut rest = span.clone();
        rest.and_not_with(&covered);
        if !rest.is_empty() {
            self.children(at + 1, &rest, indent, out);
        }
    }

    /// Equal for groups that are drawn alike.
    fn signature(&self, at: usize, span: &CpuMask) -> String {
        let Some(level) = self.levels.nested.get(at) else {
            return span.weight().to_string();
        };
        let mut text = String::new();
        for mask in level.inside(span) {
            let _ = write!(text, "({}", self.label_of_one(level, mask));
            text.push_str(&self.signature(at + 1, mask));
            text.push(')');
        }
        if text.is_empty() {
            return self.signature(at + 1, span);
        }
        text
    }

    /// What a group is like, without its number.
    fn label_of_one(&self, level: &Level, mask: &CpuMask) -> String {
        match level.kind {
            levels::Kind::Core => format!("{}{}", mask.weight(), self.core_facts(mask)),
            levels::Kind::Llc => self.llc_facts(mask),
            _ => level.kind.name().to_owned(),
        }
    }

    /// `packages 0-1`, `8 LLCs (L3 32 MiB)`, `8 cores of 2 threads`.
    fn label(&self, level: &Level, masks: &[CpuMask]) -> String {
        let Some(first) = masks.first() else {
            return String::new();
        };
        let count = masks.len();
        let name = level.kind.name();
        match level.kind {
            levels::Kind::Package | levels::Kind::Node => {
                let numbers: Vec<u32> = masks
                    .iter()
                    .filter_map(|m| level.kind.number(self.cpu(m)?))
                    .collect();
                let numbers = list::numbers(&numbers);
                let memory = if level.kind == levels::Kind::Node {
                    self.memory(masks)
                } else {
                    String::new()
                };
                let s = if count == 1 { "" } else { "s" };
                format!("{name}{s} {numbers}{memory}")
            }
            levels::Kind::Core => {
                let threads = match first.weight() {
                    1 => String::new(),
                    n => format!(" of {n} threads"),
                };
                format!("{}{threads}{}", plural(count, name), self.core_facts(first))
            }
            levels::Kind::Llc => {
                let facts = self.llc_facts(first);
                format!("{}{facts}", plural(count, name))
            }
            _ => plural(count, name),
        }
    }

    fn cpu(&self, mask: &CpuMask) -> Option<&Cpu> {
        self.machine.cpu(mask.first()?)
    }

    fn core_facts(&self, mask: &CpuMask) -> String {
        let Some(cpu) = self.cpu(mask) else {
            return String::new();
        };
        let kind = match cpu.kind {
            CoreKind::Uniform => "",
            CoreKind::Performance => ", P",
            CoreKind::Medium => ", M",
            CoreKind::Efficiency => ", E",
        };
        if cpu.capacity == 1024 {
            kind.to_owned()
        } else {
            format!("{kind}, capacity {}", cpu.capacity)
        }
    }

    fn llc_facts(&self, mask: &CpuMask) -> String {
        let caches = self.machine.caches().iter();
        let top = caches
            .filter(|c| c.level > 1 && mask.first().is_some_and(|cpu| c.cpus.test(cpu)))
            .filter(|c| mask.is_subset(&c.cpus))
            .max_by_key(|c| c.level);
        match top {
            Some(c) if c.size > 0 => format!(" (L{} {})", c.level, size_kb(c.size >> 10)),
            Some(c) => format!(" (L{})", c.level),
            None => String::new(),
        }
    }

    /// Memory of these nodes when they have about the same.
    fn memory(&self, masks: &[CpuMask]) -> String {
        let sizes: Option<Vec<u64>> = masks
            .iter()
            .map(|m| {
                let node = self.cpu(m)?.node;
                let index = self.machine.node_index(node)?;
                self.machine.nodes().get(index)?.memory_kb
            })
            .collect();
        let Some(sizes) = sizes else {
            return String::new();
        };
        match (sizes.iter().min(), sizes.iter().max()) {
            (Some(low), Some(high)) if *high - *low <= *high / 10 => {
                format!(" ({})", size_kb(*high))
            }
            (Some(low), Some(high)) => format!(" ({} to {})", size_kb(*low), size_kb(*high)),
            _ => String::new(),
        }
    }
}

/// `27.5 MiB`, with one digit after the point where it is needed.
fn size_kb(kb: u64) -> String {
    let (unit, scale) = match kb {
        0..1024 => ("KiB", 1),
        1024..1_048_576 => ("MiB", 1024),
        _ => ("GiB", 1_048_576),
    };
    // Wide enough for any number that a file may state.
    let tenths = (u128::from(kb) * 10 + scale / 2) / scale;
    if tenths.is_multiple_of(10) {
        format!("{} {unit}", tenths / 10)
    } else {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    }
}
