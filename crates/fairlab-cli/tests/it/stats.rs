//! `fairlab stats`: the published tables, comparisons, checks and baselines.

use expect_test::{Expect, expect};

use crate::run::{answer, fairlab, json};

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
    check("inline-xeon.txt", &["--format", "diff"], expect![[r#""#]]);
    check("inline-power9.txt", &["--format", "diff"], expect![[r#""#]]);
}

#[test]
fn the_sizes_of_the_object_files_are_reproduced() {
    check(
        "inline-size-x86.txt",
        &["--format", "size"],
        expect![[r#""#]],
    );
    check(
        "inline-size-power9.txt",
        &["--format", "size"],
        expect![[r#""#]],
    );
}

#[test]
fn the_table_on_select_idle_core_is_reproduced() {
    check(
        "select-idle-core.txt",
        &["--format", "summary"],
        expect![[r#""#]],
    );
}

#[test]
fn the_tables_on_the_cluster_domain_are_reproduced() {
    check("cluster-tbench.txt", &["--format", "pct"], expect![[r#""#]]);
    check(
        "cluster-tbench-moved.txt",
        &["--format", "pct"],
        expect![[r#""#]],
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
    let report = json(&["stats", &files.path("a"), &files.path("b")]);
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
