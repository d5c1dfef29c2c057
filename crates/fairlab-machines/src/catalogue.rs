//! Built-in machines, from published facts.
//!
//! Each entry is a short spec plus what a spec cannot say. `facts` tells where the figures come
//! from and what was left out.

use fairlab_topology::Machine;

use crate::short;

/// A built-in machine.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Its name, for `--machine`.
    pub name: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// Where the facts come from, and what is simplified.
    pub facts: &'static str,
    /// The short spec that describes it.
    pub spec: &'static str,
    /// Processor name.
    pub model: &'static str,
    /// Memory of each node in GiB; 0: not stated.
    pub node_memory_gb: u32,
}

/// All built-in machines, in the order in which they are listed.
#[must_use]
pub fn entries() -> &'static [Entry] {
    ENTRIES
}

/// The built-in machine called `name`.
#[must_use]
pub fn get(name: &str) -> Option<Machine> {
    ENTRIES.iter().find(|e| e.name == name)?.machine()
}

impl Entry {
    /// The machine. `None` would be a mistake in the table; a test builds every entry.
    #[must_use]
    pub fn machine(&self) -> Option<Machine> {
        let mut shape = short::shape(self.spec).ok()?;
        self.name.clone_into(&mut shape.name);
        shape.model = Some(self.model.to_owned());
        shape.source = "built-in catalogue".to_owned();
        let mut builder = shape.build().ok()?.to_builder();
        if self.node_memory_gb > 0 {
            for node in &mut builder.nodes {
                node.memory_kb = Some(u64::from(self.node_memory_gb) << 20);
            }
        }
        let nr_cpus = builder.cpus.len();
        builder.energy = crate::energy::of(self.name, nr_cpus);
        builder.build().ok()
    }
}

