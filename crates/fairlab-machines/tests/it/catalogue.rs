//! Facts of the built-in machines.

use fairlab_machines::{catalogue, summary};
use fairlab_topology::{Arch, CapacitySource};

use crate::support::{error, groups, loaded};

#[test]
fn every_entry_builds_and_has_its_name() {
    for entry in catalogue::entries() {
        let machine = loaded(entry.name);
        assert_eq!(machine.name(), entry.name);
        assert_eq!(machine.model(), Some(entry.model));
        assert!(machine.oddities().is_empty());
        assert!(!entry.summary.is_empty() && !entry.facts.is_empty());
    }
}

#[test]
fn counts_are_those_of_the_products() {
    // CPUs, cores, LLCs, nodes, packages, clusters
    for (name, counts) in [
        ("power9", (320, 40, 40, 2, 2, 0)),
        ("power9-s924", (192, 24, 24, 2, 2, 0)),
        ("power9-ac922", (160, 40, 20, 2, 2, 0)),
        ("xeon-6248", (80, 40, 2, 2, 2, 40)),
        ("xeon-6248-snc", (80, 40, 2, 4, 2, 40)),
        ("epyc-7713", (256, 128, 16, 2, 2, 128)),
        ("epyc-7713-nps4", (256, 128, 16, 8, 2, 128)),
        ("epyc-9654", (384, 192, 24, 2, 2, 192)),
        ("kunpeng-920", (128, 128, 4, 4, 2, 32)),
        ("graviton-3", (64, 64, 1, 1, 1, 0)),
        ("altra-q80", (160, 160, 0, 2, 2, 80)),
        ("ryzen-5950x", (32, 16, 2, 1, 1, 16)),
        ("hybrid-laptop", (20, 14, 1, 1, 1, 8)),
        ("phone", (8, 8, 1, 1, 1, 0)),
        ("vm-4", (4, 4, 1, 1, 1, 4)),
        ("vm-4-smt", (4, 2, 1, 1, 1, 2)),
        ("ring-4", (8, 8, 4, 4, 4, 8)),
    ] {
        let s = summary(&loaded(name));
        let found = (s.cpus, s.cores, s.llcs, s.nodes, s.packages, s.clusters);
        assert_eq!(found, counts, "{name}");
    }
}

#[test]
fn power9_threads_are_adjacent_and_its_cores_have_llcs_of_their_own() {
    let machine = loaded("power9");
    assert_eq!(machine.arch(), Arch::Ppc64);
    assert_eq!(groups(&machine, |c| Some(c.core))[..2], ["0-7", "8-15"]);
    assert_eq!(groups(&machine, |c| c.llc)[..2], ["0-7", "8-15"]);
    assert_eq!(machine.nodes()[0].distances, [10, 40]);
}

#[test]
fn epyc_raises_the_reclaim_distance_to_its_remote_distance() {
    let machine = loaded("epyc-7713");
    assert_eq!(machine.reclaim_distance(), 32);
    assert_eq!(machine.nodes()[0].distances, [10, 32]);
    assert_eq!(groups(&machine, |c| c.llc)[0], "0-7,128-135");
}

#[test]
fn kunpeng_clusters_are_four_adjacent_cores() {
    let machine = loaded("kunpeng-920");
    assert_eq!(groups(&machine, |c| c.cluster)[..2], ["0-3", "4-7"]);
    assert_eq!(
        groups(&machine, |c| c.llc),
        ["0-31", "32-63", "64-95", "96-127"]
    );
    assert_eq!(machine.nodes()[1].distances, [12, 10, 22, 24]);
}

#[test]
fn the_hybrid_laptop_has_frequency_capacities_and_two_e_clusters() {
    let machine = loaded("hybrid-laptop");
    assert_eq!(machine.capacity_source(), CapacitySource::Frequency);
    assert_eq!(groups(&machine, |c| c.cluster)[6..], ["12-15", "16-19"]);
    assert_eq!(groups(&machine, |c| Some(c.core))[..2], ["0-1", "2-3"]);
}

#[test]
fn a_misspelt_name_gets_the_nearest_names() {
    assert!(
        error("xeon-6284").contains("did you mean xeon-6248"),
        "{}",
        error("xeon-6284")
    );
    assert!(error("powr9").contains("power9"));
    assert!(error("epyc").contains("epyc-7713 or epyc-7713-nps4 or epyc-9654"));
    assert!(!error("completely-different-thing").contains("did you mean"));
}
