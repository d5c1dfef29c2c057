//! `fairlab stats`: the published tables, comparisons, checks and baselines.

use expect_test::{Expect, expect};

use crate::run::{answer, fairlab};

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/stats/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The data of `fairlab stats FIXTURE ARGS`; what was read is told on standard error.
fn table(name: &str, args: &[&str]) -> String {
    let path = fixture(name);
    let run = fairlab(&[&["stats", &path], args].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let folder = fixture("");
    run.stdout.replace(&folder, "")
}

fn check(name: &str, args: &[&str], expected: Expect) {
    expected.assert_eq(&table(name, args));
}

#[test]
fn the_table_on_inlined_functions_is_reproduced() {
    check(
        "inline-xeon.txt",
        &["--format", "diff"],
        expect![[r#"
                        before      after                diff
        fork+exit     317.0625   303.6667  -13.3958 (-4.22 %)
        fork+execve     1482.5       1407     -75.5 (-5.09 %)
        fork+/bin/sh      2096  2020.3333  -75.6667 (-3.61 %)

        3 of 3 rows have no repetitions: no significance can be stated

        inline-xeon.txt: 3 of 3 stated figures follow from the others
    "#]],
    );
    check(
        "inline-power9.txt",
        &["--format", "diff"],
        expect![[r#"
                       before   after               diff
        fork+exit     698.375     688  -10.375 (-1.49 %)
        fork+execve      2748  2730.5    -17.5 (-0.64 %)
        fork+/bin/sh     4298  4293.5     -4.5 (-0.10 %)

        3 of 3 rows have no repetitions: no significance can be stated

        inline-power9.txt: 2 of 3 stated figures follow from the others
        line 2: fork+exit: -1.51 % is stated, -1.49 % follows
    "#]],
    );
}

#[test]
fn the_sizes_of_the_object_files_are_reproduced() {
    check(
        "inline-size-x86.txt",
        &["--format", "size"],
        expect![[r#"
             text  data  bss    dec    hex  filename
            75338  5382  176  80896  13c00  before
            75378  5374  176  80928  13c20  after
              +40    -8   +0    +32         difference

            inline-size-x86.txt: 4 of 4 stated figures follow from the others
        "#]],
    );
    check(
        "inline-size-power9.txt",
        &["--format", "size"],
        expect![[r#"
              text   data  bss     dec    hex  filename
            111311  14943  440  126694  1eee6  before
            111679  14903  440  127022  1f02e  after
              +368    -40   +0    +328         difference

            inline-size-power9.txt: 4 of 4 stated figures follow from the others
        "#]],
    );
}

#[test]
fn the_table_on_select_idle_core_is_reproduced() {
    check(
        "select-idle-core.txt",
        &["--format", "summary"],
        expect![[r#"
                       N  Min   Max  Median        Avg     Stddev  Improvement
            without  130  151  1083     284  322.72308  144.41494
            with     164   88   610     201  225.79268  106.78943       30.03%

            select-idle-core.txt: 1 of 1 stated figures follow from the others, 1 of them cut off and not rounded; positive percentages are gains where less is better
        "#]],
    );
}

#[test]
fn the_tables_on_the_cluster_domain_are_reproduced() {
    check(
        "cluster-tbench.txt",
        &["--format", "pct"],
        expect![[r#"
                        without                   with            first patch
        8    3263.81 (0.00 pct)    3086.81 (-5.42 pct)    3018.63 (-7.51 pct)
        16   6011.19 (0.00 pct)   5360.28 (-10.82 pct)   4869.26 (-18.99 pct)
        32  12058.31 (0.00 pct)   8769.08 (-27.27 pct)   8159.60 (-32.33 pct)
        64  21258.21 (0.00 pct)  19021.09 (-10.52 pct)  13161.92 (-38.08 pct)

        8 of 8 rows have no repetitions: no significance can be stated

        cluster-tbench.txt: 8 of 8 stated figures follow from the others, 4 of them cut off and not rounded
    "#]],
    );
    check(
        "cluster-tbench-moved.txt",
        &["--format", "pct"],
        expect![[r#"
                            without                  with
            8    3255.69 (0.00 pct)   3072.30 (-5.63 pct)
            16   6092.67 (0.00 pct)   5586.59 (-8.30 pct)
            32  11156.56 (0.00 pct)   11184.17 (0.24 pct)
            64  21019.97 (0.00 pct)  20289.70 (-3.47 pct)

            4 of 4 rows have no repetitions: no significance can be stated

            cluster-tbench-moved.txt: 4 of 4 stated figures follow from the others, 2 of them cut off and not rounded
        "#]],
    );
}

#[test]
fn every_form_of_a_table_can_be_written() {
    for (form, part) in [
        ("summary", "Improvement"),
        ("full", "not tested"),
        ("mmtests", "  -5.42%)"),
        ("markdown", "|---"),
        ("csv", ",3263.81"),
        ("latex", "\\begin{tabular}{lrrr}"),
        ("json", "\"fairlab-stats/1\""),
    ] {
        let text = table(
            "cluster-tbench.txt",
            &["--format", form, "--higher-is-better"],
        );
        assert!(text.contains(part), "{form}: {text}");
    }
}

/// A folder with files, gone when it is dropped.
struct Files(std::path::PathBuf);

impl Files {
    fn new(test: &str, files: &[(&str, &str)]) -> Self {
        let dir = std::env::temp_dir().join(format!("fairlab-stats-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        for (name, text) in files {
            std::fs::write(dir.join(name), text).unwrap();
        }
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SLOW: &str = "Time: 4.40\nTime: 4.47\nTime: 4.45\nTime: 4.42\nTime: 4.41\nTime: 4.46\n";
const FAST: &str = "Time: 3.78\nTime: 3.82\nTime: 3.80\nTime: 3.79\nTime: 3.83\nTime: 3.81\n";

#[test]
fn repeated_runs_are_tested() {
    let files = Files::new("tested", &[("a", SLOW), ("b", FAST)]);
    let run = fairlab(&["stats", &files.path("a"), &files.path("b"), "--json"]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    // What was recognised is talk.
    assert!(
        run.stderr.contains("hackbench (lines 1-6)"),
        "{}",
        run.stderr
    );
    let row = &report["comparisons"][0]["rows"][0];
    assert_eq!(row["row"], "Time");
    assert_eq!(row["finding"], "better");
    assert_eq!(row["tests"]["cliffs_delta"], -1.0);
    // 2 of C(12, 6) = 924 orders.
    let p = row["tests"]["mann_whitney_p"].as_f64().unwrap();
    assert!((p - 2.0 / 924.0).abs() < 1e-12);
    let text = fairlab(&["stats", &files.path("a"), &files.path("b")]).stdout;
    assert!(text.contains("hackbench (lines 1-6)"), "{text}");
    assert!(text.contains("arithmetic means (Amean)"), "{text}");
}

#[test]
fn the_rows_of_one_file_are_one_table_without_columns_that_are_not_known() {
    let text = " Performance counter stats for 'sleep 0.05' (4 runs):\n\n\
                1.20 msec task-clock    #    0.022 CPUs utilized    ( +-  5.00% )\n\
                74      page-faults     #   56.738 K/sec\n\n\
                0.05554 +- 0.00169 seconds time elapsed  ( +-  3.00% )\n";
    let files = Files::new("one-table", &[("a", text)]);
    let a = files.path("a");
    let run = fairlab(&["stats", &a]);
    let rows: Vec<Vec<&str>> = run
        .stdout
        .lines()
        .skip(2)
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows,
        [
            vec!["unit", "N", "Avg", "Stddev"],
            // The error of four runs is half their deviation.
            vec!["task-clock", "ms", "4", "1.2", "0.12"],
            vec!["page-faults", "4", "74", "0"],
            vec!["time", "elapsed", "s", "4", "0.05554", "0.0033324"],
        ]
    );
    // In Markdown it is read back, and says the same.
    let markdown = fairlab(&["stats", &a, "--format", "markdown"]).stdout;
    let copy = Files::new("one-table-copy", &[("b.md", &markdown)]);
    let again = fairlab(&["stats", &copy.path("b.md")]).stdout;
    let table = |text: &str| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(table(&again), table(&run.stdout));
}

#[test]
fn conditions_decide_the_exit_code() {
    let files = Files::new("check", &[("a", FAST), ("b", SLOW)]);
    let (a, b) = (files.path("a"), files.path("b"));
    let code = |condition: &str| fairlab(&["stats", &a, &b, "--check", condition]).code;
    assert_eq!(code("Time < +5%"), 1);
    assert_eq!(code("Time < +20%"), 0);
    assert_eq!(code("* not worse"), 1);
    assert_eq!(code("any(Time) < 4.5s"), 0);
    assert_eq!(code("p99 < +5%"), 2);
    assert_eq!(code("Time +5%"), 2);
}

#[test]
fn a_stored_baseline_is_compared_with() {
    let files = Files::new("baseline", &[("a", FAST), ("b", SLOW)]);
    let saved = files.path("base.json");
    let save = fairlab(&["stats", &files.path("a"), "--save", &saved]);
    assert_eq!(save.code, 0, "{}", save.stderr);
    let run = fairlab(&[
        "stats",
        &files.path("b"),
        "--baseline",
        &saved,
        "--check",
        "Time not worse",
    ]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let run = fairlab(&[
        "stats",
        &files.path("a"),
        "--baseline",
        &saved,
        "--check",
        "Time not worse",
    ]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

#[test]
fn bad_inputs_are_refused() {
    let files = Files::new(
        "bad",
        &[
            ("words", "hello\nworld\n"),
            ("cut.json", "{\"format\": \"fairlab-re"),
            ("zeros", ""),
        ],
    );
    std::fs::File::options()
        .write(true)
        .open(files.path("zeros"))
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    for (name, part) in [
        ("words", "no figures found: line 1 is \"hello\""),
        ("cut.json", ":1: not JSON"),
        ("zeros", "not text: byte 0 is zero"),
        ("missing", "cannot read"),
    ] {
        let run = fairlab(&["stats", &files.path(name)]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{name}");
        assert!(run.stderr.contains(part), "{name}: {}", run.stderr);
    }
    let run = fairlab(&["stats", "x", "--input-format", "schbnch"]);
    assert!(
        run.stderr.contains("did you mean 'schbench'?"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_formats_are_listed() {
    let list = answer(&["stats", "--formats"]);
    for name in [
        "schbench",
        "lmbench-summary",
        "perf-stat",
        "mmtests",
        "columns",
    ] {
        assert!(list.contains(name), "{name}");
    }
}
