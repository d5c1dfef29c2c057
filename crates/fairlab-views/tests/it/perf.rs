//! Row by row against `perf sched` on a recording that is made here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fairlab_views::{LatencyOptions, MapOptions, TimehistOptions};

use super::view;

/// Sleeps, forks, pipes and renamed children, for a moment.
const LOAD: &str =
    "for i in 1 2 3 4 5 6 7 8; do (sleep 0.01; true) & echo $i | cat >/dev/null; done; wait";

struct Recorded(PathBuf);

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A recording by perf; `None`, with a message, where there is no perf or it may not record.
fn record(name: &str) -> Option<Recorded> {
    let path =
        std::env::temp_dir().join(format!("fairlab-views-{name}-{}.data", std::process::id()));
    let recorded = Recorded(path);
    let done = Command::new("perf")
        .args(["sched", "record", "-m", "1024", "-o"])
        .arg(&recorded.0)
        .args(["sh", "-c", LOAD])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if done.is_ok_and(|status| status.success()) {
        return Some(recorded);
    }
    eprintln!("skipped: perf sched record does not work here");
    None
}

fn perf(path: &Path, view: &[&str]) -> String {
    let output = Command::new("perf")
        .args(["sched", "-i"])
        .arg(path)
        .args(view)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Does the row of perf have a name that perf does not know? It has none for tasks that it saw only
/// in tracepoints.
fn is_nameless(row: &str) -> bool {
    row.contains(" :")
}

/// Tasks that have just ended are `:-1` in perf, with whose times it goes wrong.
fn is_gone(row: &str) -> bool {
    row.contains(" :-1")
}

/// Up to the first column with a name.
fn time_and_cpu(row: &str) -> &str {
    row.get(..22).unwrap_or(row)
}

/// The row with numbers in place of tasks' names, which are written `name[7]`, `name:7` or `:7`.
fn without_names(row: &str) -> Vec<&str> {
    row.split_whitespace().map(number_of).collect()
}

fn number_of(word: &str) -> &str {
    if let Some((_, number)) = word.split_once('[') {
        return number.trim_end_matches(']');
    }
    match word.rsplit_once(':') {
        Some((_, number)) if number.parse::<u32>().is_ok() => number,
        _ => word,
    }
}

fn compare(perf: &str, ours: &str) {
    let (perf, ours) = (Vec::from_iter(perf.lines()), Vec::from_iter(ours.lines()));
    assert_eq!(perf.len(), ours.len());
    let (mut same, mut renamed) = (0, 0);
    for (perf, ours) in perf.iter().zip(&ours) {
        if perf == ours {
            same += 1;
        } else if is_gone(perf) {
            assert_eq!(time_and_cpu(perf), time_and_cpu(ours));
        } else {
            assert_eq!(without_names(perf), without_names(ours));
            if !is_nameless(perf) {
                // The kernel changes the name at an exec just before it tells perf, and an interrupt
                // in between has the new name in its events already, which perf does not look at.
                eprintln!("perf: {perf}\nours: {ours}");
                renamed += 1;
            }
        }
    }
    eprintln!("{same} of {} rows are the same to the byte", perf.len());
    assert!(
        renamed <= perf.len() / 50,
        "{renamed} rows have other names"
    );
}

#[test]
fn timehist_is_that_of_perf() {
    let Some(recorded) = record("timehist") else {
        return;
    };
    let theirs = perf(&recorded.0, &["timehist", "-MVwn"]);
    if !theirs.contains("sch delay") || theirs.contains("lost ") {
        eprintln!("skipped: perf lost events, or has another table");
        return;
    }
    let options = TimehistOptions {
        wakeups: true,
        migrations: true,
        ..TimehistOptions::default()
    };
    let mut recording = fairlab_trace::open(&recorded.0).unwrap();
    let (ours, _) = view::timehist(&mut recording, options, |columns| {
        (columns.cpus, columns.next, columns.wakeups) = (true, true, true);
    });
    compare(&theirs, &ours);
}

#[test]
fn latency_and_map_are_those_of_perf() {
    let Some(recorded) = record("latency") else {
        return;
    };
    let version = Command::new("perf").arg("--version").output().unwrap();
    if !String::from_utf8_lossy(&version.stdout).contains("version 6.1.") {
        eprintln!("skipped: another perf than 6.1 counts other delays");
        return;
    }
    let mut recording = fairlab_trace::open(&recorded.0).unwrap();
    let table = view::latency(
        &mut recording,
        LatencyOptions {
            per_task: true,
            ..LatencyOptions::default()
        },
    );
    let mut ours = Vec::new();
    table.write(&mut ours).unwrap();
    let theirs = perf(&recorded.0, &["latency", "-p"]);
    // Rows without delay are ordered by run time, which nameless ones share.
    compare(&theirs, &String::from_utf8(ours).unwrap());
    recording.rewind().unwrap();
    let nr_cpus = recording.metadata().nr_cpus.unwrap();
    let options = MapOptions {
        nr_cpus,
        ..MapOptions::default()
    };
    compare(
        &perf(&recorded.0, &["map"]),
        &view::map(&mut recording, options),
    );
}
