//! Classes of machines, each with one table of costs. The class follows from the machine's facts.

use fairlab_topology::{Arch, CoreKind, Machine};

use super::table::{CostTable, ENTRIES};

/// A class of machines with one table of costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineClass {
    /// x86 with cores of one kind.
    X86Server,
    /// x86 with cores of several kinds.
    X86Hybrid,
    /// arm64 with cores of one kind.
    Arm64Server,
    /// arm64 with cores of several kinds or capacities: phones and the like.
    Arm64Mobile,
    /// POWER.
    Power,
    /// Anything else; has the numbers of x86 servers.
    Generic,
}

/// What a class has instead of the default, and why.
struct Differs {
    entry: &'static str,
    numbers: &'static [u64],
    source: &'static str,
}

const fn differs(entry: &'static str, numbers: &'static [u64], source: &'static str) -> Differs {
    Differs {
        entry,
        numbers,
        source,
    }
}

const X86_HYBRID: &[Differs] = &[
    differs(
        "idle_residency",
        &[0, 4_000, 200_000, 600_000],
        "Polling, C1E, C6 and C8 in the tables of `intel_idle` for Alder Lake (4, 200 and 600 us).",
    ),
    differs(
        "idle_exit",
        &[300, 2_000, 40_000, 80_000],
        "About half of what the tables of `intel_idle` for Alder Lake state as a bound (C6 170 us, C8 200 us).",
    ),
    differs(
        "boost_speed",
        &[1_024, 1_015, 1_000, 985, 965, 950, 935, 920],
        "Turbo tables of Core i7 and i9 of 12th to 14th generation: 5.2 to 5.6 GHz for two cores, 4.9 to 5.1 GHz for all.",
    ),
    differs(
        "llc_bandwidth",
        &[60],
        "The LLC is the package's: two channels of DDR5-4800 deliver 60 to 70 GB/s.",
    ),
    differs(
        "node_bandwidth",
        &[60],
        "Two channels of DDR5-4800 deliver 60 to 70 GB/s of 76.8.",
    ),
];

const ARM64_SERVER: &[Differs] = &[
    differs(
        "ipi",
        &[0, 500, 600, 800, 1_100, 2_000],
        "Published runs of `ipi_benchmark` on ThunderX2 and Kunpeng 920: 0.8 to 1.2 us in a node, 2 us across.",
    ),
    differs(
        "probe",
        &[1, 4, 14, 25, 50, 110],
        "Core-to-core latencies of Kunpeng 920 and Neoverse N1: 30 ns in a cluster, 50 to 60 ns in a node, 200 ns and more across; half overlaps.",
    ),
    differs(
        "shared_object",
        &[0, 40, 120, 230, 450, 900],
        "Eight lines at the same latencies, of which half overlaps.",
    ),
    differs(
        "refill",
        &[0, 0, 20, 55, 130, 260],
        "Reads of lines with 4 outstanding misses at LLC latencies of 30 to 40 ns and memory latencies of 100 to 120 ns.",
    ),
    differs(
        "boost_speed",
        &[1_024],
        "Kunpeng 920, ThunderX2 and Neoverse servers run all cores at one frequency.",
    ),
    differs(
        "idle_residency",
        &[0, 100_000],
        "WFI, and a core power-down state as in device trees of Neoverse platforms.",
    ),
    differs(
        "idle_exit",
        &[500, 20_000],
        "WFI takes well below 1 us to leave; core power-down about 20 us with its restore.",
    ),
    differs(
        "private_cache",
        &[512],
        "Second-level cache of a Kunpeng 920 core: 512 KiB.",
    ),
    differs(
        "cluster_bandwidth",
        &[10],
        "Estimate: STREAM with all 48 cores of a socket of Kunpeng 920 (8 channels of DDR4-2933) delivers 110 to 130 GB/s, through 12 clusters.",
    ),
    differs(
        "llc_bandwidth",
        &[120],
        "The LLC of a node sits beside its memory controllers.",
    ),
];

const ARM64_MOBILE: &[Differs] = &[
    differs(
        "context_switch",
        &[2_500],
        "`perf bench sched pipe` on big cores of phones takes about twice the time of servers.",
    ),
    differs("wakeup", &[1_600], "As for the context switch."),
    differs(
        "ipi",
        &[0, 800, 800, 1_500, 2_000, 2_000],
        "Interrupts through the GIC between clusters of phones: 1 to 2 us.",
    ),
    differs(
        "idle_residency",
        &[0, 1_000_000, 3_000_000],
        "WFI, core and cluster power-down in device trees of HiKey 960 and Snapdragon boards.",
    ),
    differs(
        "idle_exit",
        &[500, 100_000, 400_000],
        "About half of the exit latencies that these device trees state as a bound.",
    ),
    differs(
        "boost_speed",
        &[1_024],
        "The frequency follows utilization, not the number of cores.",
    ),
    differs(
        "lowest_speed",
        &[300],
        "Lowest over highest operating point of the clusters of such chips: 0.2 to 0.35.",
    ),
    differs(
        "private_cache",
        &[256],
        "Second-level caches of phone cores: 128 to 512 KiB.",
    ),
    differs(
        "llc_cache",
        &[2_048],
        "Last-level caches of phones: 1 to 4 MiB.",
    ),
    differs(
        "llc_bandwidth",
        &[12],
        "LPDDR4X with four channels delivers 20 to 25 GB/s, one cluster about half.",
    ),
    differs(
        "node_bandwidth",
        &[22],
        "LPDDR4X with four channels delivers 20 to 25 GB/s.",
    ),
];

