//! What about this host might matter to a result.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::CpuList;

/// Names and values, in the order of the names.
pub type Environment = BTreeMap<String, Value>;

/// The longest text that is recorded.
const LONGEST: u64 = 16 << 10;

/// Records what is known about the host whose /proc and /sys are under `root`: kernel, CPUs,
/// frequency governor, SMT, mitigations, load, clock source, huge pages, hypervisor, scheduler
/// settings. What cannot be read is left out.
#[must_use]
pub fn record(root: &Path) -> Environment {
    let files = Files { root };
    let mut environment = Environment::new();
    for (name, path) in FILES {
        if let Some(text) = files.text(path) {
            environment.insert((*name).to_owned(), text.into());
        }
    }
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            environment.insert(name.to_owned(), value);
        }
    };
    add("fairlab", Some(env!("CARGO_PKG_VERSION").into()));
    add("arch", Some(std::env::consts::ARCH.into()));
    let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
    add(
        "cpu_model",
        field(&cpuinfo, &["model name", "cpu", "Hardware"]).map(Value::from),
    );
    let flags = field(&cpuinfo, &["flags"]).unwrap_or_default();
    let is_guest = flags.split_whitespace().any(|flag| flag == "hypervisor");
    add("is_virtual_machine", is_guest.then_some(Value::Bool(true)));
    let load = files.text("proc/loadavg").and_then(|text| {
        let numbers = text
            .split_whitespace()
            .take(3)
            .map(|word| word.parse::<f64>().ok());
        numbers.collect::<Option<Vec<f64>>>()
    });
    add("load", load.map(|load| json!(load)));
    let memory = files.text("proc/meminfo");
    add(
        "memory",
        memory
            .and_then(|text| field(&text, &["MemTotal"]))
            .map(Value::from),
    );
    add(
        "mitigations",
        files
            .folder("sys/devices/system/cpu/vulnerabilities")
            .map(|map| json!(map)),
    );
    add(
        "allowed_cpus",
        CpuList::allowed().ok().map(|cpus| json!(cpus.numbers())),
    );
    for (name, path) in CHOICES {
        // The choice that holds stands in brackets.
        let chosen = files.text(path).and_then(|text| {
            let (_, rest) = text.split_once('[')?;
            rest.split_once(']').map(|(chosen, _)| chosen.to_owned())
        });
        add(name, chosen.map(Value::from));
    }
    environment
}

/// Names, and files whose text is recorded.
const FILES: &[(&str, &str)] = &[
    ("kernel", "proc/sys/kernel/osrelease"),
    ("kernel_build", "proc/sys/kernel/version"),
    ("command_line", "proc/cmdline"),
    (
        "governor",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    ),
    (
        "frequency_driver",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
    ),
    ("boost", "sys/devices/system/cpu/cpufreq/boost"),
    ("no_turbo", "sys/devices/system/cpu/intel_pstate/no_turbo"),
    (
        "idle_driver",
        "sys/devices/system/cpu/cpuidle/current_driver",
    ),
    ("smt", "sys/devices/system/cpu/smt/control"),
    ("smt_active", "sys/devices/system/cpu/smt/active"),
    ("online_cpus", "sys/devices/system/cpu/online"),
    ("isolated_cpus", "sys/devices/system/cpu/isolated"),
    (
        "clocksource",
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    ("hypervisor", "sys/hypervisor/type"),
    ("vendor", "sys/class/dmi/id/sys_vendor"),
    ("product", "sys/class/dmi/id/product_name"),
    ("sched_features", "sys/kernel/debug/sched/features"),
    (
        "sched_base_slice_ns",
        "sys/kernel/debug/sched/base_slice_ns",
    ),
    (
        "sched_migration_cost_ns",
        "sys/kernel/debug/sched/migration_cost_ns",
    ),
    ("sched_autogroup", "proc/sys/kernel/sched_autogroup_enabled"),
    ("sched_schedstats", "proc/sys/kernel/sched_schedstats"),
    ("sched_ext", "sys/kernel/sched_ext/state"),
    ("sched_ext_policy", "sys/kernel/sched_ext/root/ops"),
    ("numa_balancing", "proc/sys/kernel/numa_balancing"),
    ("randomize_va_space", "proc/sys/kernel/randomize_va_space"),
    ("cgroup", "proc/self/cgroup"),
];

/// Names, and files that list choices.
const CHOICES: &[(&str, &str)] = &[
    (
        "transparent_hugepage",
        "sys/kernel/mm/transparent_hugepage/enabled",
    ),
    ("preempt", "sys/kernel/debug/sched/preempt"),
];

struct Files<'a> {
    root: &'a Path,
}

impl Files<'_> {
    /// The text of a file without blanks around it; `None` when there is none.
    fn text(&self, path: &str) -> Option<String> {
        use std::io::Read;
        let file = fs::File::open(self.root.join(path)).ok()?;
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// The texts of all files of a folder, by name.
    fn folder(&self, path: &str) -> Option<BTreeMap<String, String>> {
        let entries = fs::read_dir(self.root.join(path)).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let texts = names.filter_map(|name| {
            let text = self.text(&format!("{path}/{name}"))?;
            Some((name, text))
        });
        Some(texts.collect())
    }
}

/// The value of the first line `name : value` of a text with one of these names.
fn field(text: &str, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == *name).then(|| value.trim().to_owned())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_a_kernel_and_cpus() {
        let environment = record(Path::new("/"));
        assert!(environment.contains_key("kernel") && environment.contains_key("allowed_cpus"));
        assert!(environment.contains_key("load"));
    }

    #[test]
    fn what_is_not_there_is_left_out() {
        let environment = record(Path::new("/nonexistent"));
        let names: Vec<&str> = environment.keys().map(String::as_str).collect();
        assert_eq!(names, ["allowed_cpus", "arch", "fairlab"]);
    }
}
