//! Removal of useless domains: what it leaves in groups.

use fairlab_kernel::{Feature, Release};
use fairlab_topology::domains::{self, BuildOptions};

use crate::machines::*;

#[test]
fn a_dropped_base_zeroes_the_local_group_from_6_1_on() {
    // No SMT: the SMT domain has one CPU and goes, and the groups of MC are single CPUs.
    let machine = blocks(4, 1, 4, 4, &[&[10]]);
    let flags = |release| {
        let domains = build(&machine, release);
        group_flags(&domains, domain(&domains, 0, 0))
    };
    assert_eq!(flags(Release::V5_15), ["AXNPLS"; 4]);
    for release in [Release::V6_1, Release::V6_6, Release::V6_12, Release::V7_2] {
        assert_eq!(flags(release), [""; 4], "{release}");
    }
}

#[test]
fn only_the_local_group_of_nodes_is_repaired() {
    let machine = blocks(8, 1, 4, 4, &[&[10, 20], &[20, 10]]);
    let flags = |release| {
        let domains = build(&machine, release);
        group_flags(&domains, domain(&domains, 4, 1))
    };
    assert_eq!(flags(Release::V6_1), ["AXNP", "AXNP"]);
    assert_eq!(flags(Release::V6_6), ["AXNPL", "AXNP"]);
    // Without the repair 6.12 leaves them as 6.1 did.
    let kernel = kernel(Release::V6_12).with(Feature::SD_GROUP_FLAGS_REPAIR, false);
    let domains = domains::build(&machine, &kernel, &BuildOptions::default()).unwrap();
    assert_eq!(
        group_flags(&domains, domain(&domains, 4, 1)),
        ["AXNP", "AXNP"]
    );
}

#[test]
fn a_removed_parent_hands_prefer_sibling_down() {
    // 5.4 marks only the DIE level: on node 1 the LLCs see one capacity each. On node 0 the LLC is
    // the node, so its DIE domain takes the flag from MC, is removed, and gives it back.
    let mut parts = blocks(8, 1, 4, 4, &[&[10, 20], &[20, 10]]).to_builder();
    for cpu in &mut parts.cpus {
        cpu.capacity = if cpu.id.0 % 4 < 2 { 512 } else { 1024 };
        cpu.llc = Some(if cpu.id.0 < 4 { 0 } else { cpu.id.0 / 2 });
    }
    let machine = parts.build().unwrap();
    let domains = build(&machine, Release::V5_4);
    assert!(
        chain(&domains, 0).starts_with("MC{0-3} BAXNPL "),
        "{}",
        chain(&domains, 0)
    );
    assert!(
        chain(&domains, 4).starts_with("MC{4-5} BAXNL "),
        "{}",
        chain(&domains, 4)
    );
    // Where every wider domain is asymmetric too, nobody has the flag to give.
    let domains = build(&machine, Release::V6_12);
    assert!(
        chain(&domains, 0).starts_with("MC{0-3} AXNLYF "),
        "{}",
        chain(&domains, 0)
    );
}
