//! Sums over the CPUs of large groups, kept from search to search.
//!
//! Comparing groups asks the same of every CPU, over and over: at the top of a machine of a thousand CPUs
//! that is all that balancing does. Between two searches few CPUs change, so each of them takes its old
//! part out of the sums of its groups and puts its new one in.
//!
//! ```text
//!   CPU 5 changed      core [4 5]      LLC [0..16]     node [0..64]
//!   new - old  ----->  too small  -->  sum += diff --> sum += diff
//! ```
//!
//! The sums are those of a walk over the CPUs to the last bit; a build with assertions compares them.

use alloc::vec;
use alloc::vec::Vec;

use fairlab_topology::Domains;
use fairlab_topology::domains::{DomainFlags, DomainId, SchedGroup};
use fairlab_units::{CpuId, CpuMask, PerCpu};

use super::capacity::{cpu_util, is_overutilized};
use super::cost::BalanceCost;
use super::env::Env;
use super::group_stats::RootFlags;
use super::llc;
use super::state::BalanceState;
use super::view::{BalanceOps, BalanceView};

/// Groups of fewer CPUs are walked: that costs no more than keeping their sums, as long as the machine is
/// small enough for its CPUs to be in the caches.
const fn smallest(nr_cpus: usize) -> u32 {
    if nr_cpus < 64 { 8 } else { 2 }
}

/// No sum is kept.
const NONE: u32 = u32::MAX;

/// What comparisons of groups ask of a CPU, or the total over a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub load: u64,
    pub util: u64,
    pub runnable: u64,
    pub nr_running: u32,
    pub h_nr_running: u32,
    /// CPUs with more than one task.
    pub crowded: u32,
    pub overutilized: u32,
    pub idle: u32,
    pub nr_numa: u32,
    pub nr_preferred: u32,
    /// CPUs that other classes or pressure have taken capacity from.
    pub reduced: u32,
}

impl Sum {
    fn of_cpu<V: BalanceView + ?Sized>(
        env: &Env<'_>,
        view: &V,
        state: &BalanceState,
        cpu: CpuId,
    ) -> Self {
        let nr_running = view.nr_running(cpu);
        let original = u64::from(env.domains.capacity_orig(cpu));
        Self {
            load: env.load(view, cpu),
            util: cpu_util(env, view, cpu),
            runnable: view.runnable_avg(cpu),
            nr_running,
            h_nr_running: env.h_nr(view, cpu),
            crowded: u32::from(nr_running > 1),
            overutilized: u32::from(is_overutilized(env, view, state, cpu)),
            idle: u32::from(nr_running == 0 && view.is_idle(cpu)),
            nr_numa: view.nr_numa_running(cpu),
            nr_preferred: view.nr_preferred_running(cpu),
            reduced: u32::from(state.capacity_of(cpu) != original),
        }
    }

    /// Replaces the part `old` by `new`. Exact, since `old` is in the sum.
    fn replace(&mut self, old: &Self, new: &Self) {
        let wide = |sum: &mut u64, old: u64, new: u64| *sum = sum.wrapping_sub(old) + new;
        let narrow = |sum: &mut u32, old: u32, new: u32| *sum = sum.wrapping_sub(old) + new;
        wide(&mut self.load, old.load, new.load);
        wide(&mut self.util, old.util, new.util);
        wide(&mut self.runnable, old.runnable, new.runnable);
        narrow(&mut self.nr_running, old.nr_running, new.nr_running);
        narrow(&mut self.h_nr_running, old.h_nr_running, new.h_nr_running);
        narrow(&mut self.crowded, old.crowded, new.crowded);
        narrow(&mut self.overutilized, old.overutilized, new.overutilized);
        narrow(&mut self.idle, old.idle, new.idle);
        narrow(&mut self.nr_numa, old.nr_numa, new.nr_numa);
        narrow(&mut self.nr_preferred, old.nr_preferred, new.nr_preferred);
        narrow(&mut self.reduced, old.reduced, new.reduced);
    }
}

/// The sums of all large groups.
#[derive(Clone, Debug)]
pub(super) struct GroupSums {
    /// By number of the mask: which of the totals is its own.
    total_of: Vec<u32>,
    totals: Vec<Sum>,
    /// What of each CPU is in the totals.
    parts: PerCpu<Sum>,
    /// The totals that each CPU is part of, CPU after CPU, and where those of a CPU begin.
    shares: Vec<u32>,
    first_share: Vec<u32>,
    /// CPUs of which anything may have changed since their parts were taken.
    changed: CpuMask,
}

