//! `fairlab compare` and `fairlab run`.

use crate::run::{answer, fairlab, json};

const BEFORE: &str = "5.6:NO_IDLE_CORE_EARLY_EXIT,NO_IDLE_CORE_CLEAR_ONCE";

/// A small comparison of the two forms of `select_idle_core`.
fn forms<'a>(extra: &[&'a str]) -> Vec<&'a str> {
    let load = "schbench -m 4 -t 16 -r 0.05 -F 32";
    let mut args = vec![
        "compare",
        load,
        "-M",
        "1s:2l:4c:8t",
        "-K",
        BEFORE,
        "-K",
        "5.6",
    ];
    args.extend(["--runs", "3"]);
    args.extend(extra);
    args
}

#[test]
fn both_forms_of_the_idle_core_search_give_the_same_answers_at_different_cost() {
    let report = json(&forms(&[]));
    assert_eq!(report["beside"]["differ"], 0);
    assert!(report["beside"]["placements"].as_u64().unwrap() > 100);
    let probes = &report["idle_core"]["probes"];
    let mean = |side: &str| probes[side]["mean"].as_f64().unwrap();
    // Every thread of every core before; at most every thread after, and one of each busy core.
    assert!(mean("b") < 0.7 * mean("a"), "{probes}");
    assert_eq!(
        probes["a"]["n"], probes["b"]["n"],
        "both are asked at every call"
    );
}

#[test]
fn the_same_command_gives_the_same_bytes_on_any_number_of_threads() {
    let one = answer(&forms(&["--json", "--threads", "1"]));
    assert_eq!(one, answer(&forms(&["--json", "--threads", "2"])));
    assert_eq!(one, answer(&forms(&["--json", "--threads", "5"])));
    assert_ne!(one, answer(&forms(&["--json", "--seed", "2"])));
    assert!(
        !one.contains("ticks"),
        "what is measured is not reproducible"
    );
    let measured = answer(&forms(&["--json", "--measured"]));
    assert!(measured.contains("\"ticks\""));
}

#[test]
fn a_kernel_compared_with_itself_shows_no_difference() {
    let args = [
        "compare",
        "hackbench -g 1 -f 4 -l 20",
        "-M",
        "vm-4",
        "-K",
        "6.12",
        "-K",
        "6.12",
    ];
    let text = answer(&[&args[..], &["--runs", "4"]].concat());
    assert!(
        text.contains("nothing: A and B are the same kernel"),
        "{text}"
    );
    assert!(
        text.contains("the same CPU and reason in every one"),
        "{text}"
    );
    for verdict in ["better\n", "worse\n"] {
        assert!(!text.contains(verdict), "{text}");
    }
}

#[test]
fn the_text_has_every_table() {
    let text = answer(&forms(&[]));
    for part in [
        "IDLE_CORE_CLEAR_ONCE  -  on",
        "N  Min",
        "Improvement",
        "Wakeup Latencies",
        "Request Latencies",
        "no difference proven",
        "Placements by reason",
        "Same state, both kernels asked",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn a_run_prints_what_the_tool_would() {
    let text = answer(&[
        "run",
        "schbench -m 1 -t 2 -r 0.1",
        "-M",
        "vm-4",
        "-K",
        "6.12",
    ]);
    assert!(
        text.contains("Wakeup Latencies percentiles (usec) runtime 1 (s)"),
        "{text}"
    );
    assert!(text.contains("\t* 99.0th: "), "{text}");
    let text = answer(&["run", "hackbench -g 1 -f 2 -l 5", "-M", "vm-4"]);
    assert!(text.contains("\nTime: 0.0"), "{text}");
    let text = answer(&[
        "run",
        "--json",
        "-M",
        "vm-4",
        "--",
        "hackbench",
        "-g",
        "1",
        "-f",
        "2",
    ]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["workload"], "hackbench -g 1 -f 2");
}

#[test]
fn two_kernels_are_wanted() {
    let run = fairlab(&["compare", "hackbench", "-M", "vm-4", "-K", "6.12"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("use --kernel twice"), "{}", run.stderr);
}
