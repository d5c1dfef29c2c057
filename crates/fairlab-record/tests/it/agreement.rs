//! The same moment recorded by perf, by trace-cmd and by us.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fairlab_record::{RecordOptions, Tracefs, record};
use fairlab_trace::EventKind;

/// The clock that perf uses, under its name in tracefs.
const CLOCK: &str = "perf";
/// Each tool reads the clock for itself; edges of the compared time keep this far from any switch.
const MARGIN_NS: u64 = 50_000;

/// A file that goes away with the test.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn file(name: &str) -> File {
    File(std::env::temp_dir().join(format!("fairlab-agreement-{}-{name}", std::process::id())))
}

/// Time, CPU, and the tasks that a switch took off and put on it.
type Switch = (u64, u32, u32, u32);

/// All switches; `None` when some were lost, and nothing can be compared.
fn switches(path: &Path) -> Option<Vec<Switch>> {
    let mut recording = fairlab_trace::open(path).unwrap();
    let mut switches = Vec::new();
    for event in recording.by_ref() {
        if let EventKind::Switch { prev, next, .. } = event.kind {
            let number = |task: Option<fairlab_units::TaskId>| task.map_or(0, |task| task.0);
            switches.push((event.time.0, event.cpu.0, number(prev), number(next)));
        }
    }
    (recording.ledger().nr_losses() == 0).then_some(switches)
}

/// From when to when all CPUs were recorded: recorders begin and end with one CPU after the other.
fn span(switches: &[Switch]) -> Option<(u64, u64)> {
    let mut by_cpu = BTreeMap::new();
    for &(time, cpu, ..) in switches {
        by_cpu.entry(cpu).or_insert((time, time)).1 = time;
    }
    let begin = by_cpu.values().map(|(first, _)| *first).max()?;
    let end = by_cpu.values().map(|(_, last)| *last).min()?;
    Some((begin, end))
}

/// The first time from `from` on with no switch near it.
fn quiet(switches: &[Switch], from: u64) -> Option<u64> {
    let times = switches
        .iter()
        .map(|switch| switch.0)
        .filter(|&time| time >= from);
    let times = Vec::from_iter(times);
    times
        .windows(2)
        .find(|pair| pair[1] - pair[0] > 2 * MARGIN_NS)
        .map(|pair| pair[0] + MARGIN_NS)
}

/// How often each task was put on each CPU within a time.
fn counts(switches: &[Switch], from: u64, to: u64) -> BTreeMap<(u32, u32), u32> {
    let mut counts = BTreeMap::new();
    for &(time, cpu, _, next) in switches {
        if (from..to).contains(&time) {
            *counts.entry((cpu, next)).or_default() += 1;
        }
    }
    counts
}

fn start(program: &str, arguments: &[&str], output: &File, load: &[&str]) -> Option<Child> {
    Command::new(program)
        .args(arguments)
        .arg("-o")
        .arg(&output.0)
        .args(load)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

#[test]
fn three_recorders_of_one_moment_tell_of_the_same_switches() {
    let tracefs = match Tracefs::of_host(Path::new("/")) {
        Ok(tracefs) => tracefs,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    let (ours, perfs, trace_cmds) = (file("ours.dat"), file("perf.data"), file("trace-cmd.dat"));
    let done = file("done");
    let until = format!("until test -e {}; do sleep 0.05; done", done.0.display());
    let nap = ["sh", "-c", until.as_str()];
    let others = [
        start(
            "perf",
            &["record", "-a", "-m", "2048", "-e", "sched:sched_switch"],
            &perfs,
            &nap,
        ),
        start(
            "trace-cmd",
            &["record", "-C", CLOCK, "-b", "8192", "-e", "sched_switch"],
            &trace_cmds,
            &nap,
        ),
    ];
    // They need some time to begin.
    std::thread::sleep(Duration::from_millis(700));
    let options = RecordOptions {
        output: ours.0.clone(),
        buffer_kb: 8192,
        cpus: None,
        duration: None,
        clock: CLOCK.into(),
        runtime: false,
        idle: false,
        frequency: false,
        snapshot: false,
        tool: "a test".into(),
    };
    let load =
        "for i in 1 2 3 4 5 6 7 8; do (sleep 0.02; true) & echo $i | cat >/dev/null; done; wait";
    let command = ["sh", "-c", load].map(str::to_owned);
    let recorded = record(&tracefs, &options, &command, &AtomicBool::new(false));
    std::fs::write(&done.0, "").unwrap();
    recorded.unwrap();
    let Some(ours) = switches(&ours.0) else {
        eprintln!("skipped: events were lost");
        return;
    };
    for (other, output) in others.into_iter().zip([perfs, trace_cmds]) {
        let has_worked = other.is_some_and(|mut child| child.wait().is_ok_and(|s| s.success()));
        if !has_worked {
            eprintln!("skipped: no recording at {}", output.0.display());
            continue;
        }
        let Some(theirs) = switches(&output.0) else {
            eprintln!("skipped: events were lost at {}", output.0.display());
            continue;
        };
        let (Some(of_ours), Some(of_theirs)) = (span(&ours), span(&theirs)) else {
            eprintln!("skipped: no switches at {}", output.0.display());
            continue;
        };
        let begin = of_ours.0.max(of_theirs.0);
        let end = of_ours.1.min(of_theirs.1);
        let Some(from) = quiet(&ours, begin + MARGIN_NS) else {
            eprintln!("skipped: no quiet moment at the beginning");
            continue;
        };
        let late = begin + end.saturating_sub(begin) / 10 * 8;
        let Some(to) = quiet(&ours, late).filter(|&to| to < end) else {
            eprintln!("skipped: no quiet moment at the end");
            continue;
        };
        let (of_ours, of_theirs) = (counts(&ours, from, to), counts(&theirs, from, to));
        eprintln!(
            "{}: {} switches of {} tasks within {} ms",
            output.0.display(),
            of_ours.values().sum::<u32>(),
            of_ours.len(),
            to.saturating_sub(from) / 1_000_000
        );
        assert_eq!(of_ours, of_theirs);
    }
}
