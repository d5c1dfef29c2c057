//! Recordings of kind `domains`: what a kernel built at boot, as debugfs and the kernel log show it,
//! and (`domains.jsonl.zst`) as read from its structures.
//!
//! Compared is every field that building decides. Not compared is what changes while the kernel
//! runs: capacities of groups, `max_newidle_lb_cost`, `balance_interval`, shared counters.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::domains::{self, BuildOptions, Domains};
use fairlab_topology::{Cpu, Machine};
use fairlab_units::CpuId;
use serde::Deserialize;

use super::machine::Inputs;

mod debugfs;
mod structures;

/// How many differences are printed.
const SHOWN: usize = 20;

#[derive(Deserialize)]
struct Recording {
    kernel: String,
    topology: String,
    inputs: Inputs,
    outputs: debugfs::Outputs,
}

/// Compared fields, and those that differ.
#[derive(Default)]
struct Tally {
    domains: usize,
    fields: usize,
    differences: Vec<Difference>,
}

/// One field that differs.
#[derive(Debug)]
struct Difference {
    place: String,
    field: &'static str,
    recorded: String,
    built: String,
}

impl Tally {
    fn check<T: PartialEq + std::fmt::Debug>(
        &mut self,
        place: impl Fn() -> String,
        field: &'static str,
        recorded: &T,
        built: &T,
    ) {
        self.fields += 1;
        if recorded != built {
            self.differences.push(Difference {
                place: place(),
                field,
                recorded: format!("{recorded:?}"),
                built: format!("{built:?}"),
            });
        }
    }

    fn add(&mut self, other: Self) {
        self.domains += other.domains;
        self.fields += other.fields;
        self.differences.extend(other.differences);
    }

    fn equal(&self) -> usize {
        self.fields - self.differences.len()
    }
}

/// Compares every recording below `path`.
pub fn run(path: &Path) -> Result<ExitCode> {
    let (by_kernel, notes) = compare(path, |kernel| kernel)?;
    let mut total = Tally::default();
    for note in notes {
        println!("note: {note}");
    }
    for (kernel, (files, tally)) in by_kernel {
        println!(
            "{kernel}: {} of {} fields equal ({files} files, {} domains)",
            tally.equal(),
            tally.fields,
            tally.domains
        );
        total.add(tally);
    }
    for difference in total.differences.iter().take(SHOWN) {
        let Difference {
            place,
            field,
            recorded,
            built,
        } = difference;
        println!("  {place} {field}: recorded {recorded}, built {built}");
    }
    if total.differences.len() > SHOWN {
        println!("  ... {} more", total.differences.len() - SHOWN);
    }
    println!("total: {} of {} equal", total.equal(), total.fields);
    Ok(ExitCode::from(u8::from(!total.differences.is_empty())))
}

type ByKernel = BTreeMap<String, (usize, Tally)>;

/// The tallies of all recordings below `path`, by kernel, and remarks on them. Domains are built for
/// what `change` makes of the recorded kernel.
fn compare(path: &Path, change: impl Fn(Kernel) -> Kernel) -> Result<(ByKernel, Vec<String>)> {
    let mut files = Vec::new();
    find(path, &mut files)?;
    if files.is_empty() {
        bail!("no recordings of domains below {}", path.display());
    }
    let (mut by_kernel, mut notes) = (ByKernel::new(), Vec::new());
    for file in files {
        let (kernel, tally, note) =
            compare_file(&file, &change).with_context(|| format!("in {}", file.display()))?;
        notes.extend(note.map(|n| format!("{}: {n}", file.display())));
        let entry = by_kernel.entry(kernel).or_default();
        entry.0 += 1;
        entry.1.add(tally);
    }
    Ok((by_kernel, notes))
}

/// Finds `*.json` (but for `machine*.json`, which come with their structures) and
/// `domains*.jsonl.zst`, sorted by name.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        let mut entries = fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>>>()?;
        entries.sort();
        for entry in entries {
            find(&entry, files)?;
        }
        return Ok(());
    }
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy())
        .unwrap_or_default();
    let structures = name.starts_with("domains") && name.ends_with(".jsonl.zst");
    if name.ends_with(".json") || structures {
        files.push(path.into());
    }
    Ok(())
}

/// Compares one file; the answer is the kernel, the tally and a remark.
fn compare_file(
    path: &Path,
    change: impl Fn(Kernel) -> Kernel,
) -> Result<(String, Tally, Option<String>)> {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy())
        .unwrap_or_default();
    let machine_path = match name.strip_suffix(".jsonl.zst") {
        Some(stem) => {
            path.with_file_name(format!("{}.json", stem.replacen("domains", "machine", 1)))
        }
        None => path.into(),
    };
    let text = fs::read(&machine_path)
        .with_context(|| format!("the machine {} is wanted", machine_path.display()))?;
    let recording: Recording = serde_json::from_slice(&text)?;
    let structures = match machine_path == path {
        true => None,
        false => Some(structures::read(path)?),
    };
    let kernel = change(recording.kernel.parse()?);
    let place = format!("{}/{}", recording.kernel, recording.topology);
    let machine = recording.inputs.machine(&recording.topology)?;
    let judge = |machine: &Machine, options: &BuildOptions| -> Result<Tally> {
        let domains = domains::build(machine, &kernel, options)?;
        Ok(match &structures {
            None => recording.outputs.compare(&place, &domains, machine),
            Some(lines) => structures::compare(&place, lines, &domains, &kernel),
        })
    };
    let plain = judge(&machine, &BuildOptions::default())?;
    let mut note = None;
    let tally = match dying_cpu(&machine, &kernel, &plain, judge)? {
        Some((cpu, tally)) => {
            note = Some(format!(
                "equal when the last rebuild still saw CPU {cpu} going offline"
            ));
            tally
        }
        None => plain,
    };
    Ok((recording.kernel, tally, note))
}

