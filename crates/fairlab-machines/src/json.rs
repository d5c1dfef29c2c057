//! fairlab's own machine files: JSON, `"format": "fairlab-machine/1"`.
//!
//! Everything that a [`Machine`] holds is in the file, so that writing and reading give an equal
//! machine. CPUs that share a thing have equal numbers, as in the library. Keys that are not known
//! are errors. Numbers that most CPUs have in common may be left out: see the defaults at [`CpuFile`].

use std::fs::File;
use std::io::Read;
use std::path::Path;

use fairlab_topology::{
    Arch, Cache, CacheKind, CapacitySource, CoreKind, Cpu, EnergyDomain, EnergyState, Machine,
    MachineBuilder, Node, Oddity,
};
use fairlab_units::{CpuId, CpuMask, NodeId};
use serde::{Deserialize, Serialize};

use crate::MachineLoadError;

const FORMAT: &str = "fairlab-machine/1";

/// JSON files may be this large; 8192 CPUs take about 2 MB.
const SIZE_LIMIT: u64 = 64 << 20;

/// Do these first bytes of a file belong to a JSON object?
pub(crate) fn is_json(head: &[u8]) -> bool {
    head.trim_ascii_start().first() == Some(&b'{')
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineFile {
    format: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    arch: ArchName,
    #[serde(default, skip_serializing_if = "is_false")]
    amd_epyc: bool,
    #[serde(default)]
    capacity_source: SourceName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot_smt: Option<bool>,
    #[serde(default)]
    source: String,
    cpus: Vec<CpuFile>,
    #[serde(default)]
    nodes: Vec<NodeFile>,
    #[serde(default)]
    caches: Vec<CacheFile>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    energy: Vec<EnergyFile>,
    #[serde(default)]
    oddities: Vec<OddityFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuFile {
    id: u32,
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    online: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    isolated: bool,
    core: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    llc: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    die: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    package: Option<u32>,
    #[serde(default)]
    node: u32,
    #[serde(default = "full", skip_serializing_if = "is_full")]
    capacity: u32,
    #[serde(default, skip_serializing_if = "is_uniform")]
    kind: KindName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_freq_khz: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeFile {
    id: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_kb: Option<u64>,
    distances: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheFile {
    level: u8,
    kind: CacheKindName,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    line: u32,
    /// A list such as `0-3,8`.
    cpus: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnergyFile {
    /// A list such as `0-3,8`.
    cpus: String,
    /// Slowest first.
    states: Vec<EnergyStateFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnergyStateFile {
    capacity: u32,
    power_uw: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OddityFile {
    what: String,
    action: String,
}

/// Pairs each name in the file with the library's value, both ways.
macro_rules! names {
    ($name:ident, $value:ty, { $($variant:ident => $text:literal),* $(,)? }) => {
        #[derive(Clone, Copy, Serialize, Deserialize)]
        enum $name {
            $(#[serde(rename = $text)] $variant,)*
        }
        impl From<$value> for $name {
            fn from(value: $value) -> Self {
                match value { $(<$value>::$variant => Self::$variant,)* }
            }
        }
        impl From<$name> for $value {
            fn from(name: $name) -> Self {
                match name { $($name::$variant => Self::$variant,)* }
            }
        }
    };
}

names!(ArchName, Arch, {
    X86 => "x86", Arm64 => "arm64", Ppc64 => "ppc64", S390 => "s390", RiscV => "riscv",
    Other => "other",
});
names!(SourceName, CapacitySource, {
    Default => "default", Stated => "stated", Frequency => "frequency", CoreKind => "core-kind",
});
names!(KindName, CoreKind, {
    Uniform => "uniform", Performance => "performance", Medium => "medium",
    Efficiency => "efficiency",
});
names!(CacheKindName, CacheKind, {
    Data => "data", Instruction => "instruction", Unified => "unified",
});

impl Default for SourceName {
    fn default() -> Self {
        CapacitySource::default().into()
    }
}

impl Default for KindName {
    fn default() -> Self {
        CoreKind::default().into()
    }
}

fn yes() -> bool {
    true
}

fn full() -> u32 {
    1024
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde wants"
)]
fn is_true(value: &bool) -> bool {
    *value
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde wants"
)]
fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde wants"
)]
fn is_full(value: &u32) -> bool {
    *value == full()
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde wants"
)]
fn is_uniform(value: &KindName) -> bool {
    matches!(value, KindName::Uniform)
}

/// The text of `machine`'s file. One line per CPU, node and cache, so that differences are readable.
#[must_use]
pub fn to_json(machine: &Machine) -> String {
    let file = MachineFile::from(machine);
    let text = |value: Result<String, serde_json::Error>| value.unwrap_or_default();
    let mut out = String::from("{\n");
    let mut member = |key: &str, value: String, last: bool| {
        let comma = if last { "" } else { "," };
        out.push_str(&format!("  \"{key}\": {value}{comma}\n"));
    };
    member("format", text(serde_json::to_string(&file.format)), false);
    member("name", text(serde_json::to_string(&file.name)), false);
    if file.model.is_some() {
        member("model", text(serde_json::to_string(&file.model)), false);
    }
    member("arch", text(serde_json::to_string(&file.arch)), false);
    if file.amd_epyc {
        member("amd_epyc", "true".to_owned(), false);
    }
    member(
        "capacity_source",
        text(serde_json::to_string(&file.capacity_source)),
        false,
    );
    if let Some(boot_smt) = file.boot_smt {
        member("boot_smt", boot_smt.to_string(), false);
    }
    member("source", text(serde_json::to_string(&file.source)), false);
    member("cpus", rows(&file.cpus), false);
    member("nodes", rows(&file.nodes), false);
    member("caches", rows(&file.caches), false);
    if !file.energy.is_empty() {
        member("energy", rows(&file.energy), false);
    }
    member("oddities", rows(&file.oddities), true);
    out.push_str("}\n");
    out
}

fn rows<T: Serialize>(items: &[T]) -> String {
    if items.is_empty() {
        return "[]".to_owned();
    }
    let rows: Vec<String> = items
        .iter()
        .map(|item| format!("    {}", serde_json::to_string(item).unwrap_or_default()))
        .collect();
    format!("[\n{}\n  ]", rows.join(",\n"))
}

/// Reads a machine file.
pub(crate) fn load(path: &Path, _name: &str) -> Result<Machine, MachineLoadError> {
    let io_error = |source| MachineLoadError::Io {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(io_error)?;
    let size = file.metadata().map_err(io_error)?.len();
    if size > SIZE_LIMIT {
        return Err(MachineLoadError::UnknownFormat {
            path: path.to_owned(),
            found: format!("{size} bytes of JSON, above {SIZE_LIMIT} it is refused"),
        });
    }
    let mut bytes = Vec::new();
    file.take(SIZE_LIMIT)
        .read_to_end(&mut bytes)
        .map_err(io_error)?;
    from_json(&bytes, &path.display().to_string())
}

/// Reads the text of a machine file, as [`to_json`] gives it; `place` is what messages call it.
///
/// # Errors
/// When it is no such text, with line and column, or describes no machine.
pub fn from_json(bytes: &[u8], place: &str) -> Result<Machine, MachineLoadError> {
    let file: MachineFile = serde_json::from_slice(bytes).map_err(|e| {
        let problem = e.to_string();
        let position = format!(" at line {} column {}", e.line(), e.column());
        MachineLoadError::Text {
            place: place.to_owned(),
            line: e.line(),
            column: e.column(),
            problem: problem
                .strip_suffix(&position)
                .unwrap_or(&problem)
                .to_owned(),
        }
    })?;
    let start = |problem: String| MachineLoadError::Text {
        place: place.to_owned(),
        line: 1,
        column: 1,
        problem,
    };
    if file.format != FORMAT {
        return Err(start(format!(
            "the format is `{}`, this program reads `{FORMAT}`",
            crate::error::shorten(&file.format)
        )));
    }
    let builder = MachineBuilder::try_from(file).map_err(start)?;
    builder
        .build()
        .map_err(|problem| MachineLoadError::Contradiction {
            place: place.to_owned(),
            problem,
        })
}

impl From<&Machine> for MachineFile {
    fn from(machine: &Machine) -> Self {
        let parts = machine.to_builder();
        Self {
            format: FORMAT.to_owned(),
            name: parts.name,
            model: parts.model,
            arch: parts.arch.into(),
            amd_epyc: parts.amd_epyc,
            capacity_source: parts.capacity_source.into(),
            boot_smt: parts.boot_smt,
            source: parts.source,
            cpus: parts.cpus.into_iter().map(CpuFile::from).collect(),
            nodes: parts
                .nodes
                .into_iter()
                .map(|n| NodeFile {
                    id: n.id.0,
                    memory_kb: n.memory_kb,
                    distances: n.distances,
                })
                .collect(),
            caches: parts
                .caches
                .into_iter()
                .map(|c| CacheFile {
                    level: c.level,
                    kind: c.kind.into(),
                    size: c.size,
                    line: c.line,
                    cpus: c.cpus.to_string(),
                })
                .collect(),
            energy: parts
                .energy
                .into_iter()
                .map(|domain| EnergyFile {
                    cpus: domain.cpus.to_string(),
                    states: domain
                        .states
                        .iter()
                        .map(|state| EnergyStateFile {
                            capacity: state.capacity,
                            power_uw: state.power_uw,
                        })
                        .collect(),
                })
                .collect(),
            oddities: parts
                .oddities
                .into_iter()
                .map(|o| OddityFile {
                    what: o.what,
                    action: o.action,
                })
                .collect(),
        }
    }
}

impl From<Cpu> for CpuFile {
    fn from(cpu: Cpu) -> Self {
        Self {
            id: cpu.id.0,
            online: cpu.online,
            isolated: cpu.isolated,
            core: cpu.core,
            cluster: cpu.cluster,
            llc: cpu.llc,
            die: cpu.die,
            package: cpu.package,
            node: cpu.node.0,
            capacity: cpu.capacity,
            kind: cpu.kind.into(),
            priority: cpu.priority,
            max_freq_khz: cpu.max_freq_khz,
        }
    }
}

impl From<CpuFile> for Cpu {
    fn from(cpu: CpuFile) -> Self {
        Self {
            id: CpuId(cpu.id),
            online: cpu.online,
            isolated: cpu.isolated,
            core: cpu.core,
            cluster: cpu.cluster,
            llc: cpu.llc,
            die: cpu.die,
            package: cpu.package,
            node: NodeId(cpu.node),
            capacity: cpu.capacity,
            kind: cpu.kind.into(),
            priority: cpu.priority,
            max_freq_khz: cpu.max_freq_khz,
        }
    }
}

impl TryFrom<MachineFile> for MachineBuilder {
    type Error = String;

    fn try_from(file: MachineFile) -> Result<Self, String> {
        let caches: Result<Vec<Cache>, String> = file
            .caches
            .into_iter()
            .map(|c| {
                let cpus = CpuMask::parse_list(&c.cpus, Machine::MAX_CPUS)
                    .map_err(|e| format!("cache of `{}`: {e}", crate::error::shorten(&c.cpus)))?;
                Ok(Cache {
                    level: c.level,
                    kind: c.kind.into(),
                    size: c.size,
                    line: c.line,
                    cpus,
                })
            })
            .collect();
        let energy: Result<Vec<EnergyDomain>, String> = file
            .energy
            .into_iter()
            .map(|domain| {
                let cpus = CpuMask::parse_list(&domain.cpus, Machine::MAX_CPUS).map_err(|e| {
                    format!("energy of `{}`: {e}", crate::error::shorten(&domain.cpus))
                })?;
                let states = domain.states.iter().map(|state| EnergyState {
                    capacity: state.capacity,
                    power_uw: state.power_uw,
                });
                Ok(EnergyDomain {
                    cpus,
                    states: states.collect(),
                })
            })
            .collect();
        Ok(Self {
            name: file.name,
            model: file.model,
            arch: file.arch.into(),
            amd_epyc: file.amd_epyc,
            capacity_source: file.capacity_source.into(),
            cpus: file.cpus.into_iter().map(Cpu::from).collect(),
            nodes: file
                .nodes
                .into_iter()
                .map(|n| Node {
                    id: NodeId(n.id),
                    memory_kb: n.memory_kb,
                    distances: n.distances,
                })
                .collect(),
            caches: caches?,
            energy: energy?,
            boot_smt: file.boot_smt,
            oddities: file
                .oddities
                .into_iter()
                .map(|o| Oddity {
                    what: o.what,
                    action: o.action,
                })
                .collect(),
            source: file.source,
        })
    }
}
