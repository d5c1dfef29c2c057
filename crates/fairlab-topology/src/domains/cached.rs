//! The values that the kernel caches per CPU (`update_top_cache_domain`).

use core::mem::{offset_of, size_of};

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::CpuId;

use super::{DomainFlags, DomainId, Domains, SharedId};

/// The values that the kernel caches per CPU because every wakeup reads them
/// (`update_top_cache_domain`).
///
/// # Layout
/// One 64-byte line per CPU, aligned to it, and written only when domains are rebuilt.
/// ```text
///   0 llc_id  4 share_id  8 llc_size | 12 llc  20 llc_shared | 28 balance_shared
///  36 numa   44 asym_packing  52 asym_cpucapacity            | 60 four bytes of padding
/// ```
/// - A wakeup asks `llc_id` (and `share_id`) of several *other* CPUs, and the rest only of the CPU
///   it considers; so what is read of others comes first and is dense, and whatever follows on the
///   same decision (`llc`, `llc_shared`, `llc_size`) is already in the line that the question
///   fetched. In both symbol maps of the cluster series the same four reads take two lines.
/// - Nothing that changes between rebuilds is in the line. In the kernel the neighbours of these
///   variables are whatever the linker put there, and a neighbour that another CPU writes makes
///   each of these reads a cache miss: that is the loss that the cluster series saw and cured by
///   moving two definitions. Alignment to the line makes it impossible here: the block's
///   neighbours are the blocks of other CPUs, which are as read-only as itself.
/// - The fields of the slow paths (`numa`, `asym_*`, `balance_shared`) fill the rest of the line.
///   They cost nothing there, and a second line for them would double the footprint.
///
/// The offsets are held by assertions in this file; the bench `layout` measures the placements
/// against each other.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `update_top_cache_domain()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
#[doc(alias = "update_top_cache_domain")]
pub struct CpuCached {
    /// CPUs with equal numbers share the LLC (`sd_llc_id`).
    #[doc(alias = "sd_llc_id")]
    pub llc_id: u32,
    /// CPUs with equal numbers share a cluster, or else the LLC (`sd_share_id`). Equal to `llc_id`
    /// where the release does not know clusters.
    #[doc(alias = "sd_share_id")]
    pub share_id: u32,
    /// Number of CPUs in it, or 1 (`sd_llc_size`).
    #[doc(alias = "sd_llc_size")]
    pub llc_size: u32,
    /// Topmost domain that shares the LLC (`sd_llc`).
    #[doc(alias = "sd_llc")]
    pub llc: Option<DomainId>,
    /// Shared object of `llc` (`sd_llc_shared`).
    #[doc(alias = "sd_llc_shared")]
    pub llc_shared: Option<SharedId>,
    /// `sd_balance_shared` (7.2); equal to `llc_shared` otherwise.
    #[doc(alias = "sd_balance_shared")]
    pub balance_shared: Option<SharedId>,
    /// Lowest NUMA domain (`sd_numa`).
    #[doc(alias = "sd_numa")]
    pub numa: Option<DomainId>,
    /// Topmost domain with ASYM_PACKING (`sd_asym_packing`).
    #[doc(alias = "sd_asym_packing")]
    pub asym_packing: Option<DomainId>,
    /// Lowest domain that sees all capacities (`sd_asym_cpucapacity`).
    #[doc(alias = "sd_asym_cpucapacity")]
    pub asym_cpucapacity: Option<DomainId>,
}

const _: () = {
    assert!(size_of::<CpuCached>() == 64 && align_of::<CpuCached>() == 64);
    assert!(offset_of!(CpuCached, llc_id) == 0);
    assert!(offset_of!(CpuCached, share_id) == 4);
    assert!(offset_of!(CpuCached, llc_size) == 8);
    assert!(offset_of!(CpuCached, llc) == 12);
    assert!(offset_of!(CpuCached, llc_shared) == 20);
    assert!(offset_of!(CpuCached, balance_shared) == 28);
    assert!(offset_of!(CpuCached, numa) == 36);
    assert!(offset_of!(CpuCached, asym_packing) == 44);
    assert!(offset_of!(CpuCached, asym_cpucapacity) == 52);
};

impl CpuCached {
    /// `llc_id` of a CPU that never was part of a build, where ids are dense (7.2; the kernel's -1).
    pub const NO_LLC_ID: u32 = u32::MAX;

    /// The values of a CPU without domains.
    #[must_use]
    pub const fn detached(cpu: CpuId) -> Self {
        Self {
            llc_id: cpu.0,
            share_id: cpu.0,
            llc_size: 1,
            llc: None,
            llc_shared: None,
            balance_shared: None,
            numa: None,
            asym_packing: None,
            asym_cpucapacity: None,
        }
    }
}

/// What `cpu` caches of its chain; `llc_id` in the older style (first CPU of the LLC).
pub(super) fn of_chain(domains: &Domains, cpu: CpuId, kernel: &Kernel) -> CpuCached {
    let mut cached = CpuCached::detached(cpu);
    let flags = |id: &DomainId| domains.domain(*id).flags;
    let lowest = |flag| domains.chain(cpu).find(|id| flags(id).has(flag));
    let run_of = |flag| {
        domains
            .chain(cpu)
            .take_while(|id| flags(id).has(flag))
            .last()
    };

    cached.llc = run_of(DomainFlags::SHARE_LLC);
    if let Some(llc) = cached.llc {
        let domain = domains.domain(llc);
        cached.llc_size = domain.span_weight;
        cached.llc_id = domains.span(llc).first().unwrap_or(cpu).0;
        cached.llc_shared = domain.shared;
    }
    cached.share_id = cached.llc_id;
    if kernel.has(Feature::SD_CLUSTER)
        && let Some(cluster) = lowest(DomainFlags::CLUSTER)
    {
        cached.share_id = domains.span(cluster).first().unwrap_or(cpu).0;
    }
    cached.numa = lowest(DomainFlags::NUMA);
    cached.asym_packing = if kernel.has(Feature::SD_HIGHEST_SKIPS) {
        domains
            .chain(cpu)
            .filter(|id| flags(id).has(DomainFlags::ASYM_PACKING))
            .last()
    } else {
        run_of(DomainFlags::ASYM_PACKING)
    };
    cached.asym_cpucapacity = lowest(if kernel.has(Feature::SD_ASYM_FULL) {
        DomainFlags::ASYM_CPUCAPACITY_FULL
    } else {
        DomainFlags::ASYM_CPUCAPACITY
    });
    cached.balance_shared = cached.llc_shared;
    if kernel.has(Feature::SD_SHARED_TOP)
        && let Some(asym) = cached.asym_cpucapacity
    {
        cached.balance_shared = domains.domain(asym).shared.or(cached.llc_shared);
    }
    cached
}