impl GroupSums {
    /// The sums of nothing yet: every CPU counts as changed.
    pub(super) fn new(domains: &Domains) -> Self {
        let nr = domains.nr_cpu_ids();
        let ids = (0..domains.domains().len()).map(|i| domains.groups(DomainId(i as u32)));
        let mut total_of = Vec::new();
        let mut masks = Vec::new();
        for group in ids.flatten().filter(|group| group.weight >= smallest(nr)) {
            let index = group.span.0 as usize;
            if total_of.len() <= index {
                total_of.resize(index + 1, NONE);
            }
            if total_of[index] == NONE {
                total_of[index] = masks.len() as u32;
                masks.push(domains.mask(group.span));
            }
        }
        let mut of_cpu = vec![Vec::new(); nr];
        for (total, mask) in masks.iter().enumerate() {
            for cpu in *mask {
                of_cpu[cpu.index()].push(total as u32);
            }
        }
        let mut first_share = vec![0];
        let mut shares = Vec::new();
        for totals in &of_cpu {
            shares.extend(totals);
            first_share.push(shares.len() as u32);
        }
        Self {
            total_of,
            totals: vec![Sum::default(); masks.len()],
            parts: PerCpu::from_fn(nr, |_| Sum::default()),
            shares,
            first_share,
            changed: CpuMask::full(nr),
        }
    }

    fn index_of(&self, group: &SchedGroup) -> Option<usize> {
        let index = *self.total_of.get(group.span.0 as usize)?;
        (index != NONE).then_some(index as usize)
    }

    /// Is there a sum of any of these groups?
    fn has_any(&self, groups: &[SchedGroup]) -> bool {
        groups.iter().any(|group| self.index_of(group).is_some())
    }

    fn update(&mut self, cpu: CpuId, new: &Sum) {
        let old = self.parts[cpu];
        if old == *new {
            return;
        }
        let range = cpu.index()..cpu.index() + 2;
        let Some([first, end]) = self.first_share.get(range) else {
            return;
        };
        for total in &self.shares[*first as usize..*end as usize] {
            self.totals[*total as usize].replace(&old, new);
        }
        self.parts[cpu] = *new;
    }

    /// The capacity of `cpu` has changed.
    pub(super) fn note_capacity(&mut self, cpu: CpuId) {
        self.changed.set(cpu);
    }
}

/// Can this search take sums of groups instead of walking over their CPUs? Then they are brought up to
/// date.
pub(super) fn refresh<O: BalanceOps + ?Sized>(
    env: &Env<'_>,
    ops: &mut O,
    state: &mut BalanceState,
) -> bool {
    // These ask more of a CPU than is summed.
    let is_plain = !env.flag(DomainFlags::ASYM_CPUCAPACITY)
        && !env.domains.switches().asym_cpucapacity
        && llc::of(env, env.dst_cpu).is_none();
    if !is_plain || !state.sums.as_ref().is_some_and(|s| s.has_any(env.groups)) {
        return false;
    }
    let Some(mut sums) = state.sums.take() else {
        return false;
    };
    let is_known = ops.take_changed(&mut sums.changed);
    if is_known {
        let words = sums.changed.words().len();
        for word in 0..words {
            let mut left = core::mem::take(&mut sums.changed.words_mut()[word]);
            while left != 0 {
                let cpu = CpuId(word as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
                // A mask has room for more CPUs than there are.
                if cpu.index() < env.domains.nr_cpu_ids() {
                    sums.update(cpu, &Sum::of_cpu(env, ops, state, cpu));
                }
            }
        }
    }
    state.sums = Some(sums);
    is_known
}

/// Gathers the statistics of `group`: takes its sum where this search can, and walks over its CPUs where
/// not.
pub(super) fn gather<S: Copy + PartialEq + core::fmt::Debug>(
    env: &Env<'_>,
    state: &BalanceState,
    group: &SchedGroup,
    (stats, root, cost): (&mut S, &mut RootFlags, &mut BalanceCost),
    take: impl FnOnce(&mut S, &Sum, &mut RootFlags),
    walk: impl FnOnce(&mut S, &mut RootFlags, &mut BalanceCost),
) {
    let Some(sum) = of(env, state, group) else {
        return walk(stats, root, cost);
    };
    let (mut walked, mut walked_root) = (*stats, *root);
    cost.group_cpus += group.weight;
    take(stats, sum, root);
    if cfg!(debug_assertions) {
        let mut touched = BalanceCost::default();
        walk(&mut walked, &mut walked_root, &mut touched);
        let walked = (walked, walked_root, touched.group_cpus);
        assert_eq!(
            (*stats, *root, group.weight),
            walked,
            "a sum is that of a walk"
        );
    }
}

/// The sum over the CPUs of `group`, if this search can take it.
fn of<'s>(env: &Env<'_>, state: &'s BalanceState, group: &SchedGroup) -> Option<&'s Sum> {
    if !env.has_sums {
        return None;
    }
    let sums = state.sums.as_ref()?;
    let sum = &sums.totals[sums.index_of(group)?];
    // Where capacity is reduced it matters which CPU lacks how much.
    (sum.reduced == 0).then_some(sum)
}
