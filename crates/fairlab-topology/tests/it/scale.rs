//! The largest machine that a kernel is built for.

use fairlab_kernel::Release;
use fairlab_units::CpuId;

use crate::machines::*;

#[test]
fn the_largest_machine_is_held_in_a_few_kilobytes_per_cpu() {
    let row = |a: usize| {
        (0..64)
            .map(move |b| if a == b { 10 } else { 20 })
            .collect::<Vec<u32>>()
    };
    let rows: Vec<Vec<u32>> = (0..64).map(row).collect();
    let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
    let machine = blocks(8192, 2, 128, 128, &rows);
    let domains = build(&machine, Release::V7_2);
    assert!(
        domains.heap_bytes() < 4096 * 8192,
        "{}",
        domains.heap_bytes()
    );
    let numa = domains.cached(CpuId(8191)).numa.unwrap();
    assert_eq!(domains.groups(numa).len(), 64);
    assert_eq!(
        domains.mask(domains.groups(numa)[1].span).first(),
        Some(CpuId(0))
    );
    assert_eq!(domains.cached(CpuId(8191)).llc_id, 63);
}
