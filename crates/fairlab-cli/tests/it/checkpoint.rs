//! Saving a point of a run, and going on from it.

use std::path::{Path, PathBuf};

use crate::run::{fairlab, json};

/// A folder that is gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("fairlab-checkpoint-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const LOAD: &str = "schbench -m 1 -t 4 -r 0.2 -F 16 + hogs -n 3";

fn save(file: &Path, load: &[&str]) -> serde_json::Value {
    let file = file.to_str().unwrap();
    let options = ["-M", "1s:4c:2t", "--kernel", "6.1", "--until", "100ms"];
    json(&[&["run"], load, &options[..], &["--save", file]].concat())
}

#[test]
fn a_run_goes_on_from_a_saved_point_as_if_it_had_not_been_stopped() {
    let folder = Folder::new("same");
    let file = folder.path().join("point.json");
    let saved = save(&file, &[LOAD]);
    assert_eq!(saved["elapsed_ns"], 100_000_000);
    let whole = json(&["run", LOAD, "-M", "1s:4c:2t", "--kernel", "6.1"]);
    let file = file.to_str().unwrap();
    let rest = json(&["run", "--from", file]);
    assert_eq!(rest["event_hash"], whole["event_hash"]);
    assert_eq!(rest["kernel"], "6.1");
    assert_eq!(rest["from"]["at_ns"], 100_000_000);
    assert_eq!(
        rest["elapsed_ns"].as_u64().unwrap() + 100_000_000,
        whole["elapsed_ns"].as_u64().unwrap()
    );
    let wakeups = |report: &serde_json::Value| report["counts"]["wakeups"].as_u64().unwrap();
    assert_eq!(wakeups(&saved) + wakeups(&rest), wakeups(&whole));
}

#[test]
fn another_kernel_takes_over_at_the_point() {
    let folder = Folder::new("other");
    let file = folder.path().join("point.json");
    save(&file, &[LOAD]);
    let file = file.to_str().unwrap();
    let other = json(&["run", "--from", file, "--kernel", "7.2"]);
    assert_eq!(other["kernel"], "7.2");
    assert_eq!(other["from"]["kernel"], "6.1");
    let same = json(&["run", "--from", file]);
    assert_ne!(other["event_hash"], same["event_hash"]);

    let kernels = ["--kernel", "6.1", "--kernel", "7.2", "--runs", "2"];
    let compared = json(&[&["compare", "--from", file], &kernels[..]].concat());
    assert_eq!(compared["from"]["at_ns"], 100_000_000);
    // The first run of each goes on with the chances that it had.
    assert_eq!(compared["outcomes"][0]["event_hash"], same["event_hash"]);
}

#[test]
fn a_checkpoint_holds_the_files_that_its_run_was_made_of() {
    let folder = Folder::new("files");
    let load = folder.path().join("load.toml");
    let text = include_str!("../../../../examples/workloads/control.toml");
    std::fs::write(&load, text).unwrap();
    let file = folder.path().join("point.json");
    let saved = save(&file, &[load.to_str().unwrap()]);
    std::fs::remove_file(&load).unwrap();
    let rest = json(&["run", "--from", file.to_str().unwrap()]);
    assert_eq!(rest["workload"], saved["workload"]);
}

#[test]
fn what_cannot_be_saved_or_gone_on_from_is_refused_with_the_reason() {
    let folder = Folder::new("refused");
    let file = folder.path().join("point.json");
    let path = file.to_str().unwrap();
    let refused = |args: &[&str], reason: &str| {
        let run = fairlab(args);
        assert_eq!(run.code, 2, "{args:?}");
        assert!(run.stderr.contains(reason), "{args:?}: {}", run.stderr);
    };
    let machine = ["-M", "1s:4c:2t"];
    let late = [LOAD, "--until", "9s", "--save", path];
    refused(
        &[&["run"], &late[..], &machine[..]].concat(),
        "the run was over at",
    );
    save(&file, &[LOAD]);
    refused(&["run", "--from", path, LOAD], "cannot be used with");
    refused(&["run"], "required arguments");
    refused(&["run", "--from", "/nowhere"], "/nowhere");
    refused(
        &["run", "--from", path, "--kernel", "7.2:hz=100"],
        "another tick",
    );

    // The moment of the point itself is no later than it.
    for until in ["40ms", "100ms"] {
        let cut = ["run", "--from", path, "--until", until];
        refused(&cut, "cannot be cut off");
    }

    let good = std::fs::read_to_string(&file).unwrap();
    let broken = |from: &str, to: &str| {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        std::fs::write(&file, text).unwrap();
    };
    broken("\"seed\": 1", "\"seed\": 2");
    refused(&["run", "--from", path], "an input has changed");
    broken("fairlab-checkpoint/1", "fairlab-checkpoint/9");
    refused(&["run", "--from", path], "fairlab-checkpoint/1 is");
    broken("\"kernel\": \"6.1\"", "\"kernel\": \"2.4\"");
    refused(&["run", "--from", path], "kernel");
    std::fs::write(&file, "{}").unwrap();
    refused(&["run", "--from", path], "this is no checkpoint");
}
