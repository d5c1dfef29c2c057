//! Reading sysfs trees and archives of them.

use fairlab_machines::{LoadOptions, load, summary};
use fairlab_topology::{Arch, CapacitySource, CoreKind, Machine};

use crate::fixture::{Archive, CPU, Folder, NODE, Tree, bzip2, gzip, xz};
use crate::support::{error, groups, loaded};

fn of(tree: &Tree) -> Machine {
    let folder = Folder::new();
    loaded(&folder.tree("m", tree))
}

fn oddities(machine: &Machine) -> String {
    let list: Vec<String> = machine
        .oddities()
        .iter()
        .map(|o| format!("{}: {}", o.what, o.action))
        .collect();
    list.join("\n")
}

#[test]
fn a_tree_gives_cores_llcs_nodes_and_distances() {
    let machine = of(&Tree::machine(8, 2, 4, 4));
    assert_eq!(
        groups(&machine, |c| Some(c.core)),
        ["0-1", "2-3", "4-5", "6-7"]
    );
    assert_eq!(groups(&machine, |c| c.llc), ["0-3", "4-7"]);
    assert_eq!(
        groups(&machine, |c| c.cluster),
        ["0-1", "2-3", "4-5", "6-7"]
    );
    assert_eq!(groups(&machine, |c| c.package), ["0-3", "4-7"]);
    assert_eq!(machine.nodes()[1].distances, [21, 10]);
    assert_eq!(machine.nodes()[0].memory_kb, Some(1 << 20));
    assert_eq!(machine.model(), Some("Test CPU"));
    assert_eq!(machine.arch(), Arch::X86);
    assert_eq!(machine.name(), "m");
    assert!(machine.oddities().is_empty(), "{}", oddities(&machine));
}

#[test]
fn the_host_is_read_below_the_root_that_is_given() {
    let folder = Folder::new();
    folder.tree("root", &Tree::machine(4, 1, 4, 4));
    let options = LoadOptions {
        host_root: folder.path("root"),
    };
    assert_eq!(load("host", &options).unwrap().cpus().len(), 4);
    let options = LoadOptions {
        host_root: folder.path("nowhere"),
    };
    let text = load("host", &options).unwrap_err().to_string();
    assert!(text.contains("no CPU is described"), "{text}");
}

#[test]
fn archives_are_told_by_their_first_bytes_and_equal_the_folder() {
    let tree = Tree::machine(8, 2, 4, 4);
    let folder = Folder::new();
    let wanted = of(&tree);
    let tar = tree.tar("some/folder");
    for (name, bytes) in [
        ("a.bin", tar.clone()),
        ("b.bin", gzip(&tar)),
        ("c.bin", bzip2(&tar)),
        ("d.bin", xz(&tar)),
    ] {
        let machine = loaded(&folder.file(name, bytes));
        assert_eq!(machine.cpus(), wanted.cpus(), "{name}");
        assert_eq!(machine.nodes(), wanted.nodes(), "{name}");
        assert_eq!(machine.caches(), wanted.caches(), "{name}");
        assert!(
            machine.source().ends_with("#some/folder"),
            "{}",
            machine.source()
        );
    }
}

#[test]
fn of_several_trees_the_first_by_path_is_read_unless_one_is_selected() {
    let mut archive = Archive::new();
    archive
        .tree("dump/b/", &Tree::machine(8, 1, 8, 8))
        .tree("dump/a/", &Tree::machine(4, 1, 4, 4));
    let folder = Folder::new();
    let reference = folder.file("two.tar", archive.finish());
    let machine = loaded(&reference);
    assert_eq!(machine.cpus().len(), 4);
    assert!(oddities(&machine).contains("append #dump/b for another"));
    assert_eq!(loaded(&format!("{reference}#b")).cpus().len(), 8);
    assert_eq!(loaded(&format!("{reference}#dump/b")).cpus().len(), 8);
    let text = error(&format!("{reference}#c"));
    assert!(text.contains("it holds dump/a, dump/b"), "{text}");

    folder.tree("dir/x", &Tree::machine(4, 1, 4, 4));
    folder.tree("dir/y", &Tree::machine(8, 1, 8, 8));
    let reference = folder.reference("dir");
    assert_eq!(loaded(&reference).cpus().len(), 4);
    assert_eq!(loaded(&format!("{reference}#y")).cpus().len(), 8);
}

#[test]
fn links_inside_an_archive_are_followed() {
    let tree = Tree::machine(2, 1, 2, 2)
        .without("cpu1/topology")
        .with(
            &format!("{CPU}/cpufreq/policy0/cpuinfo_max_freq"),
            "3000000",
        )
        .with(
            "proc/cpuinfo",
            "processor: 0\nCPU implementer: 0x41\nCPU architecture: 8",
        );
    let mut archive = Archive::new();
    archive
        .tree("m/", &tree)
        .link(&format!("m/{CPU}/cpu1/topology"), "../cpu0/topology")
        .link(&format!("m/{CPU}/cpu0/cpufreq"), "../cpufreq/policy0")
        .link(
            &format!("m/{CPU}/cpu1/cpufreq"),
            "/sys/devices/system/cpu/cpufreq/policy0",
        );
    let folder = Folder::new();
    let machine = loaded(&folder.file("m.tar", archive.finish()));
    assert_eq!(machine.cpus()[1].max_freq_khz, Some(3_000_000));
    assert_eq!(machine.cpus()[1].package, Some(0));
}

