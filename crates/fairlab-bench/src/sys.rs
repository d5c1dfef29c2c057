//! The tick counter. The one place of this crate with unsafe code.

/// What [`ticks`] counts on this kind of host.
pub const TICK_UNIT: &str = if cfg!(target_arch = "x86_64") {
    "TSC ticks"
} else {
    "ns"
};

/// Ticks of this CPU since some point in the past.
///
/// On x86-64 the time stamp counter, which runs at a constant rate on every CPU since 2008 or so;
/// elsewhere nanoseconds of the monotonic clock. Differences are what counts.
#[cfg(target_arch = "x86_64")]
#[inline]
#[must_use]
#[allow(unsafe_code)]
pub fn ticks() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 CPU, reads no memory and has no precondition.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Ticks since some point in the past: nanoseconds of the monotonic clock on this kind of host.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
#[must_use]
pub fn ticks() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn ticks_do_not_go_back() {
        let first = ticks();
        let later = (0..1000).map(|_| ticks()).max().unwrap();
        assert!(later >= first);
    }
}
