//! hwloc XML, hwloc synthetic strings and QEMU options.

use fairlab_machines::summary;
use fairlab_topology::{Arch, CapacitySource, CoreKind};

use crate::fixture::Folder;
use crate::support::{error, groups, loaded};

const PUS: &str = r#"<object type="Core" os_index="0"><object type="PU" os_index="0"/>
<object type="PU" os_index="2"/></object>
<object type="Core" os_index="1"><object type="PU" os_index="1"/>
<object type="PU" os_index="3"/></object>"#;

#[test]
fn schema_1_has_nodes_around_cpus_and_relative_distances() {
    let xml = r#"<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology><object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x7" online_cpuset="0x3">
<info name="Architecture" value="x86_64"/>
<distances nbobjs="2" relative_depth="1" latency_base="10.000000">
<latency value="1.000000"/><latency value="2.100000"/><latency value="2.100000"/>
<latency value="1.000000"/></distances>
<object type="NUMANode" os_index="0" cpuset="0x1" local_memory="1048576">
<object type="Socket" os_index="5"><object type="Cache" depth="3" cache_type="0" cache_size="4096">
<object type="Core"><object type="PU" os_index="0"/></object></object></object></object>
<object type="NUMANode" os_index="4" cpuset="0x2">
<object type="Socket" os_index="6"><object type="Cache" depth="3" cache_type="0">
<object type="Core"><object type="PU" os_index="1"/></object></object></object></object>
</object></topology>"#;
    let folder = Folder::new();
    let machine = loaded(&folder.file("old.xml", xml));
    assert_eq!(groups(&machine, |c| c.llc), ["0", "1", "2"]);
    assert_eq!(machine.online().to_string(), "0-1");
    assert_eq!(machine.cpus().len(), 3, "CPU 2 is possible and offline");
    assert_eq!(machine.cpus()[1].package, Some(6));
    assert_eq!(machine.cpus()[1].node.0, 4);
    assert_eq!(machine.nodes()[0].distances, [10, 21]);
    assert_eq!(machine.nodes()[0].memory_kb, Some(1024));
    assert!(machine.oddities().is_empty(), "{:?}", machine.oddities());
}

#[test]
fn schemas_2_and_3_have_nodes_beside_cpus_and_absolute_distances() {
    let xml = format!(
        r#"<topology version="2.0"><object type="Machine" cpuset="0xf">
<info name="Architecture" value="aarch64"/>
<object type="NUMANode" os_index="0" cpuset="0xf" subtype="DRAM"/>
<object type="NUMANode" os_index="1" cpuset="0xf" subtype="HBM" local_memory="2048"/>
<object type="Package" os_index="0"><info name="CPUModel" value="  Test   CPU "/>
<object type="L3Cache" depth="3" cache_type="0"><object type="Group" subtype="Cluster">{PUS}
</object></object></object></object>
<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
<indexes length="4">0 1 </indexes><u64values length="8">10 17 </u64values>
<u64values length="8">17 10 </u64values></distances2>
<distances2 type="NUMANode" nbobjs="2" kind="6" name="NUMABandwidth" indexing="os">
<indexes length="4">0 1 </indexes><u64values length="8">1 2 3 4</u64values></distances2></topology>"#
    );
    let folder = Folder::new();
    let machine = loaded(&folder.file("new.xml", xml));
    assert_eq!(machine.arch(), Arch::Arm64);
    assert_eq!(machine.model(), Some("Test CPU"));
    assert_eq!(groups(&machine, |c| Some(c.core)), ["0,2", "1,3"]);
    assert_eq!(groups(&machine, |c| c.cluster), ["0-3"]);
    assert_eq!(groups(&machine, |c| Some(c.node.0)), ["0-3"]);
    assert_eq!(machine.nodes()[1].distances, [17, 10]);
    assert_eq!(summary(&machine).memory_only_nodes, 1);
}

#[test]
fn kinds_of_cpus_give_capacities() {
    let xml = format!(
        r#"<topology version="3.0"><object type="Machine"><object type="Package">
<info name="CPUVendor" value="GenuineIntel"/><info name="CPUFamilyNumber" value="6"/>
<object type="L2Cache" cache_type="0">{PUS}</object></object></object>
<cpukind cpuset="0x5" forced_efficiency="0"><info name="CoreType" value="IntelAtom"/>
<info name="FrequencyMaxMHz" value="3000"/></cpukind>
<cpukind cpuset="0xa" forced_efficiency="1"><info name="CoreType" value="IntelCore"/>
<info name="FrequencyMaxMHz" value="4000"/></cpukind></topology>"#
    );
    let folder = Folder::new();
    let machine = loaded(&folder.file("kinds.xml", &xml));
    assert_eq!(machine.capacity_source(), CapacitySource::Frequency);
    assert_eq!(machine.cpus()[0].capacity, 768);
    assert_eq!(machine.cpus()[0].kind, CoreKind::Efficiency);
    assert_eq!(machine.cpus()[1].max_freq_khz, Some(4_000_000));
    assert_eq!(
        groups(&machine, |c| c.cluster),
        ["0-3"],
        "x86: sharers of the L2"
    );
    let without = xml.replace("FrequencyMaxMHz", "Nothing");
    let machine = loaded(&folder.file("without.xml", without));
    assert_eq!(machine.capacity_source(), CapacitySource::CoreKind);
}

