//! The grammar of short specs.

use fairlab_machines::summary;
use fairlab_topology::{Arch, CapacitySource, CoreKind};
use fairlab_units::{CpuId, NodeId};

use crate::support::{error, groups, loaded};

#[test]
fn sockets_cores_and_threads_are_numbered_cores_first_on_x86() {
    let machine = loaded("2s:3c:2t");
    assert_eq!(
        groups(&machine, |c| Some(c.core)),
        ["0,6", "1,7", "2,8", "3,9", "4,10", "5,11"]
    );
    assert_eq!(groups(&machine, |c| c.package), ["0-2,6-8", "3-5,9-11"]);
    assert_eq!(
        groups(&machine, |c| Some(c.node.0)),
        ["0-2,6-8", "3-5,9-11"]
    );
    assert_eq!(groups(&machine, |c| c.llc), ["0-2,6-8", "3-5,9-11"]);
    assert_eq!(
        groups(&machine, |c| c.cluster).len(),
        6,
        "the x86 cluster is the sharers of the L2"
    );
    assert_eq!(machine.nodes()[0].distances, [10, 20]);
}

#[test]
fn eight_threads_mean_power_and_adjacent_numbers() {
    let machine = loaded("2s:20c:8t");
    assert_eq!(machine.arch(), Arch::Ppc64);
    assert_eq!(machine.cpus().len(), 320);
    assert_eq!(groups(&machine, |c| Some(c.core))[1], "8-15");
}

#[test]
fn every_level_can_be_given() {
    let machine = loaded("2s:4n:2l:8k:4c:1t,arch=arm64,distance=12/21");
    let counts = summary(&machine);
    assert_eq!(
        (
            counts.cpus,
            counts.nodes,
            counts.llcs,
            counts.clusters,
            counts.cores,
            counts.packages
        ),
        (512, 8, 16, 128, 512, 2)
    );
    assert_eq!(
        machine.nodes()[0].distances,
        [10, 12, 12, 12, 21, 21, 21, 21]
    );
    assert_eq!(groups(&machine, |c| c.cluster)[1], "4-7");
}

#[test]
fn a_node_may_hold_several_sockets() {
    let counts = summary(&loaded("1n:2s:4c"));
    assert_eq!((counts.nodes, counts.packages, counts.llcs), (1, 2, 2));
}

#[test]
fn dies_get_an_llc_each() {
    let counts = summary(&loaded("2s:3d:3c:2t"));
    assert_eq!(
        (counts.dies, counts.llcs, counts.cores, counts.cpus),
        (6, 6, 18, 36)
    );
}

#[test]
fn nodes_can_be_interleaved() {
    let machine = loaded("2s:2c:2t;numbering=nodes-interleaved");
    assert_eq!(groups(&machine, |c| Some(c.node.0)), ["0,2,4,6", "1,3,5,7"]);
    assert_eq!(
        groups(&machine, |c| Some(c.core)),
        ["0,4", "1,5", "2,6", "3,7"]
    );
}

#[test]
fn cores_of_different_kinds_stand_in_parentheses() {
    let machine = loaded("1s:(6c@P:2t+2k:4c@E);numbering=threads-adjacent");
    let counts = summary(&machine);
    assert_eq!((counts.cpus, counts.cores, counts.llcs), (20, 14, 1));
    assert_eq!(
        groups(&machine, |c| c.cluster)[5..],
        ["10-11", "12-15", "16-19"]
    );
    assert_eq!(machine.cpus()[0].kind, CoreKind::Performance);
    assert_eq!(machine.cpus()[19].kind, CoreKind::Efficiency);
    assert_eq!(machine.capacity_source(), CapacitySource::CoreKind);
    assert_eq!(counts.capacities, [615, 1024]);
}

#[test]
fn capacities_are_taken_as_stated() {
    let machine = loaded("(4c@325E+3c@821M+1c@1024P);arch=arm64");
    let capacities: Vec<u32> = machine.cpus().iter().map(|c| c.capacity).collect();
    assert_eq!(capacities, [325, 325, 325, 325, 821, 821, 821, 1024]);
    assert_eq!(machine.capacity_source(), CapacitySource::Stated);
}

#[test]
fn offline_isolated_and_memory_only_nodes() {
    let machine = loaded("2s:4c;offline=7;isolated=2-3,5;memory-nodes=1");
    assert!(!machine.cpus()[7].online);
    assert_eq!(machine.mask_of(|c| c.isolated).to_string(), "2-3,5");
    assert_eq!(machine.nodes().len(), 3);
    assert_eq!(machine.nodes()[2].id, NodeId(2));
    assert!(machine.cpu(CpuId(7)).is_some());
}

#[test]
fn caches_have_the_stated_sizes() {
    let machine = loaded("1s:2l:2c:2t;l1d=32K;l2=1M;l3=16M");
    let l3: Vec<String> = machine
        .caches()
        .iter()
        .filter(|c| c.level == 3)
        .map(|c| format!("{} {}", c.cpus, c.size >> 20))
        .collect();
    assert_eq!(l3, ["0-1,4-5 16", "2-3,6-7 16"]);
    assert_eq!(machine.caches().iter().filter(|c| c.level == 2).count(), 4);
}

#[test]
fn a_distance_table_is_taken_row_by_row() {
    let machine = loaded("2s:1c;distances=10/15_22/10");
    assert_eq!(machine.nodes()[0].distances, [10, 15]);
    assert_eq!(machine.nodes()[1].distances, [22, 10]);
}

#[test]
fn mistakes_are_named_with_what_is_accepted() {
    for (spec, wanted) in [
        ("2s:20x", "unknown level letter"),
        ("2s:c", "the count is missing"),
        ("0s:2c", "at least 1"),
        ("2s:2s", "given twice"),
        ("2c:2s", "wrong place"),
        ("2t:2c", "wrong place"),
        ("2s:99999999999c", "too large"),
        ("100s:100c:2t", "more than 8192 CPUs"),
        ("4096s:4096n:4096c", "more than 8192 CPUs"),
        ("2s:4c;flavour=mint", "unknown modifier `flavour`"),
        ("2s:4c;distance=9", "10 to 255"),
        ("2s:4c;distances=10/20", "2 rows of 2 numbers"),
        ("2s:4c;offline=9", "CPUs are 0-7"),
        ("2s:4c;offline=0-7", "no online CPU"),
        ("1s:(4c@2000)", "1 to 1024"),
        ("1s:(4c", "be closed"),
        ("1s:2c:(2t)", "cannot hold a group"),
        ("1s:(4c+)", "empty part"),
        ("2s:4c;arch=vax", "accepted are x86"),
    ] {
        let text = error(spec);
        assert!(text.contains(wanted), "{spec}: {text}");
        assert!(text.starts_with("short spec `"), "{spec}: {text}");
    }
}
