//! Domains as text.

use fairlab_kernel::Release;

use crate::machines::*;

#[test]
fn cpus_of_one_shape_are_written_once() {
    let machine = blocks(8, 2, 4, 4, &[&[10, 20], &[20, 10]]);
    let domains = build(&machine, Release::V6_12);
    let text = domains.render(&kernel(Release::V6_12)).to_string();
    let expected = "\
cpu 0-7: all like cpu 0
  sd_llc domain1, sd_llc_size 4, sd_llc_id 0, sd_share_id 0, sd_numa domain2, \
sd_asym_packing none, sd_asym_cpucapacity none
  domain0/name             SMT
  domain0/level            0
  domain0/span             0-1
  domain0/flags            SD_BALANCE_NEWIDLE SD_BALANCE_EXEC SD_BALANCE_FORK SD_WAKE_AFFINE \
SD_SHARE_CPUCAPACITY SD_SHARE_LLC SD_PREFER_SIBLING
  domain0/min_interval     2
  domain0/max_interval     4
  domain0/busy_factor      16
  domain0/imbalance_pct    110
  domain0/cache_nice_tries 0
  domain0/imb_numa_nr      0
  domain0/groups_flags     
  domain0/groups           0:{ span=0 } 1:{ span=1 }
  domain1/name             MC
";
    assert!(text.starts_with(expected), "{text}");
    assert!(
        text.ends_with(
            "  domain2/groups           0:{ span=0-3 cap=4096 } 4:{ span=4-7 cap=4096 }\n"
        )
    );
}

#[test]
fn cpus_without_domains_are_named_together() {
    let mut parts = blocks(8, 2, 8, 8, &[&[10]]).to_builder();
    for cpu in [2, 3, 6] {
        parts.cpus[cpu].isolated = true;
    }
    let domains = build(&parts.build().unwrap(), Release::V6_1);
    let text = domains.render(&kernel(Release::V6_1)).to_string();
    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("cpu"))
        .collect();
    assert_eq!(
        heads,
        [
            "cpu 0-1,4-5: all like cpu 0",
            "cpu 2-3,6: no domains",
            "cpu 7:"
        ]
    );
    assert!(text.contains("SD_SHARE_PKG_RESOURCES") && !text.contains("sd_share_id"));
}

#[test]
fn overlapping_groups_show_their_balance_masks_and_long_rings_are_cut() {
    let line: &[&[u32]] = &[
        &[10, 20, 30, 40],
        &[20, 10, 20, 30],
        &[30, 20, 10, 20],
        &[40, 30, 20, 10],
    ];
    let domains = build(&blocks(16, 1, 4, 4, line), Release::V6_12);
    let kernel = kernel(Release::V6_12);
    let cpus = list("0");
    let text = domains.render(&kernel).of(&cpus).max_groups(2).to_string();
    assert!(
        text.contains("12:{ span=4-15 mask=12-15 cap=12288 }"),
        "{text}"
    );
    assert!(
        text.contains("0:{ span=0 } 1:{ span=1 } ... 2 more"),
        "{text}"
    );
    assert!(text.starts_with("cpu 0:\n"));
    let each = domains.render(&kernel).every_cpu().to_string();
    assert_eq!(
        each.lines().filter(|line| line.starts_with("cpu")).count(),
        16
    );
}
