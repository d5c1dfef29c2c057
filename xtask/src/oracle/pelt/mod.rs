//! Recordings of kind `pelt`: one record per load-average update, with the state before and after.
//!
//! Every record stands alone: the state before and the inputs give the state after, to the bit.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use fairlab_kernel::{Area, Feature, Kernel, Release};
use fairlab_pelt::{EntityState, PeltTime, QueueAvg, QueueState, SchedAvg, UtilEst};
use fairlab_units::CAPACITY_SCALE;
use serde::Deserialize;

mod follow;

use follow::Follower;

/// How many differences are printed in full.
const SHOWN: usize = 10;

/// The signals as recorded: `lut`, `load_sum`, `runnable_sum`, `util_sum`, `period_contrib`,
/// `load_avg`, `runnable_avg`, `util_avg`, `util_est`, `util_est_ewma`.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Signals(u64, u64, u64, u32, u32, u64, u64, u64, u32, u32);

impl Signals {
    fn avg(self) -> SchedAvg {
        SchedAvg {
            last_update_time: PeltTime(self.0),
            load_sum: self.1,
            runnable_sum: self.2,
            util_sum: self.3,
            period_contrib: self.4,
            load_avg: self.5,
            runnable_avg: self.6,
            util_avg: self.7,
            util_est: UtilEst {
                enqueued: self.8,
                ewma: self.9,
            },
        }
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    seq: u64,
    #[serde(borrow, rename = "fn")]
    function: &'a str,
    se: i64,
    cfs_rq: i64,
    ret: i64,
    now: u64,
    weight: u64,
    runnable_weight: u64,
    on_rq: u8,
    is_curr: u8,
    sched_delayed: u8,
    is_group: u8,
    h_nr_runnable: u64,
    has_curr: u8,
    clock_pelt: u64,
    lost_idle: u64,
    before: Signals,
    after: Signals,
}

impl Record<'_> {
    fn entity(&self) -> EntityState {
        EntityState {
            weight: self.weight,
            runnable_weight: self.weight,
            on_rq: self.on_rq != 0,
            runnable: match (self.sched_delayed, self.is_group) {
                (1.., _) => 0,
                (0, 0) => u64::from(self.on_rq),
                (0, _) => self.runnable_weight,
            },
            is_running: self.is_curr != 0,
        }
    }

    /// The state after, and what the function returns, as computed from the state before.
    /// `None` for a function that this comparison does not know.
    fn replay(&self, kernel: &Kernel) -> Option<(SchedAvg, bool)> {
        let mut avg = self.before.avg();
        let now = PeltTime(self.now);
        let ret = match self.function {
            "se" => avg.update(kernel, now, &self.entity()),
            "blocked_se" => avg.update_blocked(kernel, now, &self.entity()),
            "cfs_rq" => {
                let mut queue = QueueAvg {
                    avg,
                    ..QueueAvg::default()
                };
                let ret = queue.update_signals(
                    kernel,
                    now,
                    &QueueState {
                        weight: self.weight,
                        runnable_weight: self.weight,
                        h_nr_runnable: self.h_nr_runnable,
                        has_curr: self.has_curr != 0,
                    },
                );
                avg = queue.avg;
                ret
            }
            "util_est" => {
                // The record ends right after the store. Where the entity update comes first, it
                // sees the running task on its queue, whatever the recorded flag says by then.
                if !kernel.has(Feature::UTIL_EST_EARLY) {
                    let now = PeltTime(self.clock_pelt.wrapping_sub(self.lost_idle));
                    avg.update(kernel, now, &EntityState::task(self.weight, true, true));
                }
                // Calls that store nothing are not recorded; none of these guests has a CPU of
                // another capacity.
                avg.update_util_est(kernel, CAPACITY_SCALE)
            }
            _ => return None,
        };
        Some((avg, ret))
    }
}

#[derive(Clone, Copy, Default)]
struct Count {
    equal: u64,
    all: u64,
}

impl Count {
    fn add(&mut self, is_equal: bool) -> bool {
        self.all += 1;
        self.equal += u64::from(is_equal);
        is_equal
    }

    fn merge(&mut self, other: Self) {
        self.all += other.all;
        self.equal += other.equal;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} equal", self.equal, self.all)
    }
}

#[derive(Default)]
struct Tally {
    counts: BTreeMap<(Release, String), Count>,
    attachments: BTreeMap<Release, Count>,
    first_utils: BTreeMap<Release, Count>,
    shown: usize,
    skipped: BTreeMap<String, u64>,
}

/// Compares every recording below `path`.
pub fn run(path: &Path) -> Result<ExitCode> {
    let mut files = Vec::new();
    find_recordings(path, &mut files)?;
    if files.is_empty() {
        bail!(
            "no recordings below {}: name a .jsonl.zst file or a folder that holds some",
            path.display()
        );
    }
    let mut tally = Tally::default();
    for file in &files {
        compare(file, &mut tally).with_context(|| format!("in {}", file.display()))?;
    }
    Ok(report(&tally))
}

