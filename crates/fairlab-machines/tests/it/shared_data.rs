//! The 75 dumps of real machines, against the table in their README.

use std::collections::BTreeMap;
use std::fs;

use fairlab_machines::summary;

use crate::support::{topologies, try_load};

/// CPUs, cores, LLCs, nodes, packages, as the table writes them.
type Counts = [String; 5];

/// Where we differ from the table on purpose: file, our counts, why.
const DIFFERENT: &[(&str, [&str; 5], &str)] = &[
    (
        "hwloc-linux-40intel64-4n10c+pci-conflicts.tar.bz2",
        ["40", "40", "4", "4", "4"],
        "the masks of two CPUs are broken, the lists are not: hwloc reads the masks, we notice",
    ),
    (
        "hwloc-linux-64amd64-4s2n4ca2co.tar.bz2",
        ["64", "32", "8", "8", "4"],
        "family 15h modules: kernels build SMT from thread_siblings, hwloc counts two cores",
    ),
    (
        "hwloc-x86linux-64amd64-4p2n4ca2co.tar.bz2",
        ["64", "32", "8", "8", "4"],
        "family 15h modules, as above",
    ),
    (
        "hwloc-linux-fakeheterocpunuma.tar.bz2",
        ["24", "12", "-", "6", "2"],
        "all nodes that sysfs shows; hwloc drops two that overlap others",
    ),
    (
        "hwloc-linux-nvidiagpunumanodes.tar.bz2",
        ["32", "8", "4", "8", "2"],
        "GPU memory nodes count here; hwloc leaves them out unless asked",
    ),
    (
        "fluxsched-chimera.xml",
        ["64", "32", "8", "4", "1"],
        "the two dies without memory are nodes with CPUs to a kernel; the table counts memory",
    ),
    (
        "hwloc-xml-64intel64-heteromem.xml",
        ["64", "16", "8 (L2)", "8", "1"],
        "a memory-side cache is no last-level cache of CPUs",
    ),
];

fn table(readme: &str) -> BTreeMap<String, Counts> {
    let mut rows = BTreeMap::new();
    for line in readme.lines().filter(|l| l.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() < 9 || cells[2].parse::<u64>().is_err() {
            continue;
        }
        let counts = [4, 5, 6, 7, 8].map(|i| cells[i].to_owned());
        rows.insert(cells[1].trim_matches('`').to_owned(), counts);
    }
    rows
}

#[test]
fn every_dump_loads_with_the_counts_of_the_table() {
    let Some(folder) = topologies() else {
        return;
    };
    let rows = table(&fs::read_to_string(folder.join("README.md")).unwrap());
    assert_eq!(rows.len(), 75, "the table of the README was not understood");
    let mut failures = Vec::new();
    for (file, wanted) in &rows {
        let mut reference = folder.join(file).display().to_string();
        if file == "nriplugins-topology-aware-sysfs.tar.bz2" {
            reference.push_str("#sysfs/desktop");
        }
        let machine = match try_load(&reference) {
            Ok(machine) => machine,
            Err(e) => {
                failures.push(e.to_string());
                continue;
            }
        };
        let s = summary(&machine);
        let llcs = match (s.llcs, s.llc_level) {
            (0, _) => "-".to_owned(),
            (n, Some(2)) => format!("{n} (L2)"),
            (n, _) => n.to_string(),
        };
        let found = [
            s.cpus.to_string(),
            s.cores.to_string(),
            llcs,
            s.nodes.to_string(),
            s.packages.to_string(),
        ];
        let different = DIFFERENT.iter().find(|(name, ..)| name == file);
        let wanted = different.map_or_else(|| wanted.clone(), |d| d.1.map(str::to_owned));
        if found != wanted {
            failures.push(format!("{file}: found {found:?}, wanted {wanted:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn an_archive_of_several_machines_says_which_was_read() {
    let Some(folder) = topologies() else {
        return;
    };
    let file = folder.join("nriplugins-topology-aware-sysfs.tar.bz2");
    let reference = file.display().to_string();
    let machine = try_load(&reference).unwrap();
    assert!(
        machine.oddities()[0]
            .action
            .contains("#sysfs/desktop or #sysfs/server")
    );
    let server = try_load(&format!("{reference}#server")).unwrap();
    assert_eq!(server.mask_of(|c| c.isolated).to_string(), "4-7,60-63");
    let error = try_load(&format!("{reference}#laptop")).unwrap_err();
    assert!(error.to_string().contains("selects no tree"), "{error}");
}
