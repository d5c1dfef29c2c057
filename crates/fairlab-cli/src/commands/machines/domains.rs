//! The sched domains of a machine, short: which levels a CPU's chain has.

use std::collections::BTreeMap;

use fairlab::kernel::Kernel;
use fairlab::topology::Machine;
use fairlab::topology::domains::{self, BuildOptions};
use fairlab::units::{CpuId, CpuMask};
use fairlab_machines::cpu_list;
use serde::Serialize;

/// The chains that one kernel builds.
#[derive(Serialize)]
pub struct Chains {
    kernel: String,
    /// Why the kernel builds none; else null.
    error: Option<String>,
    chains: Vec<Chain>,
}

/// CPUs whose chains have the same levels and sizes.
#[derive(PartialEq, Eq, Serialize)]
struct Chain {
    cpus: String,
    levels: Vec<Level>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Level {
    name: &'static str,
    /// Number of CPUs in the span.
    weight: u32,
    /// Number of groups.
    groups: u32,
}

impl Chains {
    /// What `kernel` builds from `machine`.
    pub fn of(machine: &Machine, kernel: &Kernel) -> Self {
        let kernel_name = kernel.to_string();
        let built = match domains::build(machine, kernel, &BuildOptions::default()) {
            Ok(built) => built,
            Err(error) => {
                return Self {
                    kernel: kernel_name,
                    error: Some(error.to_string()),
                    chains: Vec::new(),
                };
            }
        };
        let mut by_levels: BTreeMap<Vec<Level>, Vec<CpuId>> = BTreeMap::new();
        for cpu in &machine.online() {
            let levels = built
                .chain(cpu)
                .map(|id| {
                    let domain = built.domain(id);
                    Level {
                        name: domain.name,
                        weight: domain.span_weight,
                        groups: domain.nr_groups,
                    }
                })
                .collect();
            by_levels.entry(levels).or_default().push(cpu);
        }
        let mut chains: Vec<(CpuMask, Vec<Level>)> = by_levels
            .into_iter()
            .map(|(levels, cpus)| (CpuMask::from_cpus(machine.nr_cpu_ids(), cpus), levels))
            .collect();
        chains.sort_by_key(|(mask, _)| mask.first());
        Self {
            kernel: kernel_name,
            error: None,
            chains: chains
                .into_iter()
                .map(|(mask, levels)| Chain {
                    cpus: cpu_list(&mask),
                    levels,
                })
                .collect(),
        }
    }
}

/// One block per run of kernels that build the same chains.
pub fn text(all: &[Chains]) -> String {
    let mut out = String::new();
    for run in all.chunk_by(|a, b| a.error == b.error && a.chains == b.chains) {
        let names: Vec<&str> = run.iter().map(|c| c.kernel.as_str()).collect();
        out.push_str(&format!("  {}\n", names.join(", ")));
        let Some(first) = run.first() else {
            continue;
        };
        if let Some(error) = &first.error {
            out.push_str(&format!("    none: {error}\n"));
        }
        for chain in &first.chains {
            let levels: Vec<String> = chain
                .levels
                .iter()
                .map(|l| format!("{} {}", l.name, l.weight))
                .collect();
            let levels = if levels.is_empty() {
                "no domains".to_owned()
            } else {
                levels.join(" > ")
            };
            out.push_str(&format!(
                "    {levels:<40}  CPUs {}\n",
                shortened(&chain.cpus)
            ));
        }
    }
    out
}

/// A list of CPUs that fits beside the levels.
fn shortened(cpus: &str) -> String {
    if cpus.len() <= 48 {
        return cpus.to_owned();
    }
    let cut = cpus[..44].rfind(',').unwrap_or(44);
    format!("{},...", &cpus[..cut])
}

/// Every domain with its flags, groups and numbers.
pub fn in_full(machine: &Machine, kernel: &Kernel) -> String {
    match domains::build(machine, kernel, &BuildOptions::default()) {
        Ok(built) => built.render(kernel).to_string(),
        Err(error) => format!("none: {error}\n"),
    }
}
