//! `fairlab machines`

use crate::run::{answer, fairlab, json};

#[test]
fn the_list_has_names_summaries_and_counts() {
    assert_eq!(answer(&["machines"]), answer(&["machines", "list"]));
    let rows = json(&["machines"]);
    let epyc = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == "epyc-7713")
        .unwrap();
    assert_eq!(epyc["counts"]["llcs"], 16);
    assert!(epyc["facts"].as_str().unwrap().contains("Milan"));
}

#[test]
fn show_draws_the_machine_and_groups_releases_by_domains() {
    let text = answer(&["machines", "show", "kunpeng-920"]);
    assert!(
        text.contains("  nodes 0-1 (64 GiB), 2 LLCs (L3 32 MiB)    0-31 | 32-63\n"),
        "{text}"
    );
    let domains = "  5.4, 5.6, 5.15\n    MC 32 > NUMA 64";
    assert!(text.contains(domains), "{text}");
    assert!(text.contains("    CLS 4 > MC 32 > NUMA 64"), "{text}");
    let one = json(&["machines", "show", "2s:4c:2t", "-K", "6.12"]);
    assert_eq!(one["domains"][0]["chains"][0]["levels"][1]["name"], "MC");
    assert_eq!(one["machine"]["format"], "fairlab-machine/1");
    assert_eq!(one["summary"]["cpus"], 16);
}

#[test]
fn domains_in_full_have_flags_and_groups() {
    let text = answer(&["machines", "show", "vm-4", "-K", "6.12", "--domains"]);
    assert!(text.contains("kernel 6.12"), "{text}");
    assert!(
        text.contains("domain0/flags") && text.contains("SD_SHARE_LLC"),
        "{text}"
    );
}

#[test]
fn an_imported_machine_reads_back_as_the_same() {
    let dir = std::env::temp_dir().join(format!("fairlab-machines-cli-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("machine.json");
    let file = path.to_str().unwrap();
    let run = fairlab(&["machines", "import", "2s:4c:2t", "-o", file]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    assert!(
        run.stderr.contains("16 CPUs, 8 cores, 2 LLCs"),
        "{}",
        run.stderr
    );
    let same = answer(&["machines", "diff", "2s:4c:2t", file]);
    assert!(same.contains("are alike"), "{same}");
    let other = json(&["machines", "diff", "2s:4c:1t", file]);
    assert!(!other.as_array().unwrap().is_empty());
    let wrong = fairlab(&["machines", "import", "vm-4", "-o", "/nonexistent/m.txt"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("machines are written as JSON"),
        "{}",
        wrong.stderr
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn check_exits_with_1_when_there_are_problems() {
    let odd = fairlab(&["machines", "check", "2s:1c;distances=10/20_30/10"]);
    assert_eq!(odd.code, 1);
    assert!(
        odd.stdout.contains("problem: distances are not symmetric"),
        "{}",
        odd.stdout
    );
    assert_eq!(fairlab(&["machines", "check", "xeon-6248"]).code, 0);
}

#[test]
fn what_names_no_machine_is_an_error_with_near_names() {
    let run = fairlab(&["machines", "show", "xeon-6284"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr.contains("did you mean xeon-6248?"),
        "{}",
        run.stderr
    );
    let run = fairlab(&["machines", "detect", "--root", "/nonexistent"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("no CPU is described"), "{}", run.stderr);
}
