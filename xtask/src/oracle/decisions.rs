//! Recordings of kind `decisions`: each call of `select_task_rq_fair()`, with the state of every CPU.
//!
//! A record is certain when no other CPU changed what the function may have read (`changed` is 0) and
//! the idle-core hints are the same before and after, or differ only as the function itself clears
//! them. Certain records have to agree; others are counted apart.

pub(super) mod record;
mod report;
pub(super) mod view;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::{Event, Explain, Outcome, Scratch, WakeFlags, explain_task_rq_fair};
use fairlab_topology::Domains;
use fairlab_topology::domains::{CapacityId, SharedId};
use fairlab_units::CpuId;

use record::Record;
use report::Table;
use view::{Snapshot, mask};

/// How many differences are printed in full.
const SHOWN: usize = 20;

/// Compares every recording below `path`.
pub fn run(path: &Path) -> Result<ExitCode> {
    let mut files = Vec::new();
    find_recordings(path, &mut files)?;
    let mut comparison = Comparison::default();
    let mut compared = 0;
    for file in &files {
        if holds_decisions(file)? {
            compared += 1;
            comparison
                .file(file)
                .with_context(|| format!("in {}", file.display()))?;
        }
    }
    if compared == 0 {
        bail!(
            "no recording of decisions below {}: give a .jsonl or .jsonl.zst file, or a folder with some",
            path.display()
        );
    }
    Ok(comparison.finish(compared))
}

pub(super) fn find_recordings(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let meta = fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
    if !meta.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries: Vec<PathBuf> = fs::read_dir(path)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    for entry in entries {
        let name = entry.file_name().and_then(|n| n.to_str()).unwrap_or("");
        if entry.is_dir() || (stem(name).is_some() && !name.starts_with("domains")) {
            find_recordings(&entry, files)?;
        }
    }
    Ok(())
}

/// The name of a file of lines without its ending, compressed or not.
fn stem(name: &str) -> Option<&str> {
    let lines = name.strip_suffix(".zst").unwrap_or(name);
    lines.strip_suffix(".jsonl")
}

/// Calls `each` with every line of a file, compressed or not, until it answers false.
pub(super) fn for_each_line(path: &Path, mut each: impl FnMut(&str) -> Result<bool>) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut reader: Box<dyn BufRead> = if path.extension().is_some_and(|e| e == "zst") {
        Box::new(BufReader::new(zstd::Decoder::new(file)?))
    } else {
        Box::new(BufReader::new(file))
    };
    let mut line = String::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        let read = reader
            .read_line(&mut line)
            .with_context(|| format!("cannot read {}", path.display()))?;
        if read == 0 {
            return Ok(());
        }
        if !each(&line).with_context(|| format!("{} line {number}", path.display()))? {
            return Ok(());
        }
    }
}

/// Other kinds of recordings may lie in the same folder.
fn holds_decisions(path: &Path) -> Result<bool> {
    let mut found = false;
    for_each_line(path, |line| {
        found = line.contains("\"wake_flags\"") && line.contains("\"cpus\"");
        Ok(false)
    })?;
    Ok(found)
}

/// The file of a boot's domains.
fn domains_in(folder: &Path, suffix: &str) -> PathBuf {
    let plain = folder.join(format!("domains{suffix}.jsonl"));
    if plain.exists() {
        return plain;
    }
    folder.join(format!("domains{suffix}.jsonl.zst"))
}

/// Where a recording came from.
pub(super) struct Source {
    pub(super) kernel: Kernel,
    machine: serde_json::Value,
    pub(super) domains: PathBuf,
    pub(super) topology: String,
    workload: String,
    /// Were the imbalance flags of groups recorded?
    has_imbalance: bool,
}