const ENTRIES: &[Entry] = &[
    Entry {
        name: "power9",
        summary: "2 sockets, 20 cores each, SMT8: 320 CPUs, one LLC per core",
        facts: "The form in which scheduler work on POWER9 with SMT8 is usually discussed. A SMT8 core \
                is fused from two SMT4 halves; firmware reports one core of 8 threads, numbered \
                adjacently, and the two halves share one L2 (512 KiB) and one L3 slice (10 MiB), so \
                the last-level cache is private to the core: idle-core searches look at one core. \
                From v5.9 or so (from memory) powerpc kernels tell the scheduler the halves as SMT \
                siblings where firmware names them; this entry keeps cores of 8 as older kernels do. \
                Node distance 10/40 as PowerNV firmware reports. L1 caches belong to the halves and \
                are left out. No shipped socket has 20 SMT8 cores (a chip has at most 12, or 24 of \
                SMT4): see power9-s924 and power9-ac922 for real boxes.",
        spec: "2s:20l:1c:8t;arch=ppc64;distance=40;l2=512K;l3=10M;line=128",
        model: "POWER9, SMT8",
        node_memory_gb: 0,
    },
    Entry {
        name: "power9-s924",
        summary: "IBM Power S924 class: 2 sockets, 12 SMT8 cores each: 192 CPUs",
        facts: "POWER9 scale-out chip with 12 SMT8 cores, two sockets. Caches and numbering as in \
                power9.",
        spec: "2s:12l:1c:8t;arch=ppc64;distance=40;l2=512K;l3=10M;line=128",
        model: "POWER9, SMT8",
        node_memory_gb: 0,
    },
    Entry {
        name: "power9-ac922",
        summary: "IBM AC922 class: 2 sockets, 20 SMT4 cores each: 160 CPUs, LLC per pair of cores",
        facts: "PowerNV (bare metal) view: SMT4 cores, pairs share L2 and L3. Real firmware numbers \
                the nodes 0 and 8 and adds GPU memory nodes; here they are 0 and 1.",
        spec: "2s:10l:2c:4t;arch=ppc64;distance=40;l1d=32K;l1i=32K;l3=10M;line=128",
        model: "POWER9, SMT4",
        node_memory_gb: 128,
    },
    Entry {
        name: "xeon-6248",
        summary: "2 x Intel Xeon Gold 6248: 20 cores, SMT2: 80 CPUs, LLC per socket",
        facts: "Cascade Lake. Product data: 20 cores, 40 threads, L1 32+32 KiB, L2 1 MiB per core, L3 \
                27.5 MiB per socket. Node distance 10/21 and cores-first numbering as firmware of two \
                socket boards reports them; sub-NUMA clustering off.",
        spec: "2s:20c:2t;distance=21;l1d=32K;l1i=32K;l2=1M;l3=28160K",
        model: "Intel Xeon Gold 6248",
        node_memory_gb: 96,
    },
    Entry {
        name: "xeon-6248-snc",
        summary: "the same with sub-NUMA clustering: 4 nodes, LLC cut at the nodes",
        facts: "As xeon-6248 with SNC-2 on: two nodes a socket at distance 11, the L3 is described per \
                socket and cut at the nodes by kernels.",
        spec: "2s:1l:2n:10c:2t;distance=11/21;l1d=32K;l1i=32K;l2=1M;l3=28160K",
        model: "Intel Xeon Gold 6248",
        node_memory_gb: 48,
    },
    Entry {
        name: "epyc-7713",
        summary: "2 x AMD EPYC 7713: 64 cores, SMT2: 256 CPUs, 8 LLCs per socket",
        facts: "Milan. Product data: 64 cores, 128 threads, 8 CCDs of 8 cores with 32 MiB L3 each, L2 \
                512 KiB, L1 32+32 KiB. NPS1: one node a socket, distance 10/32; kernels raise the \
                reclaim distance to 32 on EPYC.",
        spec: "2s:8l:8c:2t;distance=32;epyc;l1d=32K;l1i=32K;l2=512K;l3=32M",
        model: "AMD EPYC 7713",
        node_memory_gb: 256,
    },
    Entry {
        name: "epyc-7713-nps4",
        summary: "the same with 4 nodes a socket (NPS4): 8 nodes of 2 LLCs",
        facts: "As epyc-7713 with NPS4: distance 12 within the socket, 32 to the other.",
        spec: "2s:4n:2l:8c:2t;distance=12/32;epyc;l1d=32K;l1i=32K;l2=512K;l3=32M",
        model: "AMD EPYC 7713",
        node_memory_gb: 64,
    },
    Entry {
        name: "epyc-9654",
        summary: "2 x AMD EPYC 9654: 96 cores, SMT2: 384 CPUs, 12 LLCs per socket",
        facts: "Genoa. Product data: 96 cores, 192 threads, 12 CCDs of 8 cores with 32 MiB L3 each, L2 1 \
                MiB, L1 32+32 KiB. NPS1, distance 10/32.",
        spec: "2s:12l:8c:2t;distance=32;epyc;l1d=32K;l1i=32K;l2=1M;l3=32M",
        model: "AMD EPYC 9654",
        node_memory_gb: 384,
    },
    Entry {
        name: "kunpeng-920",
        summary: "2 x Huawei Kunpeng 920: 64 cores each in clusters of 4, 4 nodes: 128 CPUs",
        facts: "Two nodes (CPU dies) a socket, each with 32 cores in 8 clusters of 4 and an L3 of 32 MiB; \
                L2 512 KiB and L1 64+64 KiB per core; no SMT. Distances as `numactl -H` of TaiShan 200 \
                servers prints them: 10, 12 on the socket, 20 to 24 across; other firmware reports \
                others (10, 16, 25, 32, 33).",
        spec: "2s:2n:1l:8k:4c;arch=arm64;distances=10/12/20/22_12/10/22/24_20/22/10/12_22/24/12/10;\
               l1d=64K;l1i=64K;l2=512K;l3=32M",
        model: "Kunpeng 920",
        node_memory_gb: 64,
    },
    Entry {
        name: "graviton-3",
        summary: "AWS Graviton3: 64 cores, one node, one LLC: 64 CPUs",
        facts: "Neoverse V1, 64 cores without SMT, L1 64+64 KiB and L2 1 MiB per core, 32 MiB of system \
                level cache shared by all; a metal instance shows one node.",
        spec: "1s:64c;arch=arm64;l1d=64K;l1i=64K;l2=1M;l3=32M",
        model: "AWS Graviton3",
        node_memory_gb: 128,
    },
    Entry {
        name: "altra-q80",
        summary: "2 x Ampere Altra Q80: 80 cores each, no shared LLC described: 160 CPUs",
        facts: "Neoverse N1, 80 cores a socket, L1 64+64 KiB and L2 1 MiB per core. The 32 MiB system level \
                cache is not described to kernels, so the last-level cache is the core's own L2, and the \
                generic rules would cut the MC level down to single CPUs; kernels avoid that where \
                firmware describes clusters of two, as here (CLS and MC are then equal and MC \
                degenerates). Distance 10/20.",
        spec: "2s:40k:2c;arch=arm64;distance=20;llc=none;l1d=64K;l1i=64K;l2=1M",
        model: "Ampere Altra Q80-30",
        node_memory_gb: 256,
    },
    Entry {
        name: "ryzen-5950x",
        summary: "AMD Ryzen 9 5950X: 16 cores, SMT2, 2 LLCs: 32 CPUs",
        facts: "Zen 3 desktop: two CCDs of 8 cores with 32 MiB L3 each, L2 512 KiB, L1 32+32 KiB, one node.",
        spec: "1s:2l:8c:2t;epyc;l1d=32K;l1i=32K;l2=512K;l3=32M",
        model: "AMD Ryzen 9 5950X",
        node_memory_gb: 64,
    },
    Entry {
        name: "hybrid-laptop",
        summary: "Intel i7-1370P class: 6 P cores with SMT2 and 8 E cores in 2 clusters: 20 CPUs",
        facts: "Raptor Lake P. P cores first, threads adjacent; the E cores share an L2 by four; one L3 of \
                24 MiB. Highest frequencies 5.2 and 3.9 GHz, whose ratio gives the E cores' capacity of \
                768. L1 and L2 sizes differ between the kinds and are left out.",
        spec: "1s:(6c@1024P:2t+2k:4c@768E);numbering=threads-adjacent;capacity-source=frequency;l3=24M",
        model: "13th Gen Intel Core i7-1370P",
        node_memory_gb: 32,
    },
    Entry {
        name: "phone",
        summary: "three-tier Arm phone: 4 little, 3 medium, 1 big core: 8 CPUs",
        facts: "The common 1+3+4 layout of Arm phone chips. One L3 (in the DynamIQ unit) shared by all; \
                capacities 325, 821 and 1024 are of the order that device trees of such chips state. \
                The energy model is assumed, with three states per kind of core: power is frequency \
                times voltage squared, 150, 900 and 1,900 mW per core at the top. No SMT; kernels see no clusters inside the unit.",
        spec: "1s:1l:(4c@325E+3c@821M+1c@1024P);arch=arm64;l3=4M",
        model: "three-tier Arm phone",
        node_memory_gb: 8,
    },
    Entry {
        name: "vm-4",
        summary: "small virtual machine: 4 CPUs, one node, one LLC",
        facts: "What most clouds give as 4 vCPUs without SMT exposed: one socket, an L3 shared by all.",
        spec: "1s:4c;l1d=32K;l1i=32K;l2=1M;l3=16M",
        model: "virtual machine",
        node_memory_gb: 16,
    },
    Entry {
        name: "vm-4-smt",
        summary: "the same with 2 cores of 2 threads",
        facts: "What clouds give as 4 vCPUs with SMT exposed; hypervisors number threads adjacently.",
        spec: "1s:2c:2t;numbering=threads-adjacent;l1d=32K;l1i=32K;l2=1M;l3=16M",
        model: "virtual machine",
        node_memory_gb: 16,
    },
    Entry {
        name: "ring-4",
        summary: "4 nodes in a ring, 2 hops: 8 CPUs; for NUMA levels",
        facts: "Not a product: the smallest machine with two NUMA levels and overlapping groups.",
        spec: "4s:2c;distances=10/20/30/20_20/10/20/30_30/20/10/20_20/30/20/10",
        model: "ring of 4 nodes",
        node_memory_gb: 0,
    },
];
