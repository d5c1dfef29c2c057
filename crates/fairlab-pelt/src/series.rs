//! The geometric series behind every signal: decay, and the contribution of a span of time.

/// Length of a period in units of 1024 ns.
pub const PERIOD_UNITS: u32 = 1024;

/// Length of a period in nanoseconds: 1024 units of 1024 ns.
pub const PERIOD_NS: u64 = 1 << 20;

/// Periods after which a contribution counts half (`y^32 = 1/2`).
#[doc(alias = "LOAD_AVG_PERIOD")]
pub const HALF_LIFE_PERIODS: u64 = 32;

/// The largest sum of a signal that is always 1: `1024 * (1 + y + y^2 + ...)` as the kernel's
/// truncating arithmetic reaches it.
pub const LOAD_AVG_MAX: u32 = 47_742;

/// The smallest divisor of a sum: everything but the open period, which may have just begun.
#[doc(alias = "PELT_MIN_DIVIDER")]
pub const MIN_DIVIDER: u32 = LOAD_AVG_MAX - PERIOD_UNITS;

/// After this many periods even a 64-bit sum has shrunk to nothing.
const MAX_DECAY_PERIODS: u64 = HALF_LIFE_PERIODS * 63;

/// `y^n * (2^32 - 1)`, rounded down: fractions of 2^32 that fit in 32 bits. Entry 0 is therefore not
/// quite 1, and a decay by no period, or by a multiple of 32, loses one unit in the last place.
#[doc(alias = "runnable_avg_yN_inv")]
const Y_POWERS: [u32; 32] = [
    0xffff_ffff,
    0xfa83_b2da,
    0xf525_7d14,
    0xefe4_b99a,
    0xeac0_c6e6,
    0xe5b9_06e6,
    0xe0cc_deeb,
    0xdbfb_b796,
    0xd744_fcc9,
    0xd2a8_1d91,
    0xce24_8c14,
    0xc9b9_bd85,
    0xc567_2a10,
    0xc12c_4cc9,
    0xbd08_a39e,
    0xb8fb_af46,
    0xb504_f333,
    0xb123_f581,
    0xad58_3ee9,
    0xa9a1_5ab4,
    0xa5fe_d6a9,
    0xa270_4302,
    0x9ef5_325f,
    0x9b8d_39b9,
    0x9837_f050,
    0x94f4_efa8,
    0x91c3_d373,
    0x8ea4_398a,
    0x8b95_c1e3,
    0x8898_0e80,
    0x85aa_c367,
    0x82cd_8698,
];

/// Decays `sum` over `periods` whole periods: `sum * y^periods`, where `y^32 = 1/2`.
///
/// # Units
/// Any; the result has the unit of `sum`. Truncates, as Linux does.
///
/// # Source
/// Linux v7.2 `kernel/sched/pelt.c`, `decay_load()`. Differs: none.
#[doc(alias = "decay_load")]
#[inline]
#[must_use]
pub const fn decay(sum: u64, periods: u64) -> u64 {
    if periods > MAX_DECAY_PERIODS {
        return 0;
    }
    // At most 2016 / 32 = 63, a valid shift.
    let halved = sum >> (periods / HALF_LIFE_PERIODS);
    let power = Y_POWERS[(periods % HALF_LIFE_PERIODS) as usize];
    // Below 2^64 * 2^32, and the shift brings it back under 2^64.
    ((halved as u128 * power as u128) >> 32) as u64
}

/// What a signal that is always 1 gathers in a span that ends `periods` (at least 1) periods after
/// the one in which it began: `first` units complete the old period, `last` lie in the open one.
///
/// ```text
///    first        periods - 1 whole ones         last
///   |<---->|<------------------------------->|<------>|
/// --o------|--------|-------- ... --|--------|--------o
/// began                                              ends
/// ```
///
/// # Units
/// Units of 1024 ns, in and out.
///
/// # Source
/// Linux v7.2 `kernel/sched/pelt.c`, `__accumulate_pelt_segments()`. Differs: none.
#[doc(alias = "__accumulate_pelt_segments")]
#[inline]
#[must_use]
pub const fn segments(periods: u64, first: u32, last: u32) -> u32 {
    // Both decayed values are below 47742, so nothing is lost by the casts.
    let old = decay(first as u64, periods) as u32;
    // The whole series without its tail and without the open period. `decay(MAX, 1)` is MAX - 1024
    // exactly, which makes this zero for one period.
    let whole = LOAD_AVG_MAX - decay(LOAD_AVG_MAX as u64, periods) as u32 - PERIOD_UNITS;
    old + whole + last
}