impl Source {
    /// A recording is named `WORKLOAD-SEED.jsonl` or `WORKLOAD-SEED-SUFFIX.jsonl`, compressed or not; the suffix
    /// (or a seed of 0) also names the boot's `machine` and `domains` files.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let name = stem(name).unwrap_or(name);
        let mut parts = name.split('-');
        let workload = parts.next().unwrap_or("").to_owned();
        let seed = parts.next().unwrap_or("");
        let suffix = match parts.next() {
            Some(suffix) => format!("-{suffix}"),
            None if seed == "0" && folder.join("machine-0.json").exists() => "-0".into(),
            None => String::new(),
        };
        let machine = folder.join(format!("machine{suffix}.json"));
        let text = fs::read_to_string(&machine).with_context(|| {
            format!(
                "cannot read {}, which belongs to the recording",
                machine.display()
            )
        })?;
        let machine: serde_json::Value = serde_json::from_str(&text)?;
        let release = machine["kernel"].as_str().unwrap_or("");
        let release = Release::from_name(release)
            .with_context(|| format!("unknown kernel {release:?} in the machine file"))?;
        let mut kernel = Kernel::of(release);
        if let Some(hz) = machine["hz"].as_u64() {
            kernel.tunables.hz = hz;
        }
        let features = machine["outputs"]["tunables"]["features"].as_array();
        for name in features.into_iter().flatten().filter_map(|f| f.as_str()) {
            let (name, on) = match name.strip_prefix("NO_") {
                Some(name) => (name, false),
                None => (name, true),
            };
            if let Some(feature) = Feature::from_name(name) {
                kernel = kernel.with(feature, on);
            }
        }
        Ok(Self {
            kernel,
            domains: domains_in(folder, &suffix),
            topology: machine["topology"].as_str().unwrap_or("?").to_owned(),
            machine,
            workload,
            has_imbalance: seed == "2",
        })
    }
}

/// Keeps the groups chosen in the slow path.
#[derive(Default)]
struct Watch {
    slow: Vec<(u32, u32, Option<String>)>,
    levels: Vec<u32>,
}

impl Explain for Watch {
    fn note(&mut self, event: Event<'_>) {
        if let Event::GroupChosen { domain, cpu, group } = event {
            let level = self.levels[domain.0 as usize];
            self.slow.push((level, cpu.0, group.map(|g| g.to_hex())));
        }
    }
}

/// One answer of ours, in the recording's terms.
struct Answer {
    outcome: Outcome,
    slow: Vec<(u32, u32, Option<String>)>,
}

fn decide(snapshot: &Snapshot<'_>, scratch: &mut Scratch) -> Result<Answer> {
    let record = snapshot.record;
    let (p_allowed, cur_allowed) = (
        mask(&record.p.cpus_allowed)?,
        mask(&record.cur.cpus_allowed)?,
    );
    let p = snapshot.task(&record.p, &p_allowed, record.p.pid == record.cur.pid);
    let current = snapshot.task(&record.cur, &cur_allowed, true);
    let mut watch = Watch {
        levels: snapshot.domains.domains().iter().map(|d| d.level).collect(),
        ..Watch::default()
    };
    let outcome = explain_task_rq_fair(
        snapshot,
        snapshot.kernel,
        &snapshot.context(),
        &p,
        &current,
        scratch,
        &mut watch,
    );
    Ok(Answer {
        outcome,
        slow: watch.slow,
    })
}

/// Differences between the record and an answer, in words.
fn differences(snapshot: &Snapshot<'_>, answer: &Answer) -> Result<Vec<String>> {
    let record = snapshot.record;
    let mut found = Vec::new();
    let mut check = |what: &str, recorded: String, ours: String| {
        if recorded != ours {
            found.push(format!("{what}: recorded {recorded}, ours {ours}"));
        }
    };
    let decision = answer.outcome.decision;
    check("cpu", record.ret.to_string(), decision.cpu.to_string());

    let recorded: Vec<_> = record
        .slow
        .iter()
        .map(|s| (s.0, s.1, s.2.clone()))
        .collect();
    check(
        "groups",
        format!("{recorded:?}"),
        format!("{:?}", answer.slow),
    );

    let effects = answer.outcome.effects;
    let recent = match effects.recent_used_cpu {
        Some(cpu) => i64::from(cpu.0),
        None => record.p.recent_used_cpu,
    };
    let after = record.after.p.first().copied().unwrap_or(0) as i64;
    check("recent_used_cpu", after.to_string(), recent.to_string());

    let flips = effects
        .waker
        .map_or(record.cur.wakee_flips, |w| w.wakee_flips);
    check(
        "wakee_flips",
        record.after.cur_wakee_flips.to_string(),
        flips.to_string(),
    );

    if record.wake_flags & WakeFlags::EXEC != 0 && effects.synced {
        let aged = snapshot.aged(&record.p);
        let ours = [
            aged.last_update_time.0,
            aged.load_sum,
            aged.runnable_sum,
            u64::from(aged.util_sum),
            u64::from(aged.period_contrib),
            aged.load_avg,
            aged.runnable_avg,
            aged.util_avg,
        ];
        let recorded = record.after.p.get(1..9).unwrap_or(&[]);
        check("signals", format!("{recorded:?}"), format!("{ours:?}"));
    }
    Ok(found)
}

