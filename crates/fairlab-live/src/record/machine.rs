//! The machine of a recording, from sysfs.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// Ticks a second that kernels are built with.
const HZ: [u64; 4] = [100, 250, 300, 1000];

/// The machine below `root`. `clocks` are time, ns, and jiffies of two decisions; what is `unrecorded` is
/// named.
pub(super) fn read(root: &Path, clocks: Option<[(u64, u64); 2]>, unrecorded: &[&str]) -> Value {
    let text = |path: &str| word(&root.join(path)).unwrap_or_default();
    let release = text("proc/sys/kernel/osrelease");
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let kernel = [numbers.next(), numbers.next()].map(Option::unwrap_or_default);
    let features = text("sys/kernel/debug/sched/features");
    let features: Vec<&str> = features.split_whitespace().collect();
    let system = root.join("sys/devices/system");
    let mut machine = json!({
        "kernel": kernel.join("."),
        "uname": release,
        "build": text("proc/sys/kernel/version"),
        "topology": "host",
        "what": "recorded on a running machine",
        "inputs": {
            "cmdline": text("proc/cmdline"),
            "cpu_masks": files(&system.join("cpu"), &["possible", "present", "online", "offline", "isolated", "smt/active", "smt/control"]),
            "node_masks": files(&system.join("node"), &["possible", "online", "has_cpu"]),
            "cpus": numbered(&system.join("cpu"), "cpu", cpu),
            "nodes": numbered(&system.join("node"), "node", node),
        },
        "outputs": { "tunables": { "features": features } },
        "unrecorded": unrecorded,
    });
    if let Some(hz) = clocks.and_then(hz) {
        machine["hz"] = json!(hz);
    }
    machine
}

/// Ticks a second, from two decisions that lie far enough apart.
fn hz([(t, jiffies), (end, end_jiffies)]: [(u64, u64); 2]) -> Option<u64> {
    let (ns, ticks) = (end.checked_sub(t)?, end_jiffies.checked_sub(jiffies)?);
    if ticks < 10 {
        return None;
    }
    let seen = ticks.saturating_mul(1_000_000_000) / ns.max(1);
    HZ.into_iter().min_by_key(|hz| hz.abs_diff(seen))
}

fn word(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The files of a folder that are there.
fn files(folder: &Path, names: &[&str]) -> Value {
    let all: Map<String, Value> = names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), json!(word(&folder.join(name))?))))
        .collect();
    Value::Object(all)
}

/// What `each` makes of the folders called `name` and a number.
fn numbered(folder: &Path, name: &str, each: fn(&Path) -> Value) -> Value {
    let mut all = Map::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let number = file.strip_prefix(name).unwrap_or_default();
        if number.parse::<u32>().is_ok() {
            all.insert(number.to_owned(), each(&entry.path()));
        }
    }
    Value::Object(all)
}

fn cpu(folder: &Path) -> Value {
    let mut facts = json!({
        "topology": files(&folder.join("topology"), &[
            "core_cpus_list", "thread_siblings_list", "cluster_cpus_list", "die_cpus_list",
            "package_cpus_list", "core_id", "cluster_id", "die_id", "physical_package_id",
        ]),
        "cache": numbered(&folder.join("cache"), "index", |cache| {
            files(cache, &["level", "type", "size", "shared_cpu_list", "id"])
        }),
    });
    for name in ["cpu_capacity", "online"] {
        if let Some(text) = word(&folder.join(name)) {
            facts[name] = json!(text);
        }
    }
    facts
}

fn node(folder: &Path) -> Value {
    let distances = word(&folder.join("distance")).unwrap_or_default();
    let distances: Vec<u32> = distances
        .split_whitespace()
        .filter_map(|distance| distance.parse().ok())
        .collect();
    json!({
        "cpulist": word(&folder.join("cpulist")).unwrap_or_default(),
        "distance": distances,
    })
}

#[cfg(test)]
mod tests {
    use super::hz;

    #[test]
    fn ticks_a_second_follow_from_two_looks_at_the_clock() {
        assert_eq!(hz([(0, 1000), (1_000_000_000, 1250)]), Some(250));
        assert_eq!(hz([(0, 1000), (1_003_000_000, 1998)]), Some(1000));
        assert_eq!(hz([(0, 1000), (8_000_000, 1002)]), None, "too close");
    }
}
