//! Pages and tracks that verbs write beside their answers.

use std::fs;

use crate::run::{answer, fairlab, json};

const WORKLOAD: &str = "schbench -m 2 -t 6 -r 0.05";
const MACHINE: &str = "2s:2c:2t";

fn path(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_report_of_two_traces_compares_them() {
    let traces = ["5.15", "6.12"].map(|kernel| {
        let file = path(&format!("report-{kernel}.pftrace"));
        let _ = answer(&[
            "run", WORKLOAD, "-M", MACHINE, "-K", kernel, "--trace", &file,
        ]);
        file
    });
    let page = path("report.html");
    let args = ["report", &traces[0], &traces[1], "-M", MACHINE, "-o", &page];
    assert_eq!(answer(&args), "");
    let text = fs::read_to_string(&page).unwrap();
    for kernel in ["5.15", "6.12"] {
        assert!(text.contains(&format!("<h2>report-{kernel}.pftrace</h2>")));
    }
    assert!(text.contains("lanes-1"));
    // The same page on standard output.
    assert_eq!(answer(&args[..5]), text);
}

#[test]
fn the_plots_of_a_page_are_files_of_their_own() {
    let (trace, svg, png) = (path("plots.pftrace"), path("plots-svg"), path("plots-png"));
    let _ = answer(&["run", WORKLOAD, "-M", MACHINE, "--trace", &trace]);
    let both = ["--svg", &svg, "--png", &png];
    assert_eq!(
        answer(&[&["report", &trace, "-M", MACHINE], &both[..]].concat()),
        ""
    );
    for plot in ["timeline", "occupancy", "delays"] {
        let drawn = fs::read_to_string(format!("{svg}/{plot}.svg")).unwrap();
        assert!(drawn.starts_with("<svg "), "{plot}");
        let pixels = fs::read(format!("{png}/{plot}.png")).unwrap();
        // The signature, and the header's width: twice the 960 units of a plot.
        assert_eq!(&pixels[..8], b"\x89PNG\r\n\x1a\n", "{plot}");
        assert_eq!(pixels[16..20], 1920u32.to_be_bytes(), "{plot}");
    }
}

#[test]
fn a_page_beside_an_answer_leaves_the_answer_as_it_is() {
    let (page, other) = (path("run.html"), path("run-other.html"));
    let run = ["run", WORKLOAD, "-M", MACHINE];
    let plain = answer(&run);
    assert_eq!(answer(&[&run[..], &["--html", &page]].concat()), plain);
    assert_eq!(answer(&[&run[..], &["-o", &other]].concat()), plain);
    let text = fs::read_to_string(&page).unwrap();
    assert_eq!(text, fs::read_to_string(&other).unwrap());
    assert!(text.contains("schbench-worker"), "tasks have names");
}

#[test]
fn the_page_of_a_run_and_that_of_its_trace_find_the_same() {
    let (page, trace, other) = (
        path("same.html"),
        path("same.pftrace"),
        path("same-trace.html"),
    );
    let _ = answer(&[
        "run", WORKLOAD, "-M", MACHINE, "--html", &page, "--trace", &trace,
    ]);
    let _ = answer(&["audit", &trace, "-M", MACHINE, "-o", &other]);
    // The tables below the plots; the summary counts the first nanosecond of a trace apart.
    let tables = |file: &str| {
        let text = fs::read_to_string(file).unwrap();
        let from = text.find("<caption>Where tasks were placed").unwrap();
        let to = text[from..].find("</table>").unwrap();
        text[from..from + to].to_owned()
    };
    assert_eq!(tables(&page), tables(&other));
}

#[test]
fn a_comparison_has_its_tables_and_both_kernels_on_the_page() {
    let page = path("compare.html");
    let compare = [
        "compare", WORKLOAD, "-M", MACHINE, "--kernel", "5.4", "--kernel", "7.2",
    ];
    let few = ["--runs", "2", "--threads", "1", "--json"];
    let plain = answer(&[&compare[..], &few].concat());
    let beside = answer(&[&compare[..], &few, &["--html", &page]].concat());
    assert_eq!(plain, beside);
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("<h2>kernel 5.4</h2>") && text.contains("<h2>kernel 7.2</h2>"));
    assert!(text.contains("no difference proven"));
}

#[test]
fn tracks_stand_beside_the_events_of_the_trace() {
    let (trace, tracks) = (path("plain.pftrace"), path("tracks.pftrace"));
    let _ = answer(&["run", WORKLOAD, "-M", MACHINE, "--trace", &trace]);
    let audit = json(&["audit", &trace, "-M", MACHINE, "-o", &tracks]);
    let missed = |row: &&serde_json::Value| row["what"].as_str().unwrap().contains("though");
    let placements = audit["placements"].as_array().unwrap();
    assert!(
        placements.iter().filter(missed).count() > 0,
        "the run misses something"
    );
    assert_eq!(
        json(&["events", &trace])["events"],
        json(&["events", &tracks])["events"]
    );
    let bytes = fs::read(&tracks).unwrap();
    let has = |text: &str| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(has("misplaced on CPU ") && has("better_cpu"));
}

#[test]
fn verdicts_go_to_a_parquet_file() {
    let (trace, rows) = (path("rows.pftrace"), path("rows.parquet"));
    let _ = answer(&["run", WORKLOAD, "-M", MACHINE, "--trace", &trace]);
    let plain = answer(&["audit", &trace, "-M", MACHINE]);
    assert_eq!(
        answer(&["audit", &trace, "-M", MACHINE, "-o", &rows]),
        plain
    );
    let bytes = fs::read(&rows).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
}

#[test]
fn a_report_that_is_no_page_is_refused() {
    let run = fairlab(&["report", "trace.dat", "-o", "x.pdf"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains(".html"), "{}", run.stderr);
}
