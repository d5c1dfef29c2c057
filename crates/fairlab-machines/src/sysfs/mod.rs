//! A machine from a `/sys` and `/proc` tree.
//!
//! | fact | files below `sys/devices`, first that exists |
//! |---|---|
//! | possible, online, isolated CPUs | `system/cpu/{possible,present,online,isolated}`, else `cpuN/online`, else the folders `cpuN` |
//! | core | `topology/core_cpus*`, `thread_siblings*`, else `/proc/cpuinfo` |
//! | package | `topology/physical_package_id`, else `package_cpus*`, `core_siblings*`, else `/proc/cpuinfo` |
//! | die | `topology/die_cpus*` |
//! | cluster | x86: sharers of the L2; elsewhere `topology/cluster_cpus*` |
//! | LLC | sharers of the CPU's highest cache above L1 (`cache/indexN`) |
//! | nodes | `system/node/nodeN/{cpulist,cpumap,distance,meminfo}`, link `cpuN/nodeN` |
//! | capacity | `cpu_capacity`, else per kind of core from `cpufreq/cpuinfo_max_freq` |
//! | kind of core | `cpu_core/cpus`, `cpu_atom/cpus`, else classes of capacities |
//!
//! `*` stands for `_list` or the mask form of the same file.
//!
//! Without cache files the LLC is unknown: x86 kernels then give such a CPU an MC mask of its own,
//! so MC adds nothing above SMT; the generic rules use the package, or the node where it is
//! smaller.

mod caches;
mod capacity;
mod cpuinfo;
mod nodes;
mod topology;

use std::collections::BTreeSet;

use fairlab_topology::{Cpu, Machine, MachineBuilder, Oddity};
use fairlab_units::{CpuId, CpuMask};

use crate::MachineLoadError;
use crate::archive::numbered;
use crate::groups::Forms;
use crate::tree::Tree;

const CPU: &str = "sys/devices/system/cpu";

/// Reads the tree; `place` is what messages call it, `name` what the machine is called.
pub(crate) fn import(tree: &Tree, place: &str, name: &str) -> Result<Machine, MachineLoadError> {
    let missing = |problem: String| MachineLoadError::Missing {
        place: place.to_owned(),
        problem,
    };
    let mut import = Import {
        tree,
        oddities: Vec::new(),
    };
    let sets = import.cpu_sets().map_err(missing)?;
    let info = cpuinfo::read(tree);
    let arch = info.arch(tree);
    if arch.guessed {
        import.odd(
            "neither proc/cpuinfo nor any file tells the instruction set".to_owned(),
            "the rules of x86 are used".to_owned(),
        );
    }
    let sharing = topology::read(&mut import, &sets.online, &info);
    let caches = caches::read(&mut import, &sets.online, arch.arch);
    let nodes = nodes::read(&mut import, &sets);
    let capacity = capacity::read(&mut import, &sets.online, arch.arch, &info, &sharing);

    let cpus = sets.possible.iter().map(|id| {
        let online = sets.online.test(id);
        Cpu {
            online,
            isolated: sets.isolated.test(id),
            core: sharing.core.get(&id).copied().unwrap_or(id.0),
            cluster: caches.cluster(arch.arch, id, &sharing),
            llc: caches.llc.get(&id).copied(),
            die: sharing.die.get(&id).copied(),
            package: sharing.package.get(&id).copied(),
            node: nodes.of(id),
            capacity: capacity.of(id),
            kind: capacity.kind(id),
            max_freq_khz: capacity.max_freq_khz.get(&id).copied(),
            ..Cpu::new(id)
        }
    });
    let builder = MachineBuilder {
        name: name.to_owned(),
        model: info.model.clone(),
        arch: arch.arch,
        amd_epyc: info.amd_zen,
        capacity_source: capacity.source,
        cpus: cpus.collect(),
        nodes: nodes.nodes.clone(),
        caches: caches.caches.clone(),
        // Such a description does not say what CPUs consume.
        energy: Vec::new(),
        boot_smt: import.boot_smt(),
        oddities: import.oddities,
        source: place.to_owned(),
    };
    builder
        .build()
        .map_err(|problem| MachineLoadError::Contradiction {
            place: place.to_owned(),
            problem,
        })
}

/// The tree, and what was odd about it so far.
struct Import<'a> {
    tree: &'a Tree,
    oddities: Vec<Oddity>,
}

/// Which CPUs there are.
struct CpuSets {
    possible: CpuMask,
    online: CpuMask,
    isolated: CpuMask,
}

