//! What the guest sees of its kernel and of its processes.

use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use fairlab_live::Status;

pub fn status() -> Status {
    Status::read(Path::new("/"))
}

/// Waits until `is_so`; how long that took, or none after `limit`.
pub fn wait(limit: Duration, mut is_so: impl FnMut() -> bool) -> Option<Duration> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if is_so() {
            return Some(start.elapsed());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Run time of a process, ns.
pub fn run_time(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Run time of the children that a process has now, ns.
pub fn run_time_of_children(pid: u32) -> u64 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let pids = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    pids.filter_map(run_time).sum()
}

/// The CPU on which a process is or last was.
pub fn cpu_of(pid: u32) -> Option<usize> {
    stat_field(pid, 39)
}

/// A field of a process by its number in the manual, behind the name.
fn stat_field<T: FromStr>(pid: u32, field: usize) -> Option<T> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, field 2, may hold blanks; what follows it does not.
    let fields = text.rsplit_once(')')?.1;
    fields.split_whitespace().nth(field - 3)?.parse().ok()
}

/// The scheduling policy of a process.
pub fn policy_of(pid: u32) -> Option<u32> {
    stat_field(pid, 41)
}

/// The number of a CPU's core and package, as one text.
pub fn core_of(cpu: usize) -> String {
    let read = |name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
        fs::read_to_string(path)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    format!("{}:{}", read("physical_package_id"), read("core_cpus_list"))
}

/// Number of online CPUs and of cores.
pub fn cpus_and_cores() -> (usize, usize) {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut cores: Vec<String> = (0..cpus).map(core_of).collect();
    cores.sort();
    cores.dedup();
    (cpus, cores.len())
}
