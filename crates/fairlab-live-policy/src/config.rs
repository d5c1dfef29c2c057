//! What does not change while the scheduler runs.

use fairlab_kernel::Features;

use crate::cores::Siblings;

/// Words of 64 CPUs.
pub const WORDS: usize = 16;
/// CPU numbers.
pub const CPUS: usize = WORDS * 64;
/// Last-level caches.
pub const LLCS: usize = 64;
/// Clusters.
pub const CLUSTERS: usize = 256;
/// Threads of a core.
pub const THREADS: usize = 8;
/// No thread, in [`CpuFacts::threads`].
pub const NO_THREAD: u16 = u16::MAX;
/// No such thing, where a number is expected.
pub const NONE: u32 = u32::MAX;

/// What is known of a CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuFacts {
    /// Its last-level cache, as a position in [`Config::llc_span`], or [`NONE`].
    pub llc: u32,
    /// Its cluster, as a position in [`Config::cluster_span`], or [`NONE`].
    pub cluster: u32,
    /// What it shares with the CPUs nearest to it (`sd_share_id`).
    pub share: u32,
    /// The set of CPUs between which `wake_affine` may pull, by number; [`NONE`] for none.
    pub affine: u32,
    /// CPUs of its last-level cache (`sd_llc_size`).
    pub llc_size: u32,
    /// `imbalance_pct` of the domain in which `wake_affine` compares.
    pub imbalance_pct: u32,
    /// Its capacity, of 1024.
    pub capacity: u32,
    /// The queue from which it takes tasks first.
    pub queue: u32,
    /// Its core, by the number of the first thread.
    pub core: u32,
    /// Its node, by number; counted only, never decided by.
    pub node: u32,
    /// The threads of its core, itself included, ascending; [`NO_THREAD`] fills the rest. Numbers, not
    /// bits: siblings are often half the machine apart, and so in different words.
    pub threads: [u16; THREADS],
}

impl CpuFacts {
    /// A CPU of which nothing is known.
    pub const UNKNOWN: Self = Self {
        llc: NONE,
        cluster: NONE,
        share: NONE,
        affine: NONE,
        llc_size: 1,
        imbalance_pct: 117,
        capacity: 1024,
        queue: 0,
        core: NONE,
        node: NONE,
        threads: [NO_THREAD; THREADS],
    };
}

/// The policy and the machine. Read-only data of the BPF program, so that its verifier knows the
/// values and leaves out what this machine does not need.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Length of a slice, ns.
    pub slice_ns: u64,
    /// Ticks a second.
    pub hz: u64,
    /// Words of 64 CPUs that the machine has.
    pub words: u32,
    /// CPU numbers that the machine has.
    pub cpus: u32,
    /// Queues; not more than there may be last-level caches.
    pub queues: u32,
    /// Does a core have several threads?
    pub has_smt: u32,
    /// Does the machine have clusters?
    pub has_clusters: u32,
    /// Every how manieth decision is told to the loader; 0 for none.
    pub record_every: u32,
    /// The thread whose wakeups are lost on purpose, to try the watchdog; 0 for none.
    pub lost_thread: u32,
    /// Are waits, distances and lengths of queues counted?
    pub counts_details: u32,
    /// The CPUs of each last-level cache.
    pub llc_span: [[u64; WORDS]; LLCS],
    /// The CPUs of each cluster.
    pub cluster_span: [[u64; WORDS]; CLUSTERS],
    /// How threads of cores lie apart.
    pub siblings: [Siblings; THREADS],
    /// What is known of each CPU.
    pub facts: [CpuFacts; CPUS],
    /// The switches of the policy. Last, since the shim does not know how many words they are.
    pub features: Features,
}

impl Config {
    /// What is known of `cpu`.
    #[inline(always)]
    #[must_use]
    pub const fn of(&self, cpu: u32) -> &CpuFacts {
        &self.facts[cpu as usize & (CPUS - 1)]
    }

    /// The words of a last-level cache.
    #[inline(always)]
    #[must_use]
    pub const fn llc(&self, llc: u32) -> &[u64; WORDS] {
        &self.llc_span[llc as usize & (LLCS - 1)]
    }

    /// The first thread of the core of `cpu`, itself included, that `is_wanted`.
    #[inline(always)]
    pub fn thread_of(&self, cpu: u32, is_wanted: impl Fn(u32) -> bool) -> Option<u32> {
        for thread in self.of(cpu).threads {
            let thread = u32::from(thread);
            if thread >= self.cpus {
                break;
            }
            if is_wanted(thread) {
                return Some(thread);
            }
        }
        None
    }

    /// The words of a cluster.
    #[inline(always)]
    #[must_use]
    pub const fn cluster(&self, cluster: u32) -> &[u64; WORDS] {
        &self.cluster_span[cluster as usize & (CLUSTERS - 1)]
    }
}
