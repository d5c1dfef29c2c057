//! `/proc/cpuinfo`: model and instruction set, and core numbers where sysfs has none.

use std::collections::BTreeMap;

use fairlab_topology::Arch;
use fairlab_units::CpuId;

use super::CPU;
use crate::tree::Tree;

#[derive(Default)]
pub(super) struct CpuInfo {
    pub model: Option<String>,
    /// AMD or Hygon family 17h and later: kernels raise the reclaim distance to 32.
    pub amd_zen: bool,
    pub intel: bool,
    /// `physical id`, `core id`.
    pub ids: BTreeMap<CpuId, (u32, u32)>,
    arch: Option<Arch>,
}

/// The instruction set, and whether it had to be guessed.
pub(super) struct FoundArch {
    pub arch: Arch,
    pub guessed: bool,
}

pub(super) fn read(tree: &Tree) -> CpuInfo {
    let Some(text) = tree.read("proc/cpuinfo") else {
        return CpuInfo::default();
    };
    let mut info = CpuInfo::default();
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    let mut cpu = None;
    let mut package = 0;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "processor" | "Processor" => {
                if let Ok(n) = value.parse() {
                    cpu = Some(CpuId(n));
                    package = 0;
                }
            }
            "physical id" => package = value.parse().unwrap_or(0),
            "core id" => {
                if let (Some(cpu), Ok(core)) = (cpu, value.parse()) {
                    info.ids.insert(cpu, (package, core));
                }
            }
            _ => {}
        }
        fields
            .entry(key.to_owned())
            .or_insert_with(|| value.to_owned());
    }
    let field = |name: &str| {
        fields
            .get(name)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    };
    let family: u32 = field("cpu family")
        .and_then(|f| f.parse().ok())
        .unwrap_or(0);
    let vendor = field("vendor_id").unwrap_or_default();
    info.amd_zen = matches!(vendor, "AuthenticAMD" | "HygonGenuine") && family >= 0x17;
    info.intel = vendor == "GenuineIntel" && field("arch").is_none();
    info.arch = instruction_set(&field, vendor);
    info.model = model(&field).map(|m| m.split_whitespace().collect::<Vec<_>>().join(" "));
    info
}

fn instruction_set<'a>(field: &impl Fn(&str) -> Option<&'a str>, vendor: &str) -> Option<Arch> {
    if vendor == "IBM/S390" {
        return Some(Arch::S390);
    }
    if field("flags").is_some() && field("cpuid level").is_some()
        || vendor == "GenuineIntel" && field("arch").is_none()
        || vendor == "AuthenticAMD"
    {
        return Some(Arch::X86);
    }
    if field("CPU implementer").is_some() {
        let is_64 = field("CPU architecture").is_some_and(|a| a.starts_with('8') || a == "AArch64");
        return Some(if is_64 { Arch::Arm64 } else { Arch::Other });
    }
    if field("isa").is_some_and(|isa| isa.starts_with("rv")) {
        return Some(Arch::RiscV);
    }
    let power = ["POWER", "PPC970", "Cell"];
    if field("cpu").is_some_and(|c| power.iter().any(|p| c.starts_with(p))) {
        return Some(Arch::Ppc64);
    }
    field("processor").or(field("cpu")).map(|_| Arch::Other)
}

fn model<'a>(field: &impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    if let Some(name) = field("model name").or(field("Model Name")).or(field("cpu")) {
        return Some(name.to_owned());
    }
    if let (Some(implementer), Some(part)) = (field("CPU implementer"), field("CPU part")) {
        return Some(format!("Arm implementer {implementer} part {part}"));
    }
    field("uarch").or(field("vendor_id")).map(str::to_owned)
}

impl CpuInfo {
    pub(super) fn arch(&self, tree: &Tree) -> FoundArch {
        if let Some(arch) = self.arch {
            return FoundArch {
                arch,
                guessed: false,
            };
        }
        // Only x86 has microcode files and these performance counters.
        let is_x86 = tree.exists(&format!("{CPU}/cpu0/microcode"))
            || tree.exists("sys/devices/cpu_core/cpus");
        FoundArch {
            arch: Arch::X86,
            guessed: !is_x86,
        }
    }
}
