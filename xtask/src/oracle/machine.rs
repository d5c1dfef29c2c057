//! The machine of a recording: from the `inputs` of a `machine.json` or `domains/*.json`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use fairlab_topology::{Arch, Cpu, Machine, MachineBuilder, Node};
use fairlab_units::{CpuId, CpuMask, NodeId};
use serde::Deserialize;

/// What sysfs said about the machine.
#[derive(Deserialize)]
pub struct Inputs {
    /// Lists by the names of `/sys/devices/system/cpu`.
    pub cpu_masks: BTreeMap<String, String>,
    node_masks: BTreeMap<String, String>,
    cpus: BTreeMap<u32, CpuInputs>,
    nodes: BTreeMap<u32, NodeInputs>,
}

#[derive(Deserialize)]
struct CpuInputs {
    #[serde(default)]
    topology: BTreeMap<String, String>,
    #[serde(default)]
    cache: BTreeMap<String, BTreeMap<String, String>>,
    cpu_capacity: Option<String>,
}

#[derive(Deserialize)]
struct NodeInputs {
    #[serde(default)]
    cpulist: String,
    distance: Vec<u32>,
    memtotal_kb: Option<u64>,
}

/// Reads a CPU (or node) list.
pub fn list(text: &str) -> Result<CpuMask> {
    CpuMask::parse_list(text, Machine::MAX_CPUS).with_context(|| format!("in the list '{text}'"))
}

impl Inputs {
    /// The CPUs of `/sys/devices/system/cpu/NAME`.
    pub fn cpus(&self, name: &str) -> Result<CpuMask> {
        list(self.cpu_masks.get(name).map_or("", String::as_str))
    }

    /// The machine that they describe.
    pub fn machine(&self, name: &str) -> Result<Machine> {
        let (online, isolated) = (self.cpus("online")?, self.cpus("isolated")?);
        // Columns of the distance rows.
        let node_order: Vec<u32> = match self.node_masks.get("online") {
            Some(nodes) => list(nodes)?.iter().map(|n| n.0).collect(),
            None => self.nodes.keys().copied().collect(),
        };
        let mut node_of: BTreeMap<CpuId, NodeId> = BTreeMap::new();
        let mut nodes = Vec::new();
        for id in &node_order {
            let node = self
                .nodes
                .get(id)
                .ok_or_else(|| anyhow!("node {id} is not described"))?;
            for cpu in &list(&node.cpulist)? {
                node_of.insert(cpu, NodeId(*id));
            }
            nodes.push(Node {
                id: NodeId(*id),
                memory_kb: node.memtotal_kb,
                distances: node.distance.clone(),
            });
        }
        let somewhere = node_of.values().next().copied().unwrap_or(NodeId(0));
        let mut cpus = Vec::new();
        for id in &self.cpus("possible")? {
            let mut cpu = Cpu::new(id);
            cpu.online = online.test(id);
            cpu.isolated = isolated.test(id);
            cpu.node = node_of.get(&id).copied().unwrap_or(somewhere);
            if let Some(inputs) = self.cpus.get(&id.0) {
                inputs.describe(&mut cpu)?;
            }
            cpus.push(cpu);
        }
        let machine = MachineBuilder {
            name: name.into(),
            arch: Arch::X86,
            cpus,
            nodes,
            boot_smt: self
                .cpu_masks
                .get("smt/control")
                .map(|control| control == "on"),
            source: "recording".into(),
            ..MachineBuilder::default()
        };
        Ok(machine.build()?)
    }
}

impl CpuInputs {
    fn describe(&self, cpu: &mut Cpu) -> Result<()> {
        let first_of = |text: &str| -> Result<Option<u32>> { Ok(list(text)?.first().map(|c| c.0)) };
        let group = |name: &str| match self.topology.get(name) {
            Some(text) => first_of(text),
            None => Ok(None),
        };
        cpu.core = group("thread_siblings_list")?.unwrap_or(cpu.core);
        cpu.cluster = group("cluster_cpus_list")?;
        cpu.die = group("die_cpus_list")?;
        cpu.package = group("package_cpus_list")?;
        let level = |cache: &BTreeMap<String, String>| -> u32 {
            cache
                .get("level")
                .and_then(|level| level.parse().ok())
                .unwrap_or(0)
        };
        if let Some(last) = self.cache.values().max_by_key(|cache| level(cache)) {
            cpu.llc = first_of(last.get("shared_cpu_list").map_or("", String::as_str))?;
        }
        if let Some(capacity) = &self.cpu_capacity {
            cpu.capacity = capacity.trim().parse().context("in cpu_capacity")?;
        }
        Ok(())
    }
}
