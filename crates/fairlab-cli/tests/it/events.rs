//! `fairlab events` on a small recording.

use std::path::PathBuf;

use crate::run::{answer, fairlab, json};

const TRACE: &str = "\
  <idle>-0    [001] d..2.    12.000001: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=bash next_pid=7 next_prio=120
CPU:1 [LOST 3 EVENTS]
    bash-7    [001] d..2.    12.000101: sched_wakeup: comm=sshd pid=9 prio=120 target_cpu=000
    bash-7    [001] d..2.    12.000201: sched_switch: prev_comm=bash prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
    bash-7    [001] d..2.    12.000301: sched_switch: cut
";

fn recording() -> PathBuf {
    let path = std::env::temp_dir().join(format!(
        "fairlab-events-{}-{:?}.txt",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::write(&path, TRACE).unwrap();
    path
}

#[test]
fn the_summary_tells_counts_and_losses() {
    let path = recording();
    let text = answer(&["events", path.to_str().unwrap()]);
    for wanted in [
        "3 sched_switch",
        "1 sched_wakeup",
        "3 events lost at 1 places",
        "12.000101000 CPU 1: 3",
        "line 5:",
        "sched_migrate_task  moves between",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let value = json(&["events", path.to_str().unwrap()]);
    assert_eq!(value["events"]["sched_switch"], 3);
    assert_eq!(value["lost_events"], 3);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn events_are_listed_by_task_cpu_and_time() {
    let path = recording();
    let path_text = path.to_str().unwrap();
    let all = answer(&["events", path_text, "--list"]);
    assert!(all.contains("switch       idle R ==> bash:7"), "{all}");
    let one = answer(&[
        "events",
        path_text,
        "--list",
        "-p",
        "9",
        "--time",
        "12.0001,12.0002",
    ]);
    assert!(one.lines().all(|line| line.contains("9")), "{one}");
    assert!(one.contains("wakeup       sshd:9 on CPU 0"), "{one}");
    assert_eq!(answer(&["events", path_text, "--list", "-C", "5"]), "");
    let named = answer(&["events", path_text, "--list", "--comm", "sshd"]);
    assert!(!named.contains("==>"), "{named}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_no_trace_is_refused_with_what_would_be() {
    let run = fairlab(&["events", "/dev/null"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("perf.data, trace.dat"),
        "{}",
        run.stderr
    );
}