fn report(tally: &Tally) -> ExitCode {
    let mut total = Count::default();
    for ((release, function), count) in &tally.counts {
        println!("{release} {function}: {count}");
        total.merge(*count);
    }
    for (function, n) in &tally.skipped {
        println!("unknown function {function}: {n} records not compared");
    }
    println!("{total}");
    println!("\nbetween the records:");
    for (release, count) in &tally.attachments {
        println!("{release} attachments: {count}");
    }
    for (release, count) in &tally.first_utils {
        println!(
            "{release} first utilization of tasks that look new: {count} \
             (others may have been migrated, or their queue updated, in between)"
        );
    }
    let attachments_agree = tally.attachments.values().all(|c| c.equal == c.all);
    if total.equal == total.all && total.all > 0 && tally.skipped.is_empty() && attachments_agree {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Recordings at or below `path`, in the order of their names.
fn find_recordings(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let problem = || format!("cannot read {}", path.display());
    if !fs::metadata(path).with_context(problem)?.is_dir() {
        files.push(path.into());
        return Ok(());
    }
    let entries = fs::read_dir(path).with_context(problem)?;
    let mut entries: Vec<_> = entries.collect::<Result<_, _>>().with_context(problem)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.path().is_dir() || (name.ends_with(".jsonl.zst") && !name.starts_with("domains")) {
            find_recordings(&entry.path(), files)?;
        }
    }
    Ok(())
}

/// The kernel that a recording comes from: `machine.json` beside it says so, else a folder's name.
fn kernel_of(file: &Path) -> Result<Kernel> {
    #[derive(Deserialize)]
    struct Machine {
        kernel: String,
        outputs: Outputs,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Outputs {
        tunables: Knobs,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Knobs {
        features: Vec<String>,
    }
    let machine = file.with_file_name("machine.json");
    // The suffix of a recording of another boot is that of its machine file.
    let machine = file
        .file_name()
        .and_then(|name| name.to_str()?.strip_suffix(".jsonl.zst"))
        .and_then(|stem| {
            Some(file.with_file_name(format!("machine-{}.json", stem.rsplit_once('-')?.1)))
        })
        .filter(|other| !machine.exists() && other.exists())
        .unwrap_or(machine);
    if machine.exists() {
        let text = fs::read_to_string(&machine)
            .with_context(|| format!("cannot read {}", machine.display()))?;
        let facts: Machine = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a machine file", machine.display()))?;
        if let Some(release) = Release::from_name(&facts.kernel) {
            let mut kernel = Kernel::of(release);
            for name in &facts.outputs.tunables.features {
                let (name, on) = match name.strip_prefix("NO_") {
                    Some(name) => (name, false),
                    None => (name.as_str(), true),
                };
                if let Some(feature) =
                    Feature::from_name(name).filter(|f| f.area() == Area::Utilization)
                {
                    kernel = kernel.with(feature, on);
                }
            }
            return Ok(kernel);
        }
    }
    file.ancestors()
        .filter_map(|folder| Release::from_name(folder.file_name()?.to_str()?))
        .map(Kernel::of)
        .next()
        .context(
            "no machine.json beside it and no folder named after a kernel: cannot tell the kernel",
        )
}

/// Is this a line of a pelt recording? Folders hold recordings of other kinds too.
fn is_pelt(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Probe {
        #[serde(rename = "fn")]
        _function: String,
        #[serde(rename = "before")]
        _before: Signals,
    }
    serde_json::from_str::<Probe>(line).is_ok()
}

fn compare(file: &Path, tally: &mut Tally) -> Result<()> {
    let kernel = kernel_of(file)?;
    let bytes = File::open(file).context("cannot open")?;
    let mut lines = BufReader::with_capacity(1 << 17, zstd::Decoder::new(bytes)?);
    let mut line = String::new();
    let mut follower = Follower::default();
    for number in 1.. {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            break;
        }
        if number == 1 && !is_pelt(&line) {
            eprintln!("{}: not a recording of kind pelt, skipped", file.display());
            return Ok(());
        }
        let record: Record<'_> = serde_json::from_str(&line)
            .with_context(|| format!("line {number} is not a pelt record"))?;
        let Some((avg, ret)) = record.replay(&kernel) else {
            *tally.skipped.entry(record.function.into()).or_default() += 1;
            continue;
        };
        let wanted = record.after.avg();
        // The answer of the estimate's update was not recorded, only that it stored.
        let wanted_ret = record.function == "util_est" || record.ret != 0;
        let key = (kernel.release, record.function.into());
        let count = tally.counts.entry(key).or_default();
        if !count.add(avg == wanted && ret == wanted_ret) {
            tally.show(file, || {
                format!(
                    "line {number}, seq {}, {}:\n  recorded {wanted_ret} {wanted:?}\n  computed {ret} {avg:?}",
                    record.seq, record.function
                )
            });
        }
        if let Some(difference) = follower.take(&kernel, &record) {
            tally.show(file, || difference);
        }
    }
    let counts = &mut tally.attachments;
    counts
        .entry(kernel.release)
        .or_default()
        .merge(follower.attachments);
    let counts = &mut tally.first_utils;
    counts
        .entry(kernel.release)
        .or_default()
        .merge(follower.first_utils);
    Ok(())
}

impl Tally {
    fn show(&mut self, file: &Path, difference: impl FnOnce() -> String) {
        if self.shown < SHOWN {
            self.shown += 1;
            println!("{} {}", file.display(), difference());
        }
    }
}
