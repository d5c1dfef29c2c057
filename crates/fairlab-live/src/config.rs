//! From a machine and a kernel's rules to what the BPF program reads.

use fairlab_kernel::Kernel;
use fairlab_live_policy::{
    CLUSTERS, CPUS, Config, CpuFacts, LLCS, NO_THREAD, Siblings, THREADS, WORDS,
};
use fairlab_topology::Domains;
use fairlab_topology::domains::DomainFlags;
use fairlab_units::{CpuId, CpuMask};

use crate::error::LiveError;

/// What the scheduler is told besides the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Length of a slice, ns.
    pub slice_ns: u64,
    /// Ticks a second of the running kernel.
    pub hz: u64,
    /// Every how manieth decision is checked by the host; 0 for none.
    pub record_every: u32,
    /// A thread whose wakeups are lost on purpose, to try the watchdog; 0 for none.
    pub lost_thread: u32,
    /// Count waits, distances and lengths of queues, too? That takes looks at the clock.
    pub counts_details: bool,
}

/// The configuration for the machine of `domains` under the rules of `kernel`.
///
/// # Errors
/// When the machine has more of something than the program has room for.
pub fn config(
    domains: &Domains,
    kernel: &Kernel,
    settings: Settings,
) -> Result<Box<Config>, LiveError> {
    let nr = domains.nr_cpu_ids();
    too_many("CPU numbers", nr, CPUS)?;
    let mut config = Box::new(Config {
        slice_ns: settings.slice_ns,
        hz: settings.hz,
        words: nr.div_ceil(64) as u32,
        cpus: nr as u32,
        queues: 1,
        has_smt: u32::from(domains.switches().smt_present),
        has_clusters: u32::from(domains.switches().cluster_active),
        record_every: settings.record_every,
        lost_thread: settings.lost_thread,
        counts_details: u32::from(settings.counts_details),
        llc_span: [[0; WORDS]; LLCS],
        cluster_span: [[0; WORDS]; CLUSTERS],
        siblings: [Siblings::NONE; THREADS],
        facts: [CpuFacts::UNKNOWN; CPUS],
        features: kernel.features,
    });
    let (mut llcs, mut clusters, mut affine) =
        (Spans::default(), Spans::default(), Spans::default());
    let mut nodes = Spans::default();
    for cpu in (0..nr).map(CpuId::from_index) {
        let cached = domains.cached(cpu);
        let facts = &mut config.facts[cpu.index()];
        facts.share = cached.share_id;
        facts.llc_size = cached.llc_size;
        facts.capacity = domains.capacity_orig(cpu);
        let core = domains.smt_mask(cpu);
        facts.core = core.first().unwrap_or(cpu).0;
        facts.threads = numbers_of(core)?;
        if let Some(llc) = cached.llc {
            facts.llc = llcs.number_of(domains.span(llc));
            facts.queue = facts.llc;
            let local = domains.groups(llc).first();
            if let Some(group) = local.filter(|group| group.flags.has(DomainFlags::CLUSTER)) {
                facts.cluster = clusters.number_of(domains.mask(group.span));
            }
        }
        let node = domains
            .chain(cpu)
            .filter(|id| !domains.domain(*id).flags.has(DomainFlags::NUMA))
            .last();
        facts.node = nodes.number_of(node.map_or(core, |id| domains.span(id)));
        let widest = domains
            .chain(cpu)
            .filter(|id| domains.domain(*id).flags.has(DomainFlags::WAKE_AFFINE))
            .last();
        if let Some(id) = widest {
            facts.affine = affine.number_of(domains.span(id));
            facts.imbalance_pct = domains.domain(id).imbalance_pct;
        }
    }
    too_many("last-level caches", llcs.0.len(), LLCS)?;
    too_many("clusters", clusters.0.len(), CLUSTERS)?;
    llcs.write(&mut config.llc_span);
    clusters.write(&mut config.cluster_span);
    lay_apart(&mut config)?;
    config.queues = (llcs.0.len() as u32).max(1);
    Ok(config)
}

/// Sets of CPUs, each with its position as a number.
#[derive(Default)]
struct Spans(Vec<CpuMask>);

impl Spans {
    fn number_of(&mut self, span: &CpuMask) -> u32 {
        let known = self.0.iter().position(|other| other == span);
        known.unwrap_or_else(|| {
            self.0.push(span.clone());
            self.0.len() - 1
        }) as u32
    }

    fn write(&self, rows: &mut [[u64; WORDS]]) {
        for (row, span) in rows.iter_mut().zip(&self.0) {
            for (word, bits) in row.iter_mut().zip(span.words()) {
                *word = *bits;
            }
        }
    }
}

/// The threads of a core as numbers.
fn numbers_of(threads: &CpuMask) -> Result<[u16; THREADS], LiveError> {
    too_many("threads of a core", threads.weight(), THREADS)?;
    let mut numbers = [NO_THREAD; THREADS];
    for (number, thread) in numbers.iter_mut().zip(threads) {
        *number = thread.0 as u16;
    }
    Ok(numbers)
}

/// Writes down how threads of cores lie apart.
fn lay_apart(config: &mut Config) -> Result<(), LiveError> {
    let mut rows: Vec<Siblings> = Vec::new();
    for cpu in 0..config.cpus {
        let threads = config.of(cpu).threads;
        let above = threads.iter().take_while(|thread| **thread != NO_THREAD);
        for distance in above.filter_map(|thread| u32::from(*thread).checked_sub(cpu)) {
            if distance == 0 {
                continue;
            }
            let row = match rows.iter().position(|row| row.distance == distance) {
                Some(row) => row,
                None => {
                    rows.push(Siblings {
                        distance,
                        ..Siblings::NONE
                    });
                    rows.len() - 1
                }
            };
            rows[row].above[cpu as usize / 64] |= 1 << (cpu % 64);
        }
    }
    too_many("distances between threads of a core", rows.len(), THREADS)?;
    for (row, found) in config.siblings.iter_mut().zip(rows) {
        *row = found;
    }
    Ok(())
}

fn too_many(what: &'static str, number: usize, room: usize) -> Result<(), LiveError> {
    if number > room {
        return Err(LiveError::TooBig { what, number, room });
    }
    Ok(())
}