/// Are the hints after the call those before it, apart from what our answer clears?
fn hints_agree(snapshot: &Snapshot<'_>, cleared: Option<SharedId>) -> Result<bool> {
    let after = mask(&snapshot.record.after.has_idle_cores)?;
    for cpu in snapshot.active.iter() {
        let Some(shared) = snapshot.domains.cached(cpu).llc_shared else {
            continue;
        };
        use fairlab_policy::MachineView as _;
        let expected = snapshot.has_idle_cores(shared) && cleared != Some(shared);
        if after.test(cpu) != expected {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Finds a value of something unrecorded with which the answer agrees.
fn explanation(
    snapshot: &mut Snapshot<'_>,
    has_imbalance: bool,
    scratch: &mut Scratch,
) -> Result<Option<String>> {
    snapshot.jiffies_later = 1;
    let answer = decide(snapshot, scratch)?;
    let agrees = differences(snapshot, &answer)?.is_empty();
    snapshot.jiffies_later = 0;
    if agrees {
        return Ok(Some("jiffies one later than recorded".into()));
    }
    if has_imbalance || snapshot.record.slow.is_empty() {
        return Ok(None);
    }
    // The imbalance flag of one group, or of two, of the domains that were walked.
    let mut groups: Vec<(CapacityId, String)> = Vec::new();
    for step in &snapshot.record.slow {
        for id in snapshot.domains.chain(CpuId(step.1)) {
            let domain = snapshot.domains.domain(id);
            if domain.level != step.0 {
                continue;
            }
            for group in snapshot.domains.groups(id) {
                if !groups.iter().any(|(known, _)| *known == group.capacity) {
                    let span = snapshot.domains.mask(group.span);
                    groups.push((group.capacity, format!("{} {{{span}}}", domain.name)));
                }
            }
        }
    }
    for (i, first) in groups.iter().enumerate() {
        for second in &groups[i..] {
            snapshot.imbalanced = vec![first.0, second.0];
            let answer = decide(snapshot, scratch)?;
            let agrees = differences(snapshot, &answer)?.is_empty();
            snapshot.imbalanced.clear();
            if agrees {
                let names = if first.0 == second.0 {
                    first.1.clone()
                } else {
                    format!("{} and {}", first.1, second.1)
                };
                return Ok(Some(format!("imbalance flag of {names} set")));
            }
        }
    }
    Ok(None)
}

#[derive(Default)]
struct Comparison {
    by_kernel: Table,
    by_topology: Table,
    by_workload: Table,
    by_event: Table,
    by_reason: Table,
    certain: u64,
    uncertain: u64,
    uncertain_equal: u64,
    cleared: u64,
    /// Of the uncertain ones: only a hint changed, and not by our doing.
    hint_moved: u64,
    hint_moved_equal: u64,
    explained: Vec<String>,
    unexplained: Vec<String>,
    uncertain_differences: Vec<String>,
}

impl Comparison {
    fn file(&mut self, path: &Path) -> Result<()> {
        let source = Source::of(path)?;
        let mut domains: Option<Domains> = None;
        let mut scratch = Scratch::new(1);
        for_each_line(path, |line| {
            let record: Record = serde_json::from_str(line)?;
            if domains.is_none() {
                scratch = Scratch::new(record.cpus.len());
                domains = Some(view::read_domains_of_boot(
                    &source.domains,
                    &source.machine,
                    &source.kernel,
                    &record.cpus,
                )?);
            }
            if let Some(domains) = &domains {
                self.record(path, &source, domains, &record, &mut scratch)?;
            }
            Ok(true)
        })
    }

    fn record(
        &mut self,
        path: &Path,
        source: &Source,
        domains: &Domains,
        record: &Record,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mut snapshot = Snapshot::new(record, &source.kernel, domains)?;
        let answer = decide(&snapshot, scratch)?;
        let mut found = differences(&snapshot, &answer)?;
        let unchanged = mask(&record.changed)?.is_empty();
        let cleared = answer.outcome.effects.clear_idle_cores;
        let as_cleared = hints_agree(&snapshot, cleared)?;
        let certain = unchanged && (as_cleared || hints_agree(&snapshot, None)?);
        if certain && !as_cleared {
            found.push("hint: recorded set, ours cleared".into());
        }
        if unchanged && !certain {
            self.hint_moved += 1;
            self.hint_moved_equal += u64::from(found.is_empty());
        }
        if certain && answer.outcome.effects.clear_idle_cores.is_some() {
            self.cleared += 1;
        }
        let equal = found.is_empty();

        let event = match record.wake_flags {
            f if f & WakeFlags::TTWU != 0 && f & WakeFlags::SYNC != 0 => "sync wakeup",
            f if f & WakeFlags::TTWU != 0 => "wakeup",
            f if f & WakeFlags::FORK != 0 => "fork",
            _ => "exec",
        };
        let release = source.kernel.release;
        let reason = answer.outcome.decision.reason;
        self.by_kernel.add(release.to_string(), certain, equal);
        self.by_topology
            .add(format!("{release} {}", source.topology), certain, equal);
        self.by_workload
            .add(source.workload.clone(), certain, equal);
        self.by_event.add(event.into(), certain, equal);
        self.by_reason.add(reason.to_string(), certain, equal);
        if certain {
            self.certain += 1;
        } else {
            self.uncertain += 1;
            self.uncertain_equal += u64::from(equal);
        }
        if equal {
            return Ok(());
        }
        let what = format!(
            "{} seq {} t {} {event} of {} ({reason}): {}",
            path.display(),
            record.seq,
            record.t,
            record.p.comm,
            found.join("; ")
        );
        if !certain {
            self.uncertain_differences.push(what);
        } else if let Some(why) = explanation(&mut snapshot, source.has_imbalance, scratch)? {
            self.explained.push(format!("{what}; explained by: {why}"));
        } else {
            self.unexplained.push(what);
        }
        Ok(())
    }

    fn finish(self, files: usize) -> ExitCode {
        self.by_kernel.print("kernel");
        self.by_topology.print("topology");
        self.by_workload.print("workload");
        self.by_event.print("event");
        self.by_reason.print("reason");

        if !self.uncertain_differences.is_empty() {
            println!("\nfirst differences of uncertain records:");
            for line in self.uncertain_differences.iter().take(SHOWN / 4) {
                println!("  {line}");
            }
        }
        if !self.explained.is_empty() {
            println!("\ncertain records explained by an unrecorded input:");
            for line in &self.explained {
                println!("  {line}");
            }
        }
        if !self.unexplained.is_empty() {
            println!("\ncertain records that differ:");
            for line in self.unexplained.iter().take(SHOWN) {
                println!("  {line}");
            }
        }
        println!(
            "\nof the uncertain records {} had only a hint changed by another CPU; {} of them equal",
            self.hint_moved, self.hint_moved_equal
        );
        let differ = self.unexplained.len() as u64;
        let explained = self.explained.len() as u64;
        println!(
            "{} of {} certain records equal in {files} files ({explained} more explained, {differ} not; {} cleared the hint); {} of {} uncertain records equal",
            self.certain - differ - explained,
            self.certain,
            self.cleared,
            self.uncertain_equal,
            self.uncertain
        );
        if differ == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets the imbalance flag of one group, takes our answer for the recorded one, and looks whether
    /// the flag is found again.
    #[test]
    fn a_forgotten_imbalance_flag_is_found() -> Result<()> {
        let data = std::env::var("FAIRLAB_DATA").unwrap_or_else(|_| "../../shared".into());
        let file = Path::new(&data).join("oracle/decisions/7.2/s2c4t2/fork-1.jsonl.zst");
        if !file.exists() {
            eprintln!("skipped: no recordings at {}", file.display());
            return Ok(());
        }
        let source = Source::of(&file)?;
        let (mut changed, mut explained) = (0, 0);
        for_each_line(&file, |line| {
            let mut record: Record = serde_json::from_str(line)?;
            if record.slow.is_empty() || changed == 20 {
                return Ok(changed < 20);
            }
            let domains = view::read_domains_of_boot(
                &source.domains,
                &source.machine,
                &source.kernel,
                &record.cpus,
            )?;
            let mut scratch = Scratch::new(record.cpus.len());
            let flagged = domains
                .chain(CpuId(record.this_cpu))
                .flat_map(|id| domains.groups(id))
                .map(|group| group.capacity);
            for capacity in flagged {
                let mut snapshot = Snapshot::new(&record, &source.kernel, &domains)?;
                let plain = decide(&snapshot, &mut scratch)?;
                if !differences(&snapshot, &plain)?.is_empty() {
                    break;
                }
                snapshot.imbalanced = vec![capacity];
                let other = decide(&snapshot, &mut scratch)?;
                if other.slow == plain.slow {
                    continue;
                }
                record.ret = other.outcome.decision.cpu.0;
                record.slow = other
                    .slow
                    .iter()
                    .map(|(level, cpu, span)| record::SlowStep(*level, *cpu, span.clone()))
                    .collect();
                changed += 1;
                let mut snapshot = Snapshot::new(&record, &source.kernel, &domains)?;
                let why = explanation(&mut snapshot, false, &mut scratch)?;
                explained += u32::from(why.is_some_and(|w| w.contains("imbalance flag")));
                break;
            }
            Ok(true)
        })?;
        assert!(changed > 0, "no record depends on a flag");
        assert_eq!(explained, changed);
        Ok(())
    }
}
