//! What holds for every verb: exit codes, pipes, files, completions.

use std::process::Stdio;

use crate::run::{answer, command, fairlab};

#[test]
fn the_version_is_printed() {
    let expected = format!("fairlab {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(answer(&["--version"]), expected);
}

#[test]
fn wrong_usage_exits_with_2_and_keeps_stdout_empty() {
    for args in [
        &["frobnicate"][..],
        &["kernels", "show"],
        &["kernels", "--frobnicate"],
    ] {
        let run = fairlab(args);
        assert_eq!(run.code, 2, "{args:?}");
        assert_eq!(run.stdout, "", "{args:?}");
        assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    }
}

#[test]
fn an_error_prints_its_whole_chain_and_exits_with_2() {
    let run = fairlab(&["kernels", "-o", "/nonexistent/answer.json"]);
    assert_eq!(run.code, 2);
    let expected = "error: cannot create /nonexistent/answer.json: No such file or directory";
    assert!(run.stderr.starts_with(expected), "{}", run.stderr);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for args in [
        &["kernels", "show", "6.12"][..],
        &["completions", "bash"],
        &["man"],
    ] {
        let mut child = command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{args:?}");
    }
}

#[test]
fn the_suffix_of_the_output_file_picks_the_format() {
    let dir = std::env::temp_dir().join(format!("fairlab-cli-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("kernels.json");
    assert_eq!(
        answer(&["kernels", "list", "-o", path.to_str().unwrap()]),
        ""
    );
    let written = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(written, answer(&["kernels", "list", "--json"]));
}

#[test]
fn completions_and_man_pages_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            answer(&["completions", shell]).contains("kernels"),
            "{shell}"
        );
    }
    assert!(answer(&["man"]).contains(".TH fairlab 1"));
    let dir = std::env::temp_dir().join(format!("fairlab-man-{}", std::process::id()));
    assert_eq!(answer(&["man", dir.to_str().unwrap()]), "");
    let page = std::fs::read_to_string(dir.join("fairlab-kernels-diff.1")).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(page.contains("What changes from A to B"));
}
