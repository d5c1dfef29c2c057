//! What /sys and /proc say of the machine, of the scheduler's settings, and of the tasks.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use fairlab_units::TaskId;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Files that are copied; `*` stands for the rest of a name.
const WANTED: &[&str] = &[
    "proc/cpuinfo",
    "proc/version",
    "proc/sys/kernel/sched_*",
    "proc/sys/kernel/numa_balancing*",
    "sys/devices/cpu_core/cpus",
    "sys/devices/cpu_atom/cpus",
    "sys/devices/cpu_lowpower/cpus",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/offline",
    "sys/devices/system/cpu/possible",
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/nohz_full",
    "sys/devices/system/cpu/kernel_max",
    "sys/devices/system/cpu/smt/*",
    "sys/devices/system/cpu/cpu*/online",
    "sys/devices/system/cpu/cpu*/cpu_capacity",
    "sys/devices/system/cpu/cpu*/topology/*",
    "sys/devices/system/cpu/cpu*/cache/index*/*",
    "sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_*",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu*/acpi_cppc/highest_perf",
    "sys/devices/system/cpu/cpu*/cpuidle/state*/name",
    "sys/devices/system/cpu/cpu*/cpuidle/state*/latency",
    "sys/devices/system/cpu/cpu*/cpuidle/state*/residency",
    "sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "sys/devices/system/node/online",
    "sys/devices/system/node/node*/cpulist",
    "sys/devices/system/node/node*/cpumap",
    "sys/devices/system/node/node*/distance",
    "sys/devices/system/node/node*/meminfo",
    "sys/kernel/debug/sched/*",
    "sys/kernel/debug/sched_features",
    "sys/kernel/sched_ext/state",
    "sys/kernel/sched_ext/root/ops",
];
/// The list of tasks in the archive.
const TASKS: &str = "fairlab/tasks";
/// No such file is larger; /proc/cpuinfo of 8192 CPUs is the largest.
const LARGEST: u64 = 16 << 20;
/// A snapshot, unpacked, is no larger.
const LARGEST_ARCHIVE: u64 = 128 << 20;

/// A task at the start of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedTask {
    /// Its number.
    pub task: TaskId,
    /// Its process.
    pub process: TaskId,
    /// CPUs that it may use, as a list.
    pub allowed: String,
    /// Its cgroup: of the unified hierarchy, or of the `cpu` controller.
    pub cgroup: String,
    /// Its name.
    pub name: String,
}

/// The tasks in a snapshot. What is broken is left out.
#[must_use]
pub fn tasks_of(archive: &[u8]) -> Vec<RecordedTask> {
    let mut text = String::new();
    let unpacked = GzDecoder::new(archive).take(LARGEST_ARCHIVE);
    let mut archive = tar::Archive::new(unpacked);
    let list = archive.entries().ok().and_then(|mut entries| {
        entries.find_map(|entry| {
            let entry = entry.ok()?;
            (*entry.path_bytes() == *TASKS.as_bytes()).then_some(entry)
        })
    });
    if let Some(list) = list {
        let mut bytes = Vec::new();
        // What was read before an error is good.
        let _ = list.take(LARGEST_ARCHIVE).read_to_end(&mut bytes);
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    Vec::from_iter(text.lines().filter_map(|line| {
        let mut fields = line.splitn(5, '\t');
        Some(RecordedTask {
            task: TaskId(fields.next()?.parse().ok()?),
            process: TaskId(fields.next()?.parse().ok()?),
            allowed: fields.next()?.to_owned(),
            cgroup: fields.next()?.to_owned(),
            name: fields.next()?.to_owned(),
        })
    }))
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// A .tar.gz.
    pub(crate) archive: Vec<u8>,
    /// Lines of a task's number and name.
    pub(crate) cmdlines: Vec<u8>,
}

/// Takes a snapshot of the host with this root directory. What cannot be read is left out: no recording
/// should fail for want of it.
pub(crate) fn take(host: &Path) -> io::Result<Snapshot> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for pattern in WANTED {
        let mut files = Vec::new();
        find(host, pattern, &mut files);
        files.sort_unstable();
        for file in files {
            if let Some(content) = read(&host.join(&file)) {
                append(&mut archive, &file, &content)?;
            }
        }
    }
    let tasks = tasks(host);
    let mut list =
        String::from("# thread, process, allowed CPUs, cgroup, name; separated by tabs\n");
    let mut cmdlines = String::new();
    for task in &tasks {
        let _ = writeln!(
            list,
            "{}\t{}\t{}\t{}\t{}",
            task.task.0, task.process.0, task.allowed, task.cgroup, task.name
        );
        let _ = writeln!(cmdlines, "{} {}", task.task.0, task.name);
    }
    append(&mut archive, TASKS, list.as_bytes())?;
    Ok(Snapshot {
        archive: archive.into_inner()?.finish()?,
        cmdlines: cmdlines.into_bytes(),
    })
}

fn append(
    archive: &mut tar::Builder<GzEncoder<Vec<u8>>>,
    path: &str,
    content: &[u8],
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, path, content)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LARGEST).read_to_end(&mut content).ok()?;
    Some(content)
}

/// The files below `host` that fit the pattern, by their paths from there.
fn find(host: &Path, pattern: &str, found: &mut Vec<String>) {
    let Some(star) = pattern.find('*') else {
        if host.join(pattern).is_file() {
            found.push(pattern.to_owned());
        }
        return;
    };
    let start = pattern[..star].rfind('/').map_or(0, |slash| slash + 1);
    let end = pattern[star..]
        .find('/')
        .map_or(pattern.len(), |slash| star + slash);
    let (folder, prefix, rest) = (&pattern[..start], &pattern[start..star], &pattern[end..]);
    for name in names(&host.join(folder)) {
        if name.starts_with(prefix) {
            find(host, &format!("{folder}{name}{rest}"), found);
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    Vec::from_iter(
        fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok()),
    )
}

fn tasks(host: &Path) -> Vec<RecordedTask> {
    let proc = host.join("proc");
    let numbers = |folder: &Path| {
        let mut numbers = Vec::from_iter(
            names(folder)
                .iter()
                .filter_map(|name| name.parse::<u32>().ok()),
        );
        numbers.sort_unstable();
        numbers
    };
    let mut tasks = Vec::new();
    for process in numbers(&proc) {
        let threads = proc.join(format!("{process}/task"));
        for tid in numbers(&threads) {
            let folder = threads.join(tid.to_string());
            let text = |name: &str| {
                let content = read(&folder.join(name)).unwrap_or_default();
                String::from_utf8_lossy(&content).into_owned()
            };
            let status = text("status");
            let field = |name: &str| {
                status
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .map_or("", str::trim)
            };
            if status.is_empty() {
                // It has ended since.
                continue;
            }
            let cgroups = text("cgroup");
            tasks.push(RecordedTask {
                task: TaskId(tid),
                process: TaskId(process),
                name: text("comm")
                    .trim_end_matches('\n')
                    .replace(['\t', '\n'], " "),
                allowed: field("Cpus_allowed_list:").to_owned(),
                cgroup: cgroup(&cgroups).replace('\t', " "),
            });
        }
    }
    tasks
}

/// The cgroup that the scheduler knows: that of the unified hierarchy, else that of `cpu`.
fn cgroup(text: &str) -> &str {
    let of = |fits: fn(&str) -> bool| {
        text.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            fits(controllers).then_some(path)
        })
    };
    of(|controllers| controllers.split(',').any(|name| name == "cpu"))
        .or_else(|| of(str::is_empty))
        .unwrap_or("")
}
