//! The search of a last-level cache, in few steps whatever the machine.
//!
//! A verifier walks through a program once for each combination of values that it cannot tell apart from
//! others, so a search that branches at each word of CPUs and in each pass is walked through many
//! times over. This one looks at all words without a branch, and notes in one number which words of
//! which part have what is looked for; the lowest bit of that number is the answer.
//!
//! ```text
//!   bits  0-15   in the cluster, from the CPU behind the target on
//!   bits 16-31   in the cluster, before
//!   bits 32-47   outside the cluster (everything, where clusters do not count), from there on
//!   bits 48-63   outside the cluster, before
//! ```

use core::hint::black_box;

use fairlab_kernel::Feature;
use fairlab_policy::{Reason, ScanEnd, Surroundings, found_core};
use fairlab_units::CpuId;

use crate::config::{Config, NONE, WORDS};
use crate::request::Request;
use crate::wakeup::Wakeup;

const _: () = assert!(
    WORDS == 16,
    "four parts of a number have a bit for each word"
);

/// What a search knows between its two steps. The shim keeps it where a verifier forgets what was
/// written.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hits {
    /// Where idle cores are, by word and part.
    pub cores: u64,
    /// Where idle CPUs are, by word and part.
    pub cpus: u64,
    /// The CPU around which is searched, or [`NONE`].
    pub target: u32,
    /// Not used.
    pub reserved: u32,
}

impl Hits {
    /// Nothing is searched.
    pub const NONE: Self = Self {
        cores: 0,
        cpus: 0,
        target: NONE,
        reserved: 0,
    };
}

/// Lets `value` be read again from where it is, of which a verifier knows nothing: what it had found out
/// on one way to here does not make it walk the rest once more.
#[inline(always)]
pub(crate) fn forget<T>(value: &mut T) -> &mut T {
    black_box(value)
}

/// One if any bit is set; without a branch, into which a compiler would turn a comparison.
#[inline(always)]
fn any(bits: u64) -> u64 {
    black_box(bits | bits.wrapping_neg()) >> 63
}

/// All bits if `is_so`.
#[inline(always)]
const fn all_if(is_so: bool) -> u64 {
    (is_so as u64).wrapping_neg()
}

/// The bits of word `i` that stand for CPUs from `start` on. Without a branch: one for each word would let
/// a verifier know more about `start` on each way through it.
#[inline(always)]
fn bits_from(start: u32, i: usize) -> u64 {
    let ahead = i64::from(start) - (i * 64) as i64;
    let ahead = ahead & !black_box(ahead >> 63);
    let is_none = black_box((63 - ahead) >> 63) as u64;
    u64::MAX << (ahead & 63) & !is_none
}

/// The place of a search: which of two words' bits come first.
#[derive(Clone, Copy)]
struct Area<'a> {
    config: &'a Config,
    request: &'a Request,
    span: &'a [u64; WORDS],
    cluster: &'a [u64; WORDS],
    /// All bits where clusters count, else none.
    by_cluster: u64,
    /// The CPU from which on others come first.
    start: u32,
}

impl<'a> Area<'a> {
    #[inline(always)]
    fn around(wakeup: &Wakeup<'a>, target: u32) -> Self {
        let (config, request) = (wakeup.config, wakeup.request);
        let facts = config.of(target);
        let by_cluster =
            wakeup.has(Feature::SIS_CLUSTER) && wakeup.has_clusters() && facts.cluster != NONE;
        Self {
            config,
            request,
            span: config.llc(facts.llc),
            cluster: config.cluster(facts.cluster),
            by_cluster: all_if(by_cluster),
            start: target + 1,
        }
    }

    /// The CPUs of word `i`: those in the cluster, and those that come first.
    #[inline(always)]
    fn near_and_behind(&self, i: usize) -> (u64, u64) {
        (self.cluster[i] & self.by_cluster, bits_from(self.start, i))
    }

    /// Where the CPUs of the cache are that `wanted` has, by word and part.
    #[inline(always)]
    fn parts(&self, wanted: &[u64; WORDS]) -> u64 {
        let mut parts = 0;
        for i in 0..self.config.words as usize {
            let i = i & (WORDS - 1);
            let hits = self.span[i] & self.request.allowed[i] & wanted[i];
            let (near, behind) = self.near_and_behind(i);
            let of_word = any(hits & near & behind)
                | any(hits & near & !behind) << 16
                | any(hits & !near & behind) << 32
                | any(hits & !near & !behind) << 48;
            parts |= of_word << i;
        }
        parts
    }

    /// The first CPU of `wanted` by its `parts`, which are not empty, and the pass that finds it: 0 in the
    /// cluster, 1 outside.
    #[inline(always)]
    fn first(&self, parts: u64, wanted: &[u64; WORDS]) -> (u8, CpuId) {
        let at = parts.trailing_zeros();
        let (part, i) = (at / 16, at as usize & (WORDS - 1));
        let (near, behind) = self.near_and_behind(i);
        let (outside, before) = (
            u64::from(part >> 1).wrapping_neg(),
            u64::from(part & 1).wrapping_neg(),
        );
        let hits = self.span[i] & self.request.allowed[i] & wanted[i];
        let hits = hits & (near ^ outside) & (behind ^ before);
        let cpu = CpuId((i * 64) as u32 + hits.trailing_zeros());
        ((part >> 1) as u8, cpu)
    }
}

/// Finds where in the cache of `hits.target` there is what is looked for.
///
/// The hint "some core is idle" is exact here, and budgets are without limit: 64 CPUs cost one look.
#[inline(always)]
pub(crate) fn look(wakeup: &Wakeup<'_>, hits: &mut Hits) {
    let area = Area::around(wakeup, hits.target);
    if wakeup.config.has_smt != 0 {
        hits.cores = area.parts(&wakeup.request.idle_core);
    }
    hits.cpus = area.parts(&wakeup.request.idle);
}

/// The end of the search that found `hits`.
#[inline(always)]
pub(crate) fn choose(wakeup: &Wakeup<'_>, hits: &Hits) -> ScanEnd {
    let area = Area::around(wakeup, hits.target);
    if wakeup.config.has_smt != 0 {
        if hits.cores != 0 {
            let (pass, cpu) = area.first(hits.cores, &wakeup.request.idle_core);
            return found_core(pass, cpu);
        }
        let prev = wakeup.prev_cpu();
        if wakeup.has(Feature::SIS_PREV_SMT)
            && wakeup.share_cache(prev, CpuId(hits.target))
            && let Some(thread) = wakeup.idle_smt(prev, area.span)
        {
            return ScanEnd::found(thread, Reason::PrevSmt);
        }
    }
    if hits.cpus == 0 {
        return ScanEnd::NOTHING;
    }
    let (pass, cpu) = area.first(hits.cpus, &wakeup.request.idle);
    let reason = if pass == 0 {
        Reason::ClusterIdleCpu
    } else {
        Reason::IdleCpu
    };
    ScanEnd::found(cpu, reason)
}