impl Import<'_> {
    fn odd(&mut self, what: String, action: String) {
        self.oddities.push(Oddity { what, action });
    }

    fn cpu_file(&self, cpu: CpuId, file: &str) -> Option<String> {
        self.tree.read(&format!("{CPU}/cpu{cpu}/{file}"))
    }

    /// A CPU list in a file; an unreadable one is an oddity and counts as absent.
    fn list(&mut self, path: &str) -> Option<CpuMask> {
        let text = self.tree.read(path)?;
        match CpuMask::parse_list(&text, Machine::MAX_CPUS) {
            Ok(mask) => Some(mask),
            Err(e) => {
                self.odd(format!("{path}: {e}"), "the file was not used".to_owned());
                None
            }
        }
    }

    fn cpu_sets(&mut self) -> Result<CpuSets, String> {
        let folders: BTreeSet<CpuId> = self
            .tree
            .list(CPU)
            .iter()
            .filter(|n| numbered(n, "cpu"))
            .filter_map(|n| n[3..].parse().ok())
            .map(CpuId)
            .collect();
        if let Some(cpu) = folders.last().filter(|c| c.index() >= Machine::MAX_CPUS) {
            let most = Machine::MAX_CPUS;
            return Err(format!(
                "{CPU}/cpu{cpu}: CPU numbers below {most} are accepted"
            ));
        }
        let room = folders.last().map_or(1, |c| c.index() + 1);
        let folders = CpuMask::from_cpus(room, folders);
        let possible = self.list(&format!("{CPU}/possible"));
        let present = self.list(&format!("{CPU}/present"));
        let online = self.list(&format!("{CPU}/online"));
        if folders.is_empty() && online.is_none() {
            return Err(format!(
                "no CPU is described: {CPU}/cpuN, {CPU}/possible and {CPU}/online are all missing"
            ));
        }
        let online = match online {
            Some(mask) => mask,
            None => self.online_by_cpu(&folders),
        };
        if online.is_empty() {
            return Err(format!(
                "no CPU is online according to {CPU}/online and cpuN/online"
            ));
        }
        let mut all = possible.clone().unwrap_or_default();
        for mask in [present.as_ref(), Some(&online)].into_iter().flatten() {
            all.or_with(mask);
        }
        if possible.is_none() {
            all.or_with(&folders);
        } else if let Some(stated) = possible
            && !online.is_subset(&stated)
        {
            self.odd(
                format!("CPUs {online} are online, but only {stated} are possible"),
                "the online CPUs were taken as possible".to_owned(),
            );
        }
        let isolated = self.list(&format!("{CPU}/isolated")).unwrap_or_default();
        Ok(CpuSets {
            possible: all,
            online,
            isolated,
        })
    }

    /// Without the list of online CPUs: those whose own file does not say 0.
    fn online_by_cpu(&self, folders: &CpuMask) -> CpuMask {
        let is_online = |cpu: &CpuId| {
            self.cpu_file(*cpu, "online")
                .is_none_or(|text| text.trim() != "0")
        };
        let room = folders.last().map_or(1, |c| c.index() + 1);
        CpuMask::from_cpus(room, folders.iter().filter(is_online))
    }

    /// x86: was SMT usable at boot, as far as `smt/control` tells?
    fn boot_smt(&self) -> Option<bool> {
        match self.tree.read(&format!("{CPU}/smt/control"))?.trim() {
            "on" => Some(true),
            "off" | "forceoff" | "notsupported" => Some(false),
            _ => None,
        }
    }

    /// Adds what a CPU's list file and mask file say about its sharers.
    fn add_sharers(&self, forms: &mut Forms, cpu: CpuId, list: &str, mask: &str) {
        let list = self
            .cpu_file(cpu, list)
            .and_then(|t| CpuMask::parse_list(&t, Machine::MAX_CPUS).ok())
            .filter(|m| !m.is_empty());
        let mask = self
            .cpu_file(cpu, mask)
            .and_then(|t| CpuMask::parse_hex(&t, Machine::MAX_CPUS).ok())
            .filter(|m| !m.is_empty());
        if let Some(list) = list {
            forms.lists.insert(cpu, list);
        }
        if let Some(mask) = mask {
            forms.masks.insert(cpu, mask);
        }
    }

    fn number(&self, cpu: CpuId, file: &str) -> Option<i64> {
        self.cpu_file(cpu, file)?.trim().parse().ok()
    }
}
