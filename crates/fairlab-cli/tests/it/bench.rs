//! Loads that need a process with one thread, and comparisons as a user makes them.

use std::fs;
use std::path::PathBuf;

use crate::run::{answer, command, fairlab};

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("fairlab-bench-{}-{name}", std::process::id()))
}

#[test]
fn processes_hand_a_token_around() {
    let text = answer(&["bench", "pipe", "-l", "50"]);
    assert!(
        text.contains("# Executed 50 pipe operations between two processes"),
        "{text}"
    );
    assert!(
        text.contains(" usecs/op\n") && text.contains(" ops/sec\n"),
        "{text}"
    );
}

#[test]
fn hackbench_runs_with_processes() {
    for more in [&["-p"][..], &["-s", "5000"]] {
        let text = answer(
            &[
                &["bench", "hackbench", "-g", "2", "-f", "2", "-l", "3"],
                more,
            ]
            .concat(),
        );
        let start =
            "Running in process mode with 2 groups using 4 file descriptors each (== 8 tasks)\n";
        assert!(
            text.starts_with(start) && text.contains("\nTime: "),
            "{text}"
        );
    }
}

#[test]
fn tbench_sweeps_clients() {
    let text = answer(&["bench", "tbench", "1", "2", "-t", "0.05"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    for (line, clients) in lines.iter().zip(["1", "2"]) {
        let end = format!("{clients} clients  {clients} procs  max_latency=");
        assert!(
            line.starts_with("Throughput ") && line.contains(&end),
            "{line}"
        );
    }
}

#[test]
fn results_are_saved_in_the_form_that_is_read_again() {
    let path = scratch("pipe.json");
    let name = path.to_str().unwrap();
    assert_eq!(
        answer(&["bench", "pipe", "-l", "20", "--runs", "3", "-o", name]),
        ""
    );
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let results = fairlab_results::from_json(&text, name).unwrap();
    assert_eq!(results.tool, "fairlab bench pipe");
    assert!(results.environment.contains_key("kernel"));
    let row = results.series[0].row("", "usecs/op").unwrap();
    assert_eq!(row.data.figures().n, Some(3));
}

/// Few and short runs.
const SHORT: [&str; 6] = ["--min-runs", "6", "--max-runs", "6", "--warm-ups", "0"];

#[test]
fn a_slower_command_is_found_and_saved() {
    let path = scratch("ab.json");
    let name = path.to_str().unwrap();
    let ab = [
        "bench",
        "ab",
        "--ab",
        "true",
        "sleep 0.05",
        "--check",
        "-o",
        name,
    ];
    let run = fairlab(&[&ab[..], &SHORT].concat());
    assert_eq!(run.code, 1, "{}", run.stderr);
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let results = fairlab_results::from_json(&text, name).unwrap();
    let names: Vec<&str> = results
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(names, ["before", "after"]);
    assert!(text.contains(r#""verdict": "worse""#), "{text}");
}

#[test]
fn a_load_is_compared_under_two_sets_of_options() {
    let ab = ["bench", "pipe", "-l", "20", "--ab", "-l 20", "-T"];
    let run = fairlab(&[&ab[..], &SHORT].concat());
    // An option that is given twice is refused by the side, and that is told.
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("cannot be used multiple times"),
        "{}",
        run.stderr
    );
    let ab = ["bench", "pipe", "-l", "20", "--ab", "", "-T"];
    let text = answer(&[&ab[..], &SHORT].concat());
    assert!(
        text.contains("usecs/op") && text.contains("6 runs of each"),
        "{text}"
    );
}

#[test]
fn the_system_is_put_back_after_an_interrupt_and_children_are_gone() {
    let state = scratch("state");
    let marker = scratch("marker");
    let hook = |text: &str| format!("echo {text} > {}", state.display());
    let (before, after) = (hook("before"), hook("after"));
    let slow = format!("echo $$ > {}; exec sleep 100", marker.display());
    let mut child = command(&["bench", "ab", "--before", &before, "--after", &after])
        .args(["--restore", &hook("original"), "--", "/bin/sh", "-c", &slow])
        .spawn()
        .unwrap();
    let mut sleeper = String::new();
    while sleeper.trim().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
        sleeper = fs::read_to_string(&marker).unwrap_or_default();
    }
    let kill = std::process::Command::new("/bin/kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert_eq!(fs::read_to_string(&state).unwrap(), "original\n");
    assert!(!PathBuf::from(format!("/proc/{}", sleeper.trim())).exists());
    fs::remove_file(&state).unwrap();
    fs::remove_file(&marker).unwrap();
}

#[test]
fn what_cannot_be_measured_is_one_clear_error() {
    for (args, part) in [
        (
            &["bench", "ab", "--ab", "true", "/nonexistent/program"][..],
            "/nonexistent/program",
        ),
        (&["bench", "ab", "--ab", "true", "false"], "exit status: 1"),
        (
            &[
                "bench", "ab", "--ab", "echo a", "echo b", "--metric", "number",
            ],
            "'a' is not a number",
        ),
        (
            &[
                "bench", "ab", "--ab", "echo 1,5", "echo 1", "--metric", "number",
            ],
            "is not a number",
        ),
        (
            &[
                "bench", "ab", "--before", "exit 3", "--after", "true", "--", "true",
            ],
            "the hook 'exit 3'",
        ),
        (
            &["bench", "ab", "--", "true"],
            "both sides would be the same",
        ),
        (
            &[
                "bench",
                "ab",
                "--ab",
                "sleep 9",
                "sleep 9",
                "--timeout",
                "0.05",
            ],
            "took longer than",
        ),
        (
            &["bench", "fork", "exec", "--program", "/nonexistent/program"],
            "/nonexistent/program",
        ),
        (&["bench", "pipe", "-C", "1000"], "stay on these CPUs"),
        (&["bench", "hackbench", "-g", "0"], "no groups"),
        (
            &["bench", "hackbench", "-g", "4000000", "-f", "4000000", "-T"],
            "open files",
        ),
        (&["bench", "schbench", "-t", "4000000"], "a million"),
        (&["bench", "pipe", "-o", "x.csv"], ".csv"),
    ] {
        let run = fairlab(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
    }
}