#[test]
fn synthetic_strings_are_read_with_types() {
    let machine = loaded("package:2 numa:2 l3:1(size=32MB) l2:2(size=1MB) core:4 pu:2");
    let s = summary(&machine);
    assert_eq!(
        (s.cpus, s.cores, s.clusters, s.llcs, s.nodes, s.packages),
        (64, 32, 8, 4, 4, 2)
    );
    assert_eq!(
        groups(&machine, |c| Some(c.core))[0],
        "0-1",
        "hwloc numbers depth first"
    );
    let l3 = machine.caches().iter().find(|c| c.level == 3).unwrap();
    assert_eq!(
        (l3.size, l3.cpus.to_string()),
        (32 << 20, "0-15".to_owned())
    );
    assert_eq!(summary(&loaded("[numa] pack:2 core:4 pu:1")).nodes, 1);
    assert_eq!(summary(&loaded("2 4 2")).cores, 8);
    let assumed = loaded("package:2 core:4 pu:1");
    assert_eq!(summary(&assumed).llcs, 2);
    assert!(assumed.oddities()[0].what.contains("no cache above L1"));
}

#[test]
fn synthetic_indexes_renumber() {
    let machine = loaded("package:2 l3:1 core:2 pu:1(indexes=0,2,1,3)");
    assert_eq!(groups(&machine, |c| c.package), ["0,2", "1,3"]);
}

#[test]
fn qemu_options_place_cpus_on_nodes() {
    let machine = loaded(
        "-smp 16,sockets=2,dies=1,clusters=1,cores=4,threads=2 -numa node,cpus=0-7,nodeid=0 \
         -numa node,cpus=8-15,nodeid=1 -numa dist,src=0,dst=1,val=21",
    );
    let s = summary(&machine);
    assert_eq!((s.cpus, s.cores, s.nodes, s.packages), (16, 8, 2, 2));
    assert_eq!(machine.nodes()[1].distances, [21, 10]);
    assert_eq!(groups(&machine, |c| Some(c.node.0)), ["0-7", "8-15"]);
}

#[test]
fn qemu_defaults_are_filled_in() {
    let s = summary(&loaded("-smp 8"));
    assert_eq!((s.cpus, s.cores, s.packages), (8, 8, 1));
    let s = summary(&loaded("-smp 8,sockets=2,threads=2"));
    assert_eq!((s.cpus, s.cores, s.packages), (8, 4, 2));
    let hotplug = loaded("qemu-system-x86_64 -m 1G -smp cpus=4,maxcpus=8");
    assert_eq!(hotplug.online().to_string(), "0-3");
    let arm = loaded("-machine virt,gic-version=3 -smp 8,clusters=2,cores=4");
    assert_eq!(arm.arch(), Arch::Arm64);
    assert_eq!(groups(&arm, |c| c.cluster), ["0-3", "4-7"]);
    let by_place = loaded(
        "-smp 4,sockets=2,cores=2 -numa node -numa node -numa cpu,node-id=1,socket-id=0 \
         -numa cpu,node-id=0,socket-id=1",
    );
    assert_eq!(groups(&by_place, |c| Some(c.node.0)), ["0-1", "2-3"]);
    assert_eq!(by_place.cpus()[0].node.0, 1);
}

#[test]
fn mistakes_are_named() {
    for (text, wanted) in [
        ("package:2 wheel:4 pu:2", "`wheel` is no known type"),
        ("package:2 core:0 pu:2", "no count of 1 or more"),
        ("package:2 core:4", "the last item must be pu"),
        ("package:2 package:2 pu:1", "two items for the same level"),
        ("package:9999 core:9999 pu:9999", "more than 8192"),
        ("package:2 l3:1(size=x) core:1 pu:1", "a size is wanted"),
        ("package:2 core:(2 pu:1", "bracket is not closed"),
        (
            "package:1 core:2 pu:1(indexes=0)",
            "1 numbers for 2 objects",
        ),
        ("-smp 8,sockets=3", "is 6, not the 8 CPUs wanted"),
        ("-smp", "needs an argument"),
        ("-smp 8,wheels=3", "unknown key `wheels`"),
        ("-smp 4 -numa node,cpus=0-7", "CPU 7 does not exist"),
        (
            "-smp 4 -numa node,cpus=0-1 -numa node,cpus=1-3",
            "CPU 1 is given to nodes 0 and 1",
        ),
        (
            "-smp 4 -numa dist,src=0,dst=1,val=20",
            "without any -numa node",
        ),
        (
            "-smp 4 -numa node -numa dist,src=0,dst=9,val=20",
            "node 9 is used but not given",
        ),
        (
            "-smp 4 -numa node -numa dist,src=0,dst=0,val=5",
            "10 to 255",
        ),
    ] {
        let message = error(text);
        assert!(message.contains(wanted), "{text}: {message}");
    }
}
