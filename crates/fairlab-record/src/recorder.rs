//! From the start of a command to a file.

use std::fs::File;
use std::io::{BufWriter, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use fairlab_trace::{CpuPages, TraceDatFile};
use fairlab_units::{CpuId, CpuMask};
use rustix::process::{Pid, Signal};

use crate::RecordError;
use crate::instance::{self, Instance};
use crate::pages::{PageReader, Pages};
use crate::snapshot;
use crate::tracefs::Tracefs;

/// Events that are always recorded, of the system `sched`.
const SCHED: [&str; 8] = [
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_migrate_task",
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
];
/// CPUs of a machine at most.
const MOST_CPUS: usize = 1 << 14;
/// How often we look whether the command has ended.
const LOOK: Duration = Duration::from_millis(20);

/// What is recorded, and how.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// Where the file goes.
    pub output: PathBuf,
    /// KiB of the buffer of each CPU.
    pub buffer_kb: u32,
    /// Only these CPUs.
    pub cpus: Option<CpuMask>,
    /// Stop after this time.
    pub duration: Option<Duration>,
    /// The kernel's clock: `mono`, `local`, `boot` ...
    pub clock: String,
    /// Run times (`sched_stat_runtime`), too.
    pub runtime: bool,
    /// `cpu_idle`, too.
    pub idle: bool,
    /// `cpu_frequency`, too.
    pub frequency: bool,
    /// Machine, settings and tasks, too.
    pub snapshot: bool,
    /// What recorded, with its version.
    pub tool: String,
}

/// What a CPU lost, by the kernel's own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuLoss {
    /// The CPU.
    pub cpu: CpuId,
    /// Events that were overwritten before they were read, or dropped.
    pub events: u64,
}

/// What was recorded.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Recorded {
    /// Bytes of pages.
    pub bytes: u64,
    /// CPUs that lost events.
    pub lost: Vec<CpuLoss>,
    /// Events that the kernel does not have.
    pub missing: Vec<String>,
    /// Instances of killed recorders that were removed.
    pub stale: Vec<String>,
    /// How the command ended, if there was one and it did.
    pub status: Option<ExitStatus>,
}

/// Records while `command` runs, or until `is_stopped`; without a command, until then or until the time
/// is over.
///
/// # Errors
/// When there is no right to trace, a file cannot be written, or the command cannot be started. The
/// kernel is left as it was found.
pub fn record(
    tracefs: &Tracefs,
    options: &RecordOptions,
    command: &[String],
    is_stopped: &AtomicBool,
) -> Result<Recorded, RecordError> {
    let mut recorded = Recorded {
        stale: instance::remove_stale(tracefs),
        ..Recorded::default()
    };
    // Before anything is set up, so that a wrong path costs nothing.
    let output =
        File::create(&options.output).map_err(RecordError::file("create", &options.output))?;
    let page_size = page_size(tracefs)?;
    let snapshot = if options.snapshot {
        snapshot::take(tracefs.host())
            .map_err(RecordError::file("take a snapshot of", tracefs.host()))?
    } else {
        snapshot::Snapshot::default()
    };
    let instance = Instance::create(tracefs)?;
    let files = instance.files();
    set_up(files, options, &mut recorded.missing)?;
    let nr_cpus = nr_cpus(files)?;
    let mut readers = Vec::new();
    for cpu in (0..nr_cpus).map(CpuId) {
        if options.cpus.as_ref().is_none_or(|cpus| cpus.test(cpu)) {
            let pipe = files.path(&format!("per_cpu/cpu{}/trace_pipe_raw", cpu.0));
            readers.push((
                cpu,
                PageReader::open(pipe, &options.output, cpu.0, page_size)?,
            ));
        }
    }
    let pages = run(files, options, command, is_stopped, readers, &mut recorded)?;
    let mut stats = Vec::new();
    for &(cpu, _) in &pages {
        let text = files.read(&format!("per_cpu/cpu{}/stats", cpu.0))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let events = lost(&text);
        if events > 0 {
            recorded.lost.push(CpuLoss { cpu, events });
        }
        stats.push(format!("CPU: {}\n{text}", cpu.0));
    }
    let text = |name: &str| tracefs.read(name).unwrap_or_default();
    let mut systems = vec![("sched".to_owned(), files.formats("sched", None))];
    if options.idle || options.frequency {
        let wanted = Some(&["cpu_idle", "cpu_frequency"][..]);
        systems.push(("power".to_owned(), files.formats("power", wanted)));
    }
    let file = TraceDatFile {
        page_size: page_size as u32,
        header_page: tracefs.read("events/header_page")?,
        header_event: text("events/header_event"),
        ftrace_formats: tracefs.formats("ftrace", None),
        systems,
        printk_formats: text("printk_formats"),
        cmdlines: snapshot.cmdlines,
        clocks: String::from_utf8_lossy(&files.read("trace_clock")?).into_owned(),
        uname: uname(tracefs.host()),
        tool: options.tool.clone(),
        stats,
        snapshot: options.snapshot.then_some(snapshot.archive),
    };
    // Everything is read; the kernel need not wait for the disk.
    drop(instance);
    recorded.bytes = pages.iter().map(|(_, pages)| pages.size).sum();
    let mut cpus = Vec::new();
    let mut pages = pages.into_iter().peekable();
    for cpu in (0..nr_cpus).map(CpuId) {
        let of_cpu = pages.next_if(|(other, _)| *other == cpu);
        cpus.push(match of_cpu {
            Some((_, Pages { file, size })) => CpuPages {
                pages: Some(file),
                size,
            },
            None => CpuPages {
                pages: None,
                size: 0,
            },
        });
    }
    let cpus = Vec::from_iter(cpus.into_iter().map(|CpuPages { pages, size }| CpuPages {
        pages: MaybeFile(pages),
        size,
    }));
    file.write(&mut BufWriter::new(output), cpus)
        .map_err(RecordError::file("write", &options.output))?;
    Ok(recorded)
}

