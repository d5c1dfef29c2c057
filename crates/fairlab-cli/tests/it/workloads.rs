//! Workloads by name and from files: all of them run, and print what the modelled tool prints.

use std::path::{Path, PathBuf};

use crate::run::{answer, fairlab, json};

const MACHINE: [&str; 2] = ["-M", "1s:4c:2t"];

fn run_text(workload: &str) -> String {
    answer(&[&["run", workload][..], &MACHINE].concat())
}

/// The line of `text` that begins with `start`.
fn line<'a>(text: &'a str, start: &str) -> &'a str {
    let found = text
        .lines()
        .find(|line| line.trim_start().starts_with(start));
    found.unwrap_or_else(|| panic!("no line begins with '{start}' in\n{text}"))
}

#[test]
fn each_named_workload_prints_what_its_tool_prints() {
    for (workload, start) in [
        ("hackbench -g 1 -f 2 -l 5 -p -T", "Time: "),
        (
            "perf bench sched pipe -l 200",
            "# Executed 200 pipe operations between two processes",
        ),
        (
            "perf bench sched pipe -T -l 200",
            "# Executed 200 pipe operations between two threads",
        ),
        (
            "perf bench sched messaging -g 1 -l 2 -t",
            "# 1 groups == 40 threads run",
        ),
        ("tbench 2 -t 0.01", "Throughput "),
        ("netperf -l 0.01", "TCP_RR: "),
        ("netperf 2 -t UDP_STREAM -m 1024 -l 0.01", "UDP_STREAM: "),
        ("oltp -t 2 -r 0.02", "transactions: "),
        ("lat_proc fork -N 10", "Process fork+exit: "),
        ("lat_proc exec -N 10", "Process fork+execve: "),
        ("lat_proc shell -N 10", "Process fork+/bin/sh -c: "),
        ("kernbench -j 4 -n 5 -c 5", "Elapsed Time "),
        ("stream -t 2 -n 100000 -k 3", "Triad: "),
        ("ebizzy -t 4 -S 0.02", "real "),
        ("stress-ng -c 2 -l 50 -t 0.2", "context switches"),
        ("hogs -n 3 -r 0.02", "context switches"),
        ("periodic -n 3 -r 0.05", "Activations percentiles (usec)"),
        (
            "service -R 5000 -r 0.05",
            "Request Latencies percentiles (usec)",
        ),
        ("frames -r 0.2", "Frame Times percentiles (usec)"),
        ("schbench -m 1 -t 2 -r 0.05", "average rps: "),
        (
            "schbench -m 1 -t 2 -r 0.05 -c 500",
            "Wakeup Latencies percentiles (usec)",
        ),
        (
            "schbench -m 1 -t 4 -r 0.05 -R 1000",
            "Request Latencies percentiles (usec)",
        ),
        (
            "schbench -m 1 -t 2 -r 0.02 -p 4096",
            "Wakeup Latencies percentiles (usec)",
        ),
        ("tbench 2 -t 0.02 + hogs -n 4", "Throughput "),
    ] {
        line(&run_text(workload), start);
    }
}

#[test]
fn numbers_of_a_result_are_in_the_json_too() {
    let args = [&["run", "perf bench sched pipe -l 500"][..], &MACHINE].concat();
    let value = json(&args);
    assert_eq!(value["result"]["name"], "operations");
    let rate = value["result"]["value"].as_f64().unwrap();
    // A few microseconds each.
    assert!(rate > 50_000.0 && rate < 1_000_000.0, "{rate}");
}

#[test]
fn more_is_slower_in_the_order_that_is_known() {
    let mean = |what: &str| -> f64 {
        let text = run_text(&format!("lat_proc {what} -N 50"));
        let line = line(&text, "Process").to_owned();
        line.split_whitespace()
            .nth_back(1)
            .unwrap()
            .parse()
            .unwrap()
    };
    let (fork, exec, shell) = (mean("fork"), mean("exec"), mean("shell"));
    assert!(
        fork * 2.0 < exec && exec * 1.2 < shell,
        "{fork} {exec} {shell}"
    );
}

fn temporary(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("fairlab-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

const TWO_THREADS: &str = r#"{
    /* Two threads, one of which runs 20 % of the time. */
    "tasks" : {
        "light" : { "loop" : 20, "run" : 2000, "timer" : { "ref" : "unique", "period" : 10000 } },
        "sleepy" : { "loop" : 5, "sleep" : 1000, "run" : 500, "sleep" : 2000, "run" : 500, },
    },
    "global" : { "duration" : 1, "calibration" : "CPU0" }
}
"#;

#[test]
fn a_file_of_rt_app_prints_the_figures_of_its_logs() {
    let path = temporary("two.json", TWO_THREADS);
    let args = [&["run", path.to_str().unwrap()][..], &MACHINE].concat();
    let text = answer(&args);
    let light: Vec<&str> = line(&text, "light-0").split_whitespace().collect();
    // Thread, policy, priority, passes, perf, run, period.
    assert_eq!(light[3], "20");
    let period: f64 = light[6].parse().unwrap();
    assert!((period - 10_000.0).abs() < 100.0, "{text}");
    let value = json(&args);
    let sleepy = &value["threads"][1];
    assert_eq!(sleepy["name"], "sleepy-1");
    assert_eq!(sleepy["phases"][0]["passes"], 5);
    assert_eq!(sleepy["phases"][0]["c_duration_us"], 1_000);
    let shorter = [path.to_str().unwrap(), "-r", "0.1"].join(" ");
    let value = json(&[&["run", shorter.as_str()][..], &MACHINE].concat());
    assert_eq!(value["elapsed_ns"], 100_000_000);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn errors_of_files_begin_with_file_line_and_column() {
    let text = TWO_THREADS.replace("\"timer\"", "\"tiemr\"");
    let path = temporary("wrong.json", &text);
    let run = fairlab(&[&["run", path.to_str().unwrap()][..], &MACHINE].concat());
    assert_eq!(run.code, 2);
    let wanted = format!("{}:4:48: unknown key 'tiemr'", path.display());
    assert!(run.stderr.contains(&wanted), "{}", run.stderr);
    assert!(
        run.stderr.contains("did you mean 'timer'?"),
        "{}",
        run.stderr
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn files_can_be_compared_under_two_kernels() {
    let path = temporary("compare.json", TWO_THREADS);
    let args = [
        &["compare", path.to_str().unwrap(), "--runs", "2"][..],
        &["-K", "6.1", "-K", "6.12"],
        &MACHINE,
    ];
    assert!(answer(&args.concat()).contains("Passes of loops"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn every_example_file_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let value = json(&[&["run", path.to_str().unwrap()][..], &MACHINE].concat());
        assert!(value["events"].as_u64().unwrap() > 50, "{}", path.display());
    }
}

#[test]
fn every_collected_rt_app_file_runs_or_is_refused_with_its_line() {
    let root = std::env::var_os("FAIRLAB_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let Ok(files) = std::fs::read_dir(root.join("data/rtapp")) else {
        eprintln!("skipped: no rt-app files (set FAIRLAB_DATA)");
        return;
    };
    let (mut ran, mut refused) = (0, 0);
    for entry in files {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let workload = format!("{} -r 0.3", path.display());
        let run = fairlab(&["run", &workload, "-M", "1s:8c:1t"]);
        match run.code {
            0 => ran += 1,
            _ => {
                let place = format!("{}:", path.display());
                assert!(run.stderr.contains(&place), "{}", run.stderr);
                refused += 1;
            }
        }
    }
    assert!(
        ran >= 14 && refused <= 2,
        "{ran} ran, {refused} were refused"
    );
}
