//! How often the memory of a task is scanned.

use fairlab_kernel::Kernel;

/// Memory that is scanned per second at most, MiB (`MAX_SCAN_WINDOW`).
const MAX_SCAN_WINDOW: u64 = 2_560;

/// Parts into which a period is divided when it is adapted (`NUMA_PERIOD_SLOTS`).
const SLOTS: u64 = 10;

/// Tenths of good faults from which on scanning slows down (`NUMA_PERIOD_THRESHOLD`).
const THRESHOLD: u64 = 7;

/// Scans until all of `resident_kb` KiB has been seen.
fn windows(kernel: &Kernel, resident_kb: u64) -> u64 {
    let size_kb = kernel.tunables.numa_scan_size_mb.max(1) * 1024;
    resident_kb.div_ceil(size_kb).max(1)
}

/// Shortest period of a task with `resident_kb` KiB of memory, ms.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `task_scan_min()`, `task_nr_scan_windows()`.
#[doc(alias = "task_scan_min")]
#[must_use]
pub fn scan_min(kernel: &Kernel, resident_kb: u64) -> u64 {
    let size = kernel.tunables.numa_scan_size_mb.max(1);
    let per_second = (MAX_SCAN_WINDOW / size).max(1);
    let period = kernel.tunables.numa_scan_period_min_ms / windows(kernel, resident_kb);
    period.max(1_000 / per_second)
}

/// Longest period of a task with `resident_kb` KiB of memory, ms.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `task_scan_max()`, without groups.
#[doc(alias = "task_scan_max")]
#[must_use]
pub fn scan_max(kernel: &Kernel, resident_kb: u64) -> u64 {
    let period = kernel.tunables.numa_scan_period_max_ms / windows(kernel, resident_kb);
    period.max(scan_min(kernel, resident_kb))
}

/// The period after `period` ms: longer while most faults are local or private, else shorter.
/// `faults` are (shared, private), `locality` (remote, local) pages.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `update_task_scan_period()`.
#[doc(alias = "update_task_scan_period")]
#[must_use]
pub fn next_period(
    kernel: &Kernel,
    resident_kb: u64,
    period: u64,
    faults: (u64, u64),
    locality: (u64, u64),
) -> u64 {
    let (shared, private) = faults;
    let (remote, local) = locality;
    let longest = scan_max(kernel, resident_kb);
    if local + shared == 0 {
        // Nothing is learnt by looking: all is private memory, or none was touched.
        return (period * 2).min(longest);
    }
    let slot = period.div_ceil(SLOTS);
    let local = local * SLOTS / (local + remote).max(1);
    let private = private * SLOTS / (private + shared).max(1);
    let next = if private >= THRESHOLD {
        period + (private - THRESHOLD).max(1) * slot
    } else if local >= THRESHOLD {
        period + (local - THRESHOLD).max(1) * slot
    } else {
        period.saturating_sub((THRESHOLD - local.max(private)) * slot)
    };
    next.clamp(scan_min(kernel, resident_kb), longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_kernel::Release;

    #[test]
    fn periods_follow_the_size_of_the_memory() {
        let kernel = Kernel::of(Release::V6_12);
        let gib = 1 << 20;
        // 256 MiB at a time: one window, 4, 16; never more than ten scans a second.
        let min = [gib / 4, gib, 4 * gib].map(|kb| scan_min(&kernel, kb));
        assert_eq!(min, [1_000, 250, 100]);
        let max = [gib / 4, gib, 4 * gib].map(|kb| scan_max(&kernel, kb));
        assert_eq!(max, [60_000, 15_000, 3_750]);
    }

    #[test]
    fn good_faults_lengthen_the_period_and_bad_ones_shorten_it() {
        let kernel = Kernel::of(Release::V6_12);
        let next = |faults, locality| next_period(&kernel, 100, 2_000, faults, locality);
        assert_eq!(
            next((0, 500), (500, 0)),
            4_000,
            "nothing local, nothing shared"
        );
        // All private: three slots of 200 ms.
        assert_eq!(next((0, 500), (100, 400)), 2_600);
        // Half shared, nine tenths local: two slots.
        assert_eq!(next((250, 250), (50, 450)), 2_400);
        // Half shared, half local: two slots less.
        assert_eq!(next((250, 250), (250, 250)), 1_600);
        // All shared, all remote: it cannot become shorter than the shortest.
        assert_eq!(next((500, 0), (500, 0)), 1_000);
    }
}