/// A file, or nothing.
struct MaybeFile(Option<File>);

impl Read for MaybeFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |file| file.read(buffer))
    }
}

/// Bytes of a page of the buffers: `header_page` says how many a page holds behind its header.
fn page_size(tracefs: &Tracefs) -> Result<usize, RecordError> {
    let text = tracefs.read("events/header_page")?;
    let text = String::from_utf8_lossy(&text);
    let field = |name: &str| {
        let line = text.lines().find(|line| line.contains(name))?;
        let number = |key: &str| {
            let rest = line.split_once(key)?.1;
            rest.split(';').next()?.trim().parse::<usize>().ok()
        };
        Some(number("offset:")? + number("size:")?)
    };
    // Between a page of the smallest and the largest buffer that kernels make.
    Ok(field(" data;")
        .filter(|size| (256..=1 << 26).contains(size))
        .unwrap_or(4096))
}

fn nr_cpus(files: &Tracefs) -> Result<u32, RecordError> {
    let folder = files.path("per_cpu");
    let entries = fs::read_dir(&folder).map_err(RecordError::file("read", &folder))?;
    let numbers = entries.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let cpu: u32 = name.strip_prefix("cpu")?.parse().ok()?;
        ((cpu as usize) < MOST_CPUS).then_some(cpu + 1)
    });
    Ok(numbers.max().unwrap_or(0))
}

fn set_up(
    files: &Tracefs,
    options: &RecordOptions,
    missing: &mut Vec<String>,
) -> Result<(), RecordError> {
    files.write("tracing_on", "0")?;
    files.write("trace_clock", &options.clock)?;
    files.write("buffer_size_kb", &options.buffer_kb.to_string())?;
    if let Some(cpus) = &options.cpus {
        files.write("tracing_cpumask", &cpus.to_hex())?;
    }
    let mut wanted = Vec::from_iter(SCHED.iter().map(|name| format!("sched/{name}")));
    for (is_wanted, name) in [
        (options.runtime, "sched/sched_stat_runtime"),
        (options.idle, "power/cpu_idle"),
        (options.frequency, "power/cpu_frequency"),
    ] {
        if is_wanted {
            wanted.push(name.to_owned());
        }
    }
    for event in wanted {
        let enable = format!("events/{event}/enable");
        if !files.path(&enable).exists() {
            missing.push(event);
            continue;
        }
        files.write(&enable, "1")?;
    }
    match missing.iter().find(|name| name.ends_with("/sched_switch")) {
        Some(name) => Err(RecordError::NoEvent(name.clone())),
        None => Ok(()),
    }
}

/// Ends the readers when it is dropped, however that comes about.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn run(
    files: &Tracefs,
    options: &RecordOptions,
    command: &[String],
    is_stopped: &AtomicBool,
    readers: Vec<(CpuId, PageReader)>,
    recorded: &mut Recorded,
) -> Result<Vec<(CpuId, Pages)>, RecordError> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let over = Over(&is_over);
        let threads = Vec::from_iter(
            readers
                .into_iter()
                .map(|(cpu, reader)| (cpu, scope.spawn(|| reader.run(&is_over)))),
        );
        files.write("tracing_on", "1")?;
        let has_failed = || threads.iter().any(|(_, thread)| thread.is_finished());
        recorded.status = wait(command, options.duration, &|| {
            is_stopped.load(Ordering::Acquire) || has_failed()
        })?;
        files.write("tracing_on", "0")?;
        drop(over);
        let mut pages = Vec::new();
        for (cpu, thread) in threads {
            pages.push((cpu, thread.join().map_err(|_| RecordError::Reader)??));
        }
        Ok(pages)
    })
}

/// Runs the command to its end, or until the time is over or `should_stop`.
fn wait(
    command: &[String],
    duration: Option<Duration>,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<ExitStatus>, RecordError> {
    let start = Instant::now();
    let mut child = match command {
        [] => None,
        [program, arguments @ ..] => Some(
            Command::new(program)
                .args(arguments)
                .spawn()
                .map_err(|error| RecordError::Command(program.clone(), error))?,
        ),
    };
    loop {
        if let Some(child) = &mut child
            && let Ok(Some(status)) = child.try_wait()
        {
            return Ok(Some(status));
        }
        let left = duration.map(|duration| duration.saturating_sub(start.elapsed()));
        if should_stop() || left == Some(Duration::ZERO) {
            return Ok(child.and_then(end));
        }
        thread::sleep(left.map_or(LOOK, |left| left.min(LOOK)));
    }
}

/// Asks the command to end, and waits until it does.
fn end(mut child: Child) -> Option<ExitStatus> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    let _ = rustix::process::kill_process(pid, Signal::TERM);
    child.wait().ok()
}

/// What the `stats` of a CPU's buffer say was lost.
fn lost(stats: &str) -> u64 {
    stats
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(key, _)| matches!(key.trim(), "overrun" | "commit overrun" | "dropped events"))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .fold(0, u64::saturating_add)
}

/// `Linux`, host, release, version and architecture, as `uname -a` begins.
fn uname(host: &Path) -> String {
    let word = |name: &str| {
        let text = fs::read_to_string(host.join("proc/sys/kernel").join(name)).unwrap_or_default();
        let text = text.trim();
        if text.is_empty() {
            "-".to_owned()
        } else {
            text.to_owned()
        }
    };
    format!(
        "Linux {} {} {} {}",
        word("hostname"),
        word("osrelease"),
        word("version"),
        std::env::consts::ARCH
    )
}
