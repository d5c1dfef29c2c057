//! Traces of simulated runs.

use std::fs;

use crate::run::{answer, fairlab, json};

const WORKLOAD: &str = "hackbench -g 1 -f 2 -l 20";

fn path(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_run_writes_all_its_events_as_ftrace_prints_them() {
    let file = path("run.txt");
    let report = json(&["run", WORKLOAD, "--machine", "1s:4c", "--trace", &file]);
    let text = fs::read_to_string(&file).unwrap();
    let events = text.lines().filter(|line| !line.starts_with('#')).count();
    // One line per CPU says that it idles at the start.
    assert_eq!(events as u64, report["events"].as_u64().unwrap() + 4);
    let switches = text
        .lines()
        .filter(|line| line.contains(": sched_switch: "));
    assert_eq!(
        switches.count() as u64,
        report["counts"]["switches"].as_u64().unwrap()
    );
}

#[test]
fn a_perfetto_trace_may_take_the_place_of_the_output() {
    let (file, other) = (path("run.pftrace"), path("other.pftrace"));
    let report = answer(&["run", WORKLOAD, "--machine", "1s:4c", "-o", &file]);
    assert!(report.contains("context switches"), "{report}");
    let _ = answer(&["run", WORKLOAD, "--machine", "1s:4c", "--trace", &other]);
    assert_eq!(fs::read(&file).unwrap(), fs::read(&other).unwrap());
}

#[test]
fn an_unknown_suffix_is_refused() {
    let run = fairlab(&["run", WORKLOAD, "--machine", "1s:4c", "--trace", "run.bin"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains(".pftrace"), "{}", run.stderr);
}
