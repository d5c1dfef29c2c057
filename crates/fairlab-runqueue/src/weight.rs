//! Load weights, and time weighted by them.

/// Bits by which the kernel scales weights up on 64-bit (`SCHED_FIXEDPOINT_SHIFT`).
const SCALE_SHIFT: u32 = 10;

/// A load weight on the kernel's 64-bit scale: 1024 times the number of the nice table.
///
/// # Units
/// `load.weight`: a nice-0 task has 1048576 (`NICE_0_LOAD`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
#[doc(alias = "load_weight")]
pub struct Weight(pub u64);

/// Weights of nice -20 to 19, unscaled.
///
/// # Source
/// Linux v5.4 to v7.2 `kernel/sched/core.c`, `sched_prio_to_weight`.
#[doc(alias = "sched_prio_to_weight")]
pub const NICE_TO_WEIGHT: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// Inverses of [`NICE_TO_WEIGHT`]: about `2^32 / weight`.
///
/// # Source
/// Linux v5.4 to v7.2 `kernel/sched/core.c`, `sched_prio_to_wmult`.
#[doc(alias = "sched_prio_to_wmult")]
pub const NICE_TO_WMULT: [u32; 40] = [
    48388, 59856, 76040, 92818, 118348, 147320, 184698, 229616, 287308, 360437, 449829, 563644,
    704093, 875809, 1099582, 1376151, 1717300, 2157191, 2708050, 3363326, 4194304, 5237765,
    6557202, 8165337, 10153587, 12820798, 15790321, 19976592, 24970740, 31350126, 39045157,
    49367440, 61356676, 76695844, 95443717, 119304647, 148102320, 186737708, 238609294, 286331153,
];

/// Unscaled weight of a `SCHED_IDLE` task and of an idle group.
#[doc(alias = "WEIGHT_IDLEPRIO")]
pub const IDLE_WEIGHT: u32 = 3;

/// Inverse of [`IDLE_WEIGHT`].
#[doc(alias = "WMULT_IDLEPRIO")]
pub const IDLE_WMULT: u32 = 1_431_655_765;

impl Weight {
    /// A nice-0 task (`NICE_0_LOAD`).
    #[doc(alias = "NICE_0_LOAD")]
    pub const NICE_0: Self = Self(1024 << SCALE_SHIFT);

    /// A `SCHED_IDLE` task or an idle group.
    pub const IDLE: Self = Self((IDLE_WEIGHT as u64) << SCALE_SHIFT);

    /// Nothing; the weight of an empty queue.
    pub const ZERO: Self = Self(0);

    /// The weight of a task with nice value `nice`; values out of -20..=19 count as the nearest.
    #[must_use]
    pub const fn of_nice(nice: i8) -> Self {
        Self((NICE_TO_WEIGHT[nice_index(nice)] as u64) << SCALE_SHIFT)
    }

    /// The weight whose number in the nice table would be `w`.
    #[must_use]
    pub const fn from_unscaled(w: u32) -> Self {
        Self((w as u64) << SCALE_SHIFT)
    }

    /// The number of the nice table: at least 2 unless the weight is zero.
    ///
    /// # Source
    /// Linux v5.4 to v7.2 `kernel/sched/sched.h`, `scale_load_down()`.
    #[inline]
    #[must_use]
    #[doc(alias = "scale_load_down")]
    pub const fn unscaled(self) -> u64 {
        let w = self.0 >> SCALE_SHIFT;
        if self.0 != 0 && w < 2 { 2 } else { w }
    }

    /// The inverse used for sums of weights and for group weights: `floor((2^32-1)/w)`, at least 1.
    ///
    /// # Source
    /// Linux v5.4 to v6.12 `kernel/sched/fair.c`, `__update_inv_weight()`.
    #[inline]
    #[must_use]
    #[doc(alias = "__update_inv_weight")]
    pub const fn sum_inverse(self) -> u32 {
        let w = self.unscaled();
        if w >= u32::MAX as u64 {
            1
        } else if w == 0 {
            u32::MAX
        } else {
            u32::MAX / w as u32
        }
    }
}

impl core::ops::Add for Weight {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// Position of a nice value in the tables.
pub(crate) const fn nice_index(nice: i8) -> usize {
    if nice < -20 {
        0
    } else if nice > 19 {
        39
    } else {
        (nice + 20) as usize
    }
}

/// `delta * weight / load` by multiplication with the inverse of the load.
///
/// # Units
/// `weight` is unscaled; `inverse` is `2^32 / load`, unscaled. Truncates, and loses low bits of the
/// factor when it does not fit in 32 bits, as Linux does.
///
/// # Source
/// Linux v5.4 to v6.12 `kernel/sched/fair.c`, `__calc_delta()`.
#[inline]
#[must_use]
#[doc(alias = "__calc_delta")]
pub const fn weighted_by_inverse(delta: u64, weight: u64, inverse: u32) -> u64 {
    let mut fact = weight;
    let mut shift = 32;
    let excess = 64 - (fact >> 32).leading_zeros();
    fact >>= excess;
    shift -= excess;
    fact *= inverse as u64;
    let excess = 64 - (fact >> 32).leading_zeros();
    fact >>= excess;
    shift -= excess;
    ((delta as u128 * fact as u128) >> shift) as u64
}

/// `delta * weight / load` by division.
///
/// # Units
/// Both weights scaled, or both unscaled.
///
/// # Source
/// Linux v7.2 `kernel/sched/fair.c`, `__calc_delta()` for 64-bit. Differs: a product that does not
/// fit in 64 bits (hours of run time at once) is not cut off.
#[inline]
#[must_use]
pub const fn weighted_by_division(delta: u64, weight: u64, load: u64) -> u64 {
    let load = if load == 0 { 1 } else { load };
    match delta.checked_mul(weight) {
        Some(product) => product / load,
        None => (delta as u128 * weight as u128 / load as u128) as u64,
    }
}

/// Weight of a group's entity on one CPU.
///
/// `queue_weight` is the sum of weights on the group's queue there, `load_avg` its decayed load,
/// `tg_load_avg` the load of the group on all CPUs, in which this queue is contained as `contrib`.
///
/// # Units
/// `queue_weight` and `shares` scaled, loads unscaled (PELT load averages of weights).
///
/// # Source
/// Linux v5.6 to v7.2 `kernel/sched/fair.c`, `calc_group_shares()`.
#[must_use]
#[doc(alias = "calc_group_shares")]
pub fn group_shares(
    shares: Weight,
    queue_weight: Weight,
    load_avg: u64,
    tg_load_avg: u64,
    contrib: u64,
) -> Weight {
    let load = queue_weight.unscaled().max(load_avg);
    let total = tg_load_avg.saturating_sub(contrib) + load;
    let product = shares.0.saturating_mul(load);
    let share = product.checked_div(total).unwrap_or(product);
    Weight(share.clamp(2, shares.0.max(2)))
}