/// The CPU whose going offline the last rebuild still saw, if that explains all differences.
///
/// Kernels with SD_SYNC_REBUILD rebuild while the CPU is still in the level masks, and sysfs does
/// not tell where an offline CPU belongs. So when nothing but intervals differs, every offline CPU
/// is tried beside every online one.
fn dying_cpu(
    machine: &Machine,
    kernel: &Kernel,
    plain: &Tally,
    judge: impl Fn(&Machine, &BuildOptions) -> Result<Tally>,
) -> Result<Option<(CpuId, Tally)>> {
    let interval = |d: &Difference| matches!(d.field, "min_interval" | "max_interval");
    let candidates = !plain.differences.is_empty()
        && plain.differences.iter().all(interval)
        && kernel.has(Feature::SD_SYNC_REBUILD);
    if !candidates {
        return Ok(None);
    }
    let online = machine.online();
    for dying in machine.cpus().iter().filter(|c| !c.online) {
        for beside in &online {
            for shares_core in [true, false] {
                let mut parts = machine.to_builder();
                let Some(model) = machine.cpu(beside) else {
                    continue;
                };
                for cpu in parts.cpus.iter_mut().filter(|c| c.id == dying.id) {
                    *cpu = Cpu {
                        id: dying.id,
                        online: false,
                        core: if shares_core { model.core } else { dying.core },
                        cluster: model.cluster.filter(|_| shares_core),
                        ..model.clone()
                    };
                }
                let options = BuildOptions {
                    dying: Some(dying.id),
                    ..BuildOptions::default()
                };
                let tally = judge(&parts.build()?, &options)?;
                if tally.differences.is_empty() {
                    return Ok(Some((dying.id, tally)));
                }
            }
        }
    }
    Ok(None)
}

/// A domain of `cpu` by its position in the chain.
fn nth(domains: &Domains, cpu: CpuId, idx: usize) -> Option<domains::DomainId> {
    domains.chain(cpu).nth(idx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_kernel::Area;

    /// The folder of recordings, where the workspace has it beside itself.
    fn recordings(kind: &str) -> Option<PathBuf> {
        let root = std::env::var_os("FAIRLAB_DATA").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
            PathBuf::from,
        );
        let path = root.join("oracle").join(kind);
        if path.is_dir() {
            return Some(path);
        }
        eprintln!("skipped: no recordings at {}", path.display());
        None
    }

    #[test]
    fn domains_equal_those_of_real_kernels_in_every_field() {
        for kind in ["domains", "decisions", "balance"] {
            let Some(path) = recordings(kind) else {
                continue;
            };
            let (by_kernel, _) = compare(&path, |kernel| kernel).unwrap();
            for (kernel, (files, tally)) in by_kernel {
                assert!(files > 0 && tally.fields > 0);
                assert!(
                    tally.differences.is_empty(),
                    "{kernel}: {:?}",
                    tally.differences
                );
            }
        }
    }
    /// The switches of the domain area that make no difference on any recorded machine: there, the
    /// specification alone speaks. (SD_ASYM_FULL is noticed by the numbers of the flags only.)
    const NOT_EXERCISED: [Feature; 15] = [
        Feature::SD_SHARE_LLC_NAME,
        Feature::SD_HYBRID_NO_CLS,
        Feature::SD_LEVELS_OF_CPU_NODES,
        Feature::SD_DISJOINT_CHECK,
        Feature::SD_SYNC_REBUILD,
        Feature::SD_X86_CAPACITY,
        Feature::SD_ASYM_PACKING_SMT,
        Feature::SD_ASYM_PACKING_PKG,
        Feature::SD_RELAX_AT_LEVEL,
        Feature::SD_RELAX_SETS,
        Feature::SD_NODES_PER_PACKAGE,
        Feature::SD_DOMAIN_DISTANCE,
        Feature::SD_CAPACITY_RUNNING_SUM,
        Feature::SD_HIGHEST_SKIPS,
        Feature::SD_SHARED_UNION,
    ];

    #[test]
    fn the_comparison_notices_every_switch_that_recordings_exercise() {
        let (Some(debugfs), Some(structures)) = (recordings("domains"), recordings("decisions"))
        else {
            return;
        };
        let is_noticed = |feature: Feature| {
            let flip = |kernel: Kernel| kernel.with(feature, !kernel.has(feature));
            [&debugfs, &structures].into_iter().any(|path| {
                let (by_kernel, _) = compare(path, flip).unwrap();
                by_kernel
                    .values()
                    .any(|(_, tally)| !tally.differences.is_empty())
            })
        };
        let switches = Feature::ALL.iter().copied();
        let unnoticed: Vec<Feature> = switches
            .filter(|f| f.area() == Area::Domains && !is_noticed(*f))
            .collect();
        assert_eq!(unnoticed, NOT_EXERCISED);
    }
}
