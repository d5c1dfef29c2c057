//! The machine on which a trace was made.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use fairlab::topology::{Cpu, Machine, MachineBuilder, Node};
use fairlab::units::{CpuId, CpuMask, NodeId};
use fairlab_machines::{LoadOptions, load, load_archived};
use fairlab_trace::{Recording, Topology};

/// A machine, and how it is known.
pub struct Traced {
    pub machine: Machine,
    /// In words.
    pub known_from: String,
    /// Nothing is known but the number of CPUs.
    pub is_guess: bool,
}

impl Traced {
    /// The CPU of a kernel thread that serves a single one, from its name (`ksoftirqd/3`,
    /// `migration/0`, `kworker/5:1H`): recordings do not carry affinities.
    pub fn cpu_of_kthread(&self, name: &str) -> Option<CpuMask> {
        const PER_CPU: [&str; 7] = [
            "ksoftirqd/",
            "migration/",
            "kworker/",
            "cpuhp/",
            "watchdog/",
            "irq_work/",
            "rcuc/",
        ];
        let rest = PER_CPU.iter().find_map(|key| name.strip_prefix(key))?;
        // `kworker/u8:1` is not bound.
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let cpu = CpuId(digits.parse().ok()?);
        (cpu.index() < self.machine.nr_cpu_ids())
            .then(|| CpuMask::from_cpus(self.machine.nr_cpu_ids(), [cpu]))
    }
}

/// The machine that was asked for, else the one that the recording describes, else as many CPUs as
/// it says or shows.
pub fn of(asked: Option<&str>, recording: &mut Recording) -> Result<Traced> {
    if let Some(reference) = asked {
        return Ok(Traced {
            machine: load(reference, &LoadOptions::default())?,
            known_from: "as asked for".into(),
            is_guess: false,
        });
    }
    if let Some(snapshot) = &recording.metadata().snapshot {
        let name = format!("{} (its snapshot)", recording.name());
        return Ok(Traced {
            machine: load_archived(&name, &snapshot.0)
                .context("the snapshot of the machine in the trace is broken; give --machine")?,
            known_from: "recorded with the trace".into(),
            is_guess: false,
        });
    }
    if let Some(topology) = &recording.metadata().topology
        && !topology.cpus.is_empty()
    {
        return Ok(Traced {
            machine: described(topology)
                .context("the trace describes a machine that cannot be; give --machine")?,
            known_from: "described by the trace".into(),
            is_guess: false,
        });
    }
    let (count, known_from) = match recording.metadata().nr_cpus {
        Some(count) => (count, "the trace tells only the number of CPUs"),
        None => {
            let highest = recording.by_ref().map(|event| event.cpu.0).max();
            recording.rewind()?;
            (
                highest.unwrap_or(0).saturating_add(1),
                "the trace does not tell: as many CPUs as have events",
            )
        }
    };
    let count = count.clamp(1, Machine::MAX_CPUS as u32);
    let cpus = (0..count).map(|id| Cpu {
        llc: Some(0),
        package: Some(0),
        ..Cpu::new(CpuId(id))
    });
    Ok(Traced {
        machine: MachineBuilder {
            name: format!("{count} CPUs"),
            cpus: cpus.collect(),
            source: known_from.into(),
            ..MachineBuilder::default()
        }
        .build()?,
        known_from: format!("{known_from}; taken as cores without SMT that share one LLC"),
        is_guess: true,
    })
}

/// Numbers for keys, in the order of their first use.
#[derive(Default)]
struct Numbers<K>(BTreeMap<K, u32>);

impl<K: Ord> Numbers<K> {
    fn of(&mut self, key: K) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(key).or_insert(next)
    }
}

fn described(topology: &Topology) -> Result<Machine> {
    let mut cores = Numbers::default();
    let cache_of = |cpu: u32, level: u32| {
        topology
            .caches
            .iter()
            .position(|c| c.level == level && c.kind != "Instruction" && c.cpus.contains(&cpu))
            .map(|index| index as u32)
    };
    let last = topology.caches.iter().map(|c| c.level).max();
    let mut cpus = Vec::new();
    for place in &topology.cpus {
        let id = CpuId(place.cpu);
        // Siblings say it best; core numbers are unique only within die and package.
        let core = match (place.thread_siblings.iter().min(), place.core) {
            (Some(&first), _) => cores.of((0, 0, 0, first)),
            (None, Some(core)) => {
                cores.of((1, place.package.unwrap_or(0), place.die.unwrap_or(0), core))
            }
            (None, None) => cores.of((2, 0, 0, place.cpu)),
        };
        let node = topology
            .nodes
            .iter()
            .find(|node| node.cpus.contains(&place.cpu))
            .map_or(place.node.unwrap_or(0), |node| node.node);
        cpus.push(Cpu {
            core,
            cluster: cache_of(place.cpu, 2),
            llc: last
                .and_then(|level| cache_of(place.cpu, level))
                .or(place.package),
            die: place.die,
            package: place.package,
            node: NodeId(node),
            ..Cpu::new(id)
        });
    }
    let mut nodes: Vec<u32> = cpus.iter().map(|cpu| cpu.node.0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let distances = |from: u32| {
        nodes
            .iter()
            .map(|&to| if from == to { 10 } else { 20 })
            .collect()
    };
    Ok(MachineBuilder {
        name: "from the trace".into(),
        nodes: nodes
            .iter()
            .map(|&node| Node {
                id: NodeId(node),
                memory_kb: None,
                distances: distances(node),
            })
            .collect(),
        cpus,
        source: "trace".into(),
        ..MachineBuilder::default()
    }
    .build()?)
}
