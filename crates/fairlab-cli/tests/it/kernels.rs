//! `fairlab kernels`

use expect_test::expect;
use serde_json::json;

use crate::run::{answer, fairlab, json};

#[test]
fn the_list_has_every_release() {
    expect![[r#"
        RELEASE  STABLE    KNOWN FOR
        5.4      -         CFS; three separate idle scans; load balance by load
        5.6      -         CFS; cheaper idle core scan; fork and balance by group type
        5.15     -         CFS; one-pass idle scan; runnable_avg; capacity scan
        6.1      6.1.192   CFS; SIS_UTIL scan budget; imb_numa_nr; cluster level
        6.6      -         EEVDF (first form); SMT-aware balancing
        6.12     6.12.117  EEVDF with delayed dequeue; cluster-first scan
        7.2      7.2.13    EEVDF with vprot, lazy reschedule; cache aware balancing
    "#]]
    .assert_eq(&answer(&["kernels"]));
    assert_eq!(answer(&["kernels", "list"]), answer(&["kernels"]));
    let rows = json(&["kernels", "list"]);
    assert_eq!(rows[0]["release"], json!("5.4"));
    assert_eq!(rows[0]["stable"], json!(null));
    assert_eq!(rows[5]["stable"], json!("6.12.117"));
}

#[test]
fn show_marks_what_differs_from_the_release() {
    let text = answer(&["kernels", "show", "6.12:NO_SIS_UTIL,hz=1000"]);
    let marked: String = text
        .lines()
        .filter(|line| line.starts_with('*'))
        .flat_map(|line| [line, "\n"])
        .collect();
    expect![[r#"
        * differs from 6.12 as built (2)
        * off SIS_UTIL                   the scan budget comes from the utilization of the LLC
        * hz                              1000 Timer interrupts per second (CONFIG_HZ). [250]
    "#]]
    .assert_eq(&marked);
    assert!(!answer(&["kernels", "show", "6.12"]).contains("\n*"));
}

#[test]
fn show_has_the_same_facts_as_json() {
    let kernel = json(&["kernels", "show", "v6.12.3:NO_SIS_UTIL,hz=1000"]);
    assert_eq!(kernel["kernel"], json!("6.12:NO_SIS_UTIL,hz=1000"));
    let find = |list: &str, name: &str| {
        let rows = kernel[list].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap().clone()
    };
    let feature = find("features", "SIS_UTIL");
    assert_eq!(feature["area"], json!("placement"));
    assert_eq!(
        (&feature["on"], &feature["default"]),
        (&json!(false), &json!(true))
    );
    let tunable = find("tunables", "hz");
    assert_eq!(
        (&tunable["value"], &tunable["default"]),
        (&json!(1000), &json!(250))
    );
}

#[test]
fn diff_says_what_a_switch_means() {
    expect![[r#"
        - only in 5.6:hz=100
        + only in 5.6:NO_IDLE_CORE_EARLY_EXIT,SIS_UTIL

        placement
        - IDLE_CORE_EARLY_EXIT       select_idle_core stops at the first busy thread of a core
        + SIS_UTIL                   the scan budget comes from the utilization of the LLC

        tunables
          hz                         100 -> 250           Timer interrupts per second (CONFIG_HZ).
    "#]]
    .assert_eq(&answer(&[
        "kernels",
        "diff",
        "5.6:hz=100",
        "5.6:NO_IDLE_CORE_EARLY_EXIT,SIS_UTIL",
    ]));
    let report = json(&["kernels", "diff", "5.15", "6.12"]);
    let rows = report["features"].as_array().unwrap();
    let eevdf = rows.iter().find(|row| row["name"] == "EEVDF").unwrap();
    assert_eq!((&eevdf["a"], &eevdf["b"]), (&json!(false), &json!(true)));
}

#[test]
fn equal_kernels_have_no_difference() {
    assert_eq!(
        answer(&["kernels", "diff", "6.12", "6.12:SIS_UTIL"]),
        "no difference between 6.12 and 6.12\n"
    );
}

#[test]
fn misspelt_kernels_are_refused_with_a_suggestion() {
    let check = |kernel, expected: &str| {
        let run = fairlab(&["kernels", "show", kernel]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    };
    check("6.13", "unknown kernel release '6.13'");
    check(
        "6.12:NO_SIS_UTILL",
        "unknown feature 'SIS_UTILL', did you mean 'SIS_UTIL'?",
    );
    check("6.12:hzz=250", "unknown tunable 'hzz', did you mean 'hz'?");
    check(
        "6.12:hz=0",
        "bad value '0' for hz: a whole number is wanted from 1 to 10000",
    );
}