#[test]
fn masks_serve_where_lists_are_missing_and_new_names_win() {
    let tree = Tree::machine(4, 2, 4, 4)
        .without("thread_siblings_list")
        .with(&format!("{CPU}/cpu0/topology/thread_siblings"), "00000003")
        .with(&format!("{CPU}/cpu1/topology/thread_siblings"), "00000003")
        .with(&format!("{CPU}/cpu2/topology/core_cpus"), "0000000c")
        .with(&format!("{CPU}/cpu2/topology/thread_siblings"), "00000004")
        .with(&format!("{CPU}/cpu3/topology/core_cpus"), "0000000c");
    assert_eq!(groups(&of(&tree), |c| Some(c.core)), ["0-1", "2-3"]);
}

#[test]
fn offline_and_isolated_cpus_are_known() {
    let tree = Tree::machine(4, 1, 4, 4)
        .with(&format!("{CPU}/possible"), "0-7")
        .with(&format!("{CPU}/online"), "0-2")
        .with(&format!("{CPU}/isolated"), "1");
    let machine = of(&tree);
    assert_eq!(machine.cpus().len(), 8);
    assert_eq!(machine.online().to_string(), "0-2");
    assert_eq!(machine.mask_of(|c| c.isolated).to_string(), "1");
    let old = Tree::machine(4, 1, 4, 4)
        .without("cpu/possible")
        .without("cpu/online")
        .with(&format!("{CPU}/cpu3/online"), "0");
    assert_eq!(of(&old).online().to_string(), "0-2");
}

#[test]
fn without_caches_the_llc_is_unknown_and_said_to_be() {
    let machine = of(&Tree::machine(4, 2, 4, 4).without("/cache/"));
    assert!(machine.cpus().iter().all(|c| c.llc.is_none()));
    assert!(oddities(&machine).contains("no cache is described (4 of 4 CPUs)"));
}

#[test]
fn each_cpu_takes_its_own_highest_cache() {
    let machine = of(&Tree::machine(4, 2, 2, 4)
        .without("cpu2/cache/index1")
        .without("cpu3/cache/index1"));
    assert_eq!(groups(&machine, |c| c.llc), ["0-1", "2-3"]);
}

#[test]
fn clusters_are_the_firmwares_on_arm() {
    let mut tree = Tree::machine(4, 1, 4, 4).with(
        "proc/cpuinfo",
        "processor: 0\nCPU implementer: 0x48\nCPU architecture: 8",
    );
    for cpu in 0..4 {
        let list = if cpu < 2 { "0-1" } else { "2-3" };
        tree = tree
            .with(&format!("{CPU}/cpu{cpu}/topology/cluster_cpus_list"), list)
            .with(&format!("{CPU}/cpu{cpu}/topology/cluster_id"), "7");
    }
    let machine = of(&tree);
    assert_eq!(machine.arch(), Arch::Arm64);
    assert_eq!(groups(&machine, |c| c.cluster), ["0-1", "2-3"]);
    let none = of(&tree.with(&format!("{CPU}/cpu0/topology/cluster_id"), "-1"));
    assert_eq!(none.cpus()[0].cluster, None);
}

#[test]
fn stated_capacities_win_and_tell_the_kinds() {
    let mut tree = Tree::machine(4, 1, 4, 4).with(
        "proc/cpuinfo",
        "processor: 0\nCPU implementer: 0x41\nCPU architecture: 8",
    );
    for (cpu, capacity) in [(0, "400"), (1, "410"), (2, "800"), (3, "1025")] {
        tree = tree.with(&format!("{CPU}/cpu{cpu}/cpu_capacity"), capacity);
    }
    let machine = of(&tree);
    assert_eq!(machine.capacity_source(), CapacitySource::Stated);
    let found: Vec<(u32, CoreKind)> = machine
        .cpus()
        .iter()
        .map(|c| (c.capacity, c.kind))
        .collect();
    assert_eq!(
        found,
        [
            (400, CoreKind::Efficiency),
            (410, CoreKind::Efficiency),
            (800, CoreKind::Medium),
            (1024, CoreKind::Performance),
        ]
    );
    assert!(oddities(&machine).contains("CPU 3: 1025"));
}

