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
    let load = "schbench -m 4 -t 16 -r 0.05 -F 32";
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
    expect![[r#"
        1. PUBLISHED: lmbench process latencies (us), cpu_util and cpu_util_without inlined
        Xeon Gold 6248
                        before      after                diff
        fork+exit     317.0625   303.6667  -13.3958 (-4.22 %)
        fork+execve     1482.5       1407     -75.5 (-5.09 %)
        fork+/bin/sh      2096  2020.3333  -75.6667 (-3.61 %)
        Power9
                       before   after               diff
        fork+exit     698.375     688  -10.375 (-1.49 %)
        fork+execve      2748  2730.5    -17.5 (-0.64 %)
        fork+/bin/sh     4298  4293.5     -4.5 (-0.10 %)
        the percentages as printed:
                                      printed  rounded  cut off  follows
        Xeon Gold 6248  fork+exit     -4.22 %  -4.22 %  -4.22 %  yes
                        fork+execve   -5.09 %  -5.09 %  -5.09 %  yes
                        fork+/bin/sh  -3.61 %  -3.61 %  -3.61 %  yes
        Power9          fork+exit     -1.51 %  -1.49 %  -1.48 %  NO
                        fork+execve   -0.64 %  -0.64 %  -0.63 %  yes, rounded
                        fork+/bin/sh  -0.10 %  -0.10 %  -0.10 %  yes

        PUBLISHED: size of the object
         text  data  bss    dec    hex  filename
        75338  5382  176  80896  13c00  x86 before
        75378  5374  176  80928  13c20  x86 after
        printed dec 80896 and 80928: the printed totals follow from the sections
          text   data  bss     dec    hex  filename
        111311  14943  440  126694  1eee6  Power9 before
        111679  14903  440  127022  1f02e  Power9 after
        printed dec 126694 and 127022: the printed totals follow from the sections

        2. PUBLISHED: ticks around select_idle_core, schbench on a Power9 with SMT8
                   N  Min   Max  Median        Avg     Stddev  Improvement
        without  130  151  1083     284  322.72308  144.41494
        with     164   88   610     201  225.79268  106.78943       30.03%
                                  printed  rounded  cut off  follows
        Power9, SMT8  mean ticks  30.03 %  30.04 %  30.03 %  yes, cut off
        N, min, max, median and deviation do not follow from one another: they are the document's.

        3. PUBLISHED: tbench throughput (MB/s) with the cluster series
        clients              without                 series            first patch
        8         3263.81 (0.00 pct)    3086.81 (-5.42 pct)    3018.63 (-7.51 pct)
        16        6011.19 (0.00 pct)   5360.28 (-10.82 pct)   4869.26 (-18.99 pct)
        32       12058.31 (0.00 pct)   8769.08 (-27.27 pct)   8159.60 (-32.33 pct)
        64       21258.21 (0.00 pct)  19021.09 (-10.52 pct)  13161.92 (-38.08 pct)

        clients              without      moved to the top
        8         3255.69 (0.00 pct)   3072.30 (-5.63 pct)
        16        6092.67 (0.00 pct)   5586.59 (-8.30 pct)
        32       11156.56 (0.00 pct)   11184.17 (0.24 pct)
        64       21019.97 (0.00 pct)  20289.70 (-3.47 pct)
        the percentages as printed:
                               printed   rounded   cut off  follows
        series            8    -5.42 %   -5.42 %   -5.42 %  yes
                          16  -10.82 %  -10.83 %  -10.82 %  yes, cut off
                          32  -27.27 %  -27.28 %  -27.27 %  yes, cut off
                          64  -10.52 %  -10.52 %  -10.52 %  yes
        first patch       8    -7.51 %   -7.51 %   -7.51 %  yes
                          16  -18.99 %  -19.00 %  -18.99 %  yes, cut off
                          32  -32.33 %  -32.33 %  -32.33 %  yes
                          64  -38.08 %  -38.09 %  -38.08 %  yes, cut off
        moved to the top  8    -5.63 %   -5.63 %   -5.63 %  yes
                          16   -8.30 %   -8.31 %   -8.30 %  yes, cut off
                          32    0.24 %    0.25 %    0.24 %  yes, cut off
                          64   -3.47 %   -3.47 %   -3.47 %  yes
        The kernel without the series was measured twice, and its second figures differ from the first by 8 clients -0.25 %, 16 clients +1.36 %, 32 clients -7.48 %, 64 clients -1.12 %: effects of that size prove nothing by themselves.

        What does not follow from the documents' own numbers
        Power9, fork+exit: 698.375 and 688 give -1.49 %, printed is -1.51 %
        Everything else follows; percentages are rounded in the first document and cut off in the other two.
    "#]].assert_eq(&text);
}
