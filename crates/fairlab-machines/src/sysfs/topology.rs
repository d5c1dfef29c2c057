//! Cores, packages, dies and firmware clusters.

use std::collections::BTreeMap;

use fairlab_units::{CpuId, CpuMask};

use super::Import;
use super::cpuinfo::CpuInfo;
use crate::groups::{self, Forms};

/// Group numbers by CPU; a CPU without an entry is not described.
pub(super) struct Sharing {
    pub core: BTreeMap<CpuId, u32>,
    pub package: BTreeMap<CpuId, u32>,
    pub die: BTreeMap<CpuId, u32>,
    pub cluster: BTreeMap<CpuId, u32>,
}

pub(super) fn read(import: &mut Import<'_>, online: &CpuMask, info: &CpuInfo) -> Sharing {
    let mut sharing = Sharing {
        core: relation(
            import,
            online,
            "SMT siblings",
            &[
                ("topology/core_cpus_list", "topology/core_cpus"),
                ("topology/thread_siblings_list", "topology/thread_siblings"),
            ],
            None,
        ),
        package: packages(import, online),
        die: relation(
            import,
            online,
            "dies",
            &[("topology/die_cpus_list", "topology/die_cpus")],
            Some("topology/die_id"),
        ),
        cluster: relation(
            import,
            online,
            "clusters",
            &[("topology/cluster_cpus_list", "topology/cluster_cpus")],
            Some("topology/cluster_id"),
        ),
    };
    if sharing.core.is_empty() {
        from_cpuinfo(import, online, info, &mut sharing);
    }
    modules(import, &sharing.core);
    sharing
}

/// AMD family 15h: the two cores of a module are thread siblings with core numbers of their own.
fn modules(import: &mut Import<'_>, cores: &BTreeMap<CpuId, u32>) {
    let differs = cores.iter().find_map(|(&cpu, &leader)| {
        let own = import.number(cpu, "topology/core_id")?;
        let other = import.number(CpuId(leader), "topology/core_id")?;
        (own != other).then_some((leader, other, cpu, own))
    });
    if let Some((leader, other, cpu, own)) = differs {
        import.odd(
            format!(
                "CPUs {leader} and {cpu} are thread siblings, but their core numbers are {other} and \
                 {own}"
            ),
            "they count as one core, which is how kernels build the SMT level".to_owned(),
        );
    }
}

/// Groups from files that hold sets. Where `id` is given, CPUs whose id is negative (the firmware
/// describes none) are left out.
fn relation(
    import: &mut Import<'_>,
    online: &CpuMask,
    name: &str,
    files: &[(&str, &str)],
    id: Option<&str>,
) -> BTreeMap<CpuId, u32> {
    let mut forms = Forms::default();
    for cpu in online {
        let undefined = |n: i64| n < 0 || n == 65535;
        if id.is_some_and(|id| import.number(cpu, id).is_some_and(undefined)) {
            continue;
        }
        for (list, mask) in files {
            let before = forms.lists.len() + forms.masks.len();
            import.add_sharers(&mut forms, cpu, list, mask);
            if forms.lists.len() + forms.masks.len() > before {
                break;
            }
        }
    }
    groups::from_forms(name, &forms, &mut import.oddities)
}

/// Packages by number, as kernels compare them; by the sets of CPUs where the number is missing or
/// negative.
fn packages(import: &mut Import<'_>, online: &CpuMask) -> BTreeMap<CpuId, u32> {
    let numbers: BTreeMap<CpuId, u32> = online
        .iter()
        .filter_map(|cpu| {
            let id = import.number(cpu, "topology/physical_package_id")?;
            Some((cpu, u32::try_from(id).ok()?))
        })
        .collect();
    let files = [
        ("topology/package_cpus_list", "topology/package_cpus"),
        ("topology/core_siblings_list", "topology/core_siblings"),
    ];
    let by_set = relation(import, online, "packages", &files, None);
    if numbers.len() < by_set.len() {
        return by_set;
    }
    let splits = by_set
        .iter()
        .find(|(cpu, leader)| numbers.get(cpu) != numbers.get(&CpuId(**leader)));
    if let Some((cpu, leader)) = splits {
        import.odd(
            format!(
                "CPUs {leader} and {cpu} are core siblings, but their package numbers are {:?} and {:?}",
                numbers.get(&CpuId(*leader)),
                numbers.get(cpu)
            ),
            "the package numbers were taken".to_owned(),
        );
    }
    let mut leaders: BTreeMap<u32, u32> = BTreeMap::new();
    let merged = numbers.iter().find(|(cpu, package)| {
        let leader = by_set.get(cpu).copied().unwrap_or(cpu.0);
        *leaders.entry(**package).or_insert(leader) != leader
    });
    if let (Some((cpu, package)), false) = (merged, by_set.is_empty()) {
        import.odd(
            format!(
                "package number {package} is used by two sockets: CPU {cpu} is no core sibling of \
                 the others"
            ),
            "they count as one package, as kernels see them".to_owned(),
        );
    }
    numbers
}

/// Dumps of kernels without `topology` folders: `core id` and `physical id` of `/proc/cpuinfo`.
fn from_cpuinfo(import: &mut Import<'_>, online: &CpuMask, info: &CpuInfo, sharing: &mut Sharing) {
    let mut first: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for cpu in online {
        let Some((package, core)) = info.ids.get(&cpu).copied() else {
            continue;
        };
        let leader = *first.entry((package, core)).or_insert(cpu.0);
        sharing.core.insert(cpu, leader);
        sharing.package.insert(cpu, package);
    }
    let (what, action) = if first.is_empty() {
        (
            "no topology files, and no core numbers in proc/cpuinfo",
            "every CPU is a core of its own",
        )
    } else {
        (
            "no topology files",
            "cores and packages were taken from proc/cpuinfo",
        )
    };
    import.odd(what.to_owned(), action.to_owned());
}
