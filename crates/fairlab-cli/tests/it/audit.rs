//! Audits of traces of simulated runs, whose truth the simulator tells.

use crate::run::{fairlab, json};

fn path(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(name).to_str().unwrap().to_owned()
}

/// What the simulator calls it, and what the auditor does.
const WHAT: [(&str, &str); 7] = [
    ("idle_core", "idle core"),
    ("idle_cpu", "idle CPU, no core idled in the LLC"),
    (
        "idle_cpu_missed_core",
        "idle CPU, though a core idled in the LLC",
    ),
    ("busy", "busy CPU, nothing idled"),
    (
        "busy_missed_core",
        "busy CPU, though a core idled in the LLC",
    ),
    ("busy_missed_cpu", "busy CPU, though a CPU idled in the LLC"),
    (
        "busy_idle_elsewhere",
        "busy CPU, a CPU idled in another LLC",
    ),
];

#[test]
fn an_audit_of_any_export_finds_what_the_simulator_counted() {
    for (machine, workload) in [
        ("power9", "schbench -m 2 -t 16 -r 0.1"),
        ("epyc-7713", "hackbench -g 2 -f 4 -l 30"),
        ("kunpeng-920", "schbench -m 2 -t 8 -r 0.1"),
        ("1s:4c:2t", "schbench -m 2 -t 8 -r 0.2"),
        ("2s:4c", "hackbench -g 1 -f 4 -l 50"),
    ] {
        for suffix in ["txt", "pftrace"] {
            let file = path(&format!("audit-{}.{suffix}", machine.replace(':', "-")));
            let run = json(&["run", workload, "-M", machine, "--trace", &file]);
            let audit = json(&["audit", &file, "-M", machine]);
            let what = format!("{machine}, {workload}, {suffix}");
            assert_eq!(audit["contradictions"], 0, "{what}");
            assert_eq!(audit["switches"], run["counts"]["switches"], "{what}");
            let mut otherwise = 0;
            for (counted, judged) in WHAT {
                let found: u64 = audit["placements"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|row| row["what"] == judged)
                    .map(|row| {
                        assert_eq!(row["is_sure"], true, "{what}: {row}");
                        row["count"].as_u64().unwrap()
                    })
                    .sum();
                let placed = run["counts"]["placed"][counted].as_u64().unwrap();
                otherwise += placed.abs_diff(found);
            }
            // Bundles of one CPU each do not say what came first of two events in one nanosecond on two
            // CPUs, so that one placement may be judged before a CPU was taken, or after.
            let limit = if suffix == "pftrace" { 2 } else { 0 };
            assert!(otherwise <= limit, "{what}: {:?}", audit["placements"]);
        }
    }
}

#[test]
fn thresholds_decide_the_exit_code() {
    let file = path("audit-check.txt");
    let _ = json(&[
        "run",
        "hackbench -g 1 -f 4 -l 50",
        "-M",
        "2s:4c",
        "--trace",
        &file,
    ]);
    let passed = fairlab(&["audit", &file, "-M", "2s:4c", "--check", "delay.p99<10s"]);
    assert_eq!(passed.code, 0, "{}", passed.stderr);
    let failed = fairlab(&["audit", &file, "-M", "2s:4c", "--check", "delay.max<1ns"]);
    assert_eq!(failed.code, 1);
    assert!(
        failed.stderr.contains("delay.max<1ns: it is"),
        "{}",
        failed.stderr
    );
}

#[test]
fn without_a_machine_the_guess_is_told() {
    let file = path("audit-guess.txt");
    let _ = json(&[
        "run",
        "hackbench -g 1 -f 2 -l 20",
        "-M",
        "1s:2c:2t",
        "--trace",
        &file,
    ]);
    let run = fairlab(&["audit", &file]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("give --machine"), "{}", run.stdout);
}

#[test]
fn a_trace_without_switches_says_what_to_record() {
    let file = path("audit-nothing.txt");
    std::fs::write(
        &file,
        "# tracer: nop\n  a-7 [000] d..2. 1.000000: sched_wakeup: comm=b pid=8 prio=120 target_cpu=000\n",
    )
    .unwrap();
    let run = fairlab(&["audit", &file]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("sched_switch"), "{}", run.stderr);
}
