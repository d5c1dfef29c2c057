//! What a recording says about itself.

use std::fmt;

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Text of ftrace, `trace-cmd report`, systrace, `perf script`, or a dump in a kernel log.
    Text,
    /// `trace.dat` of trace-cmd, with its version.
    TraceDat(u8),
    /// `perf.data`.
    PerfData,
    /// A Perfetto trace.
    Perfetto,
    /// The Common Trace Format 1.8.
    Ctf,
    /// A SchedViz archive.
    SchedViz,
    /// The table of `perf sched timehist`.
    Timehist,
    /// The rows of `perf sched map`.
    SchedMap,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("trace text"),
            Self::TraceDat(version) => write!(f, "trace.dat version {version}"),
            Self::PerfData => f.write_str("perf.data"),
            Self::Perfetto => f.write_str("Perfetto"),
            Self::Ctf => f.write_str("CTF 1.8"),
            Self::SchedViz => f.write_str("SchedViz"),
            Self::Timehist => f.write_str("perf sched timehist"),
            Self::SchedMap => f.write_str("perf sched map"),
        }
    }
}

/// What the recording says about the machine and the tool. `None`: it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// CPUs of the machine. There may be events from fewer.
    pub nr_cpus: Option<u32>,
    /// The kernel's release (`uname -r`).
    pub kernel_release: Option<String>,
    /// The rest of the kernel's version line (`uname -v`).
    pub kernel_version: Option<String>,
    /// The architecture (`uname -m`).
    pub arch: Option<String>,
    /// The CPU's name.
    pub cpu_model: Option<String>,
    /// The host's name.
    pub hostname: Option<String>,
    /// The clock of the time stamps: `local`, `mono`, `boot` ...
    pub clock: Option<String>,
    /// The tool that recorded, with its version.
    pub tool: Option<String>,
    /// The command line of the tool.
    pub command_line: Option<String>,
    /// Bits of the recorded kernel's `long`.
    pub long_bits: Option<u32>,
    /// Was the machine big endian?
    pub is_big_endian: Option<bool>,
    /// Where the CPUs are.
    pub topology: Option<Topology>,
    /// A copy of what /sys and /proc said of machine, settings and tasks; `fairlab record` makes it.
    pub snapshot: Option<Snapshot>,
}

/// A packed archive (.tar.gz) of small files, by their paths on the recorded machine.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot(pub Vec<u8>);

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({} bytes)", self.0.len())
    }
}

/// Where the CPUs are, as far as the recording says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// One entry per CPU, by number.
    pub cpus: Vec<CpuPlace>,
    /// The caches, and who shares them.
    pub caches: Vec<CacheShare>,
    /// The NUMA nodes.
    pub nodes: Vec<NodeCpus>,
}

/// Where one CPU is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuPlace {
    /// Its number.
    pub cpu: u32,
    /// Its package (`physical_package_id`).
    pub package: Option<u32>,
    /// Its die within the package.
    pub die: Option<u32>,
    /// Its core within the package (`core_id`).
    pub core: Option<u32>,
    /// Its NUMA node.
    pub node: Option<u32>,
    /// The CPUs of its core, itself included (`thread_siblings_list`); empty when not recorded.
    pub thread_siblings: Vec<u32>,
    /// The CPUs of its package (`core_siblings_list`); empty when not recorded.
    pub core_siblings: Vec<u32>,
}

/// One cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheShare {
    /// Its level: 1, 2, 3.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size as recorded: `32K`.
    pub size: String,
    /// The CPUs that share it.
    pub cpus: Vec<u32>,
}

/// One NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCpus {
    /// Its number.
    pub node: u32,
    /// Its memory in KiB.
    pub memory_kib: Option<u64>,
    /// Its CPUs.
    pub cpus: Vec<u32>,
}