#[test]
fn intel_kinds_come_from_the_counters_and_capacities_from_frequencies() {
    let mut tree = Tree::machine(4, 1, 4, 4)
        .with("sys/devices/cpu_core/cpus", "0-1")
        .with("sys/devices/cpu_atom/cpus", "2-3");
    for (cpu, freq) in [
        (0, "5200000"),
        (1, "5000000"),
        (2, "3900000"),
        (3, "3900000"),
    ] {
        tree = tree.with(&format!("{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"), freq);
    }
    let machine = of(&tree);
    assert_eq!(machine.capacity_source(), CapacitySource::Frequency);
    let found: Vec<u32> = machine.cpus().iter().map(|c| c.capacity).collect();
    assert_eq!(
        found,
        [1024, 1024, 768, 768],
        "favoured cores are no kind of their own"
    );
    assert_eq!(machine.cpus()[3].kind, CoreKind::Efficiency);
    let without = of(&tree.without("cpufreq"));
    assert_eq!(without.capacity_source(), CapacitySource::CoreKind);
}

#[test]
fn broken_node_tables_are_repaired_and_recorded() {
    let copies = Tree::machine(4, 1, 4, 4)
        .with(&format!("{NODE}/node1/cpulist"), "0-3")
        .with(&format!("{NODE}/node1/distance"), "10 10")
        .with(&format!("{NODE}/node0/distance"), "10 10");
    let machine = of(&copies);
    assert_eq!(machine.nodes().len(), 1);
    assert!(oddities(&machine).contains("list the same CPUs"));

    let overlap = Tree::machine(4, 1, 2, 2).with(&format!("{NODE}/node1/cpulist"), "1-3");
    let machine = of(&overlap);
    assert_eq!(groups(&machine, |c| Some(c.node.0)), ["0-1", "2-3"]);
    assert!(oddities(&machine).contains("CPUs 1 are listed by several nodes"));

    let homeless = Tree::machine(4, 1, 2, 2).with(&format!("{NODE}/node1/cpulist"), "2");
    let machine = of(&homeless);
    assert_eq!(machine.cpus()[3].node.0, 0);
    assert!(oddities(&machine).contains("CPUs 3 are online and on no node"));

    let no_table = Tree::machine(4, 1, 2, 2).without("/distance");
    let machine = of(&no_table);
    assert_eq!(machine.nodes()[0].distances, [10, 20]);
    assert!(oddities(&machine).contains("no node has a distance file"));

    let short_row = Tree::machine(4, 1, 2, 2).with(&format!("{NODE}/node1/distance"), "21");
    let machine = of(&short_row);
    assert_eq!(machine.nodes()[1].distances, [20, 10]);
    assert!(oddities(&machine).contains("not one number per node"));
}

#[test]
fn sparse_nodes_and_memory_only_nodes_keep_their_numbers() {
    let tree = Tree::machine(4, 1, 4, 4)
        .with(&format!("{NODE}/node8/cpulist"), "")
        .with(&format!("{NODE}/node8/distance"), "80 10")
        .with(&format!("{NODE}/node0/distance"), "10 80");
    let machine = of(&tree);
    let ids: Vec<u32> = machine.nodes().iter().map(|n| n.id.0).collect();
    assert_eq!(ids, [0, 8]);
    assert_eq!(machine.nodes()[1].distances, [80, 10]);
    assert_eq!(summary(&machine).memory_only_nodes, 1);
    assert!(machine.oddities().is_empty(), "{}", oddities(&machine));
}

#[test]
fn a_package_number_of_two_sockets_is_recorded() {
    let mut tree = Tree::machine(4, 1, 2, 2);
    for cpu in 0..4 {
        tree = tree.with(&format!("{CPU}/cpu{cpu}/topology/physical_package_id"), "0");
    }
    let machine = of(&tree);
    assert_eq!(groups(&machine, |c| c.package), ["0-3"]);
    assert!(oddities(&machine).contains("used by two sockets"));
}

#[test]
fn cpuinfo_serves_where_sysfs_has_no_topology() {
    let tree = Tree::machine(2, 1, 2, 2).without("/topology/").with(
        "proc/cpuinfo",
        "processor: 0\nphysical id: 0\ncore id: 5\n\nprocessor: 1\nphysical id: 0\ncore id: 5\n",
    );
    let machine = of(&tree);
    assert_eq!(groups(&machine, |c| Some(c.core)), ["0-1"]);
    assert!(oddities(&machine).contains("taken from proc/cpuinfo"));
}

#[test]
fn zen_raises_the_reclaim_distance() {
    let cpuinfo = "processor: 0\nvendor_id: AuthenticAMD\ncpu family: 25\nmodel name: AMD EPYC";
    let machine = of(&Tree::machine(4, 1, 4, 4).with("proc/cpuinfo", cpuinfo));
    assert_eq!(machine.reclaim_distance(), 32);
}

#[test]
fn smt_control_tells_what_was_usable_at_boot() {
    let tree = Tree::machine(4, 2, 4, 4).with(&format!("{CPU}/smt/control"), "notsupported");
    assert!(!of(&tree).boot_smt());
    assert!(of(&Tree::machine(4, 2, 4, 4)).boot_smt());
}
