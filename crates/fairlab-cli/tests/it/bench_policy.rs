//! `fairlab bench` on our own policy code: structure and invariants, no times.

use expect_test::expect;
use serde_json::Value;

use crate::run::fairlab;

/// Runs `fairlab bench ARGS`, which must succeed, and gives its data.
fn bench(args: &[&str]) -> String {
    let run = fairlab(&[&["bench"], args].concat());
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    run.stdout
}

/// The rows of series `name`.
fn rows<'a>(results: &'a Value, name: &str) -> &'a Vec<Value> {
    assert_eq!(results["format"], "fairlab-results/1");
    let series = results["series"].as_array().unwrap();
    let series = series.iter().find(|series| series["name"] == name);
    series.unwrap()["rows"].as_array().unwrap()
}

fn values(row: &Value) -> Vec<f64> {
    let values = row["values"].as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn both_forms_of_the_idle_core_search_are_asked_at_every_call() {
    let load = "schbench -m 2 -t 6 -r 0.1 -F 32";
    let small = ["idle-core", "-M", "1s:2l:4c:8t", "-w", load, "--runs", "3"];
    let results: Value = serde_json::from_str(&bench(&[&small[..], &["--json"]].concat())).unwrap();
    let sides = ["before", "after"].map(|name| rows(&results, name));
    let [ticks, probes] = [0, 1].map(|row| sides.map(|side| values(&side[row])));
    assert_eq!(ticks[0].len(), ticks[1].len());
    assert_eq!(probes[0].len(), ticks[0].len());
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    assert!(sum(&probes[1]) < 0.7 * sum(&probes[0]));
    let text = bench(&small);
    for part in [
        "N  Min",
        "Improvement",
        "ns\n",
        "the same CPU and reason in every one",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn a_load_that_never_searches_is_said_to() {
    let load = "schbench -m 1 -t 1 -r 0.05";
    let text = bench(&["idle-core", "-M", "vm-4", "-w", load, "--runs", "2"]);
    assert!(
        text.contains("no calls: no core was searched for"),
        "{text}"
    );
}

#[test]
fn both_searches_and_the_slow_path_have_their_rows() {
    let args = [
        "placement",
        "--llc",
        "8,16",
        "--no-instructions",
        "--rounds",
        "5",
        "--json",
    ];
    let results: Value = serde_json::from_str(&bench(&args)).unwrap();
    // Six wakeups in both forms; fork and exec have one form.
    assert_eq!(rows(&results, "scan").len(), 2 * 8);
    assert_eq!(rows(&results, "masks").len(), 2 * 6);
    for row in rows(&results, "masks") {
        assert_eq!(values(row).len(), 5);
        assert_eq!(
            (&row["unit"], &row["better"]),
            (&"ns".into(), &"lower".into())
        );
    }
}

#[test]
fn instructions_of_a_placement_are_counted_or_it_is_said_why_not() {
    let text = bench(&["placement", "--llc", "8", "--rounds", "5", "-K", "5.4"]);
    assert!(
        text.contains("scan / masks") || text.contains("not counted: cannot"),
        "{text}"
    );
}

#[test]
fn the_utilization_is_measured_in_both_forms() {
    let args = [
        "util",
        "-M",
        "vm-4-smt",
        "--no-objects",
        "--no-instructions",
        "--rounds",
        "5",
    ];
    let text = bench(&args);
    for part in [
        "fork, level",
        "exec, mixed",
        "not counted: not asked for",
        "not built: not asked for",
        "kernel 6.6",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn sharing_on_one_cpu_is_refused_but_its_lines_are_counted() {
    let text = bench(&["layout", "-C", "0"]);
    assert!(
        text.contains("Sharing cannot be measured: one CPU is allowed"),
        "{text}"
    );
    expect![[r#"
        variable         without  middle    top  ours
        sd_asym_packing    20520   20520  20520   +2c
        sd_numa            20528   20528  20528   +24
        sd_cluster             -   20530  20550     -
        sd_llc_shared      20530   20538  20530   +14
        sd_share_id            -   20540  20548    +4
        sd_llc_id          20538   20544  20538    +0
        sd_llc_size        2053c   20548  2053c    +8
        sd_llc             20540   20550  20540    +c
    "#]]
    .assert_eq(&(text.lines().skip(2).take(9).collect::<Vec<_>>().join("\n") + "\n"));
}

#[test]
fn more_readers_than_cpus_are_refused() {
    let run = fairlab(&["bench", "layout", "-C", "0-1", "--readers", "5"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("5 readers and the writer need 6 CPUs"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_published_tables_are_reproduced_and_their_contradictions_told() {
    let text = bench(&["seeds", "--published"]);
    expect![[r#""#]].assert_eq(&text);
}