const POWER: &[Differs] = &[
    differs(
        "context_switch",
        &[1_500],
        "lmbench `lat_ctx` on Power9: 1.3 to 1.8 us.",
    ),
    differs(
        "probe",
        &[1, 6, 15, 30, 55, 120],
        "Core-to-core latencies of Power9: L3 regions of the chip at 30 to 60 ns, 200 ns and more across.",
    ),
    differs(
        "shared_object",
        &[0, 50, 130, 240, 480, 960],
        "Lines of 128 bytes, so fewer of them, at the same latencies.",
    ),
    differs(
        "smt_speed",
        &[1_024, 780, 610, 520, 420, 360, 315, 280],
        "SMT scaling of Power9 and Power10 as published with SPECrate: two threads do 1.5, four 2.0, eight 2.2 times the work of one.",
    ),
    differs(
        "boost_speed",
        &[1_024, 1_015, 1_005, 995, 985, 975, 965, 955],
        "Workload-optimised frequency of Power9: 3.8 GHz for few cores, 3.5 GHz for all.",
    ),
    differs(
        "idle_residency",
        &[0, 10_000, 200_000],
        "Snooze, stop1 and stop4 as the firmware of Power9 describes them.",
    ),
    differs(
        "idle_exit",
        &[300, 5_000, 100_000],
        "Exit latencies of the same states.",
    ),
    differs(
        "private_cache",
        &[512],
        "Second-level cache of a pair of Power9 cores: 512 KiB.",
    ),
    differs(
        "llc_cache",
        &[10_240],
        "L3 region of a pair of Power9 cores: 10 MiB.",
    ),
    differs(
        "llc_bandwidth",
        &[40],
        "A pair of cores of Power9 reads memory with 30 to 45 GB/s.",
    ),
];

impl MachineClass {
    /// All classes.
    pub const ALL: [Self; 6] = [
        Self::X86Server,
        Self::X86Hybrid,
        Self::Arm64Server,
        Self::Arm64Mobile,
        Self::Power,
        Self::Generic,
    ];

    /// The class of `machine`, from its architecture and kinds of cores.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let mut cpus = machine.cpus().iter().filter(|cpu| cpu.online);
        let first = cpus.next();
        let differs = |cpu: &fairlab_topology::Cpu| {
            first.is_some_and(|first| first.capacity != cpu.capacity || first.kind != cpu.kind)
        };
        let has_kinds = first.is_some_and(|first| first.kind != CoreKind::Uniform);
        let is_mixed = cpus.any(differs) || has_kinds;
        match (machine.arch(), is_mixed) {
            (Arch::X86, false) => Self::X86Server,
            (Arch::X86, true) => Self::X86Hybrid,
            (Arch::Arm64, false) => Self::Arm64Server,
            (Arch::Arm64, true) => Self::Arm64Mobile,
            (Arch::Ppc64, _) => Self::Power,
            _ => Self::Generic,
        }
    }

    /// As files call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86Server => "x86-server",
            Self::X86Hybrid => "x86-hybrid",
            Self::Arm64Server => "arm64-server",
            Self::Arm64Mobile => "arm64-mobile",
            Self::Power => "power",
            Self::Generic => "generic",
        }
    }

    const fn differences(self) -> &'static [Differs] {
        match self {
            Self::X86Server | Self::Generic => &[],
            Self::X86Hybrid => X86_HYBRID,
            Self::Arm64Server => ARM64_SERVER,
            Self::Arm64Mobile => ARM64_MOBILE,
            Self::Power => POWER,
        }
    }

    /// The table of the class.
    #[must_use]
    pub fn table(self) -> CostTable {
        let mut table = CostTable::default();
        for differs in self.differences() {
            let entry = ENTRIES.iter().find(|entry| entry.name == differs.entry);
            let is_set = entry.is_some_and(|entry| entry.set(&mut table, differs.numbers));
            debug_assert!(is_set, "{}", differs.entry);
        }
        table
    }

    /// Where the class's numbers of the entry called `name` come from.
    #[must_use]
    pub fn source(self, name: &str) -> Option<&'static str> {
        let own = self.differences().iter().find(|d| d.entry == name);
        own.map(|d| d.source)
            .or_else(|| Some(ENTRIES.iter().find(|entry| entry.name == name)?.source))
    }
}
