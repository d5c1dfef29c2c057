//! Wrong words and broken files: one clear error, exit code 2, in a moment.

use std::time::{Duration, Instant};

use crate::run::fairlab;

/// Far above what any of these takes, and far below a hang.
const PATIENCE: Duration = Duration::from_secs(10);

fn refused(args: &[&str], parts: &[&str]) {
    let start = Instant::now();
    let run = fairlab(args);
    assert!(
        start.elapsed() < PATIENCE,
        "{args:?} took {:?}",
        start.elapsed()
    );
    assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
    assert_eq!(run.stdout, "", "{args:?}");
    assert!(
        run.stderr.starts_with("error: "),
        "{args:?}: {}",
        run.stderr
    );
    for part in parts {
        assert!(
            run.stderr.contains(part),
            "{args:?}: '{part}' is missing in {}",
            run.stderr
        );
    }
}

#[test]
fn unknown_names_suggest_near_ones() {
    let load = "hackbench -g 1";
    refused(&["run", load, "-M", "powr9"], &["powr9", "power9"]);
    refused(
        &["run", load, "-M", "vm-4", "-K", "6.13"],
        &["6.13", "6.12"],
    );
    refused(
        &["run", load, "-K", "6.12:SIS_UTILL"],
        &["SIS_UTILL", "did you mean 'SIS_UTIL'?"],
    );
    refused(
        &["run", load, "-K", "6.12:hzz=1"],
        &["hzz", "did you mean 'hz'?"],
    );
    refused(
        &["run", "hakbench", "-M", "vm-4"],
        &["hakbench", "did you mean 'hackbench'?"],
    );
}

#[test]
fn wrong_option_values_say_what_is_wanted() {
    refused(
        &["run", "hackbench -g 0", "-M", "vm-4"],
        &["groups", "1 or more"],
    );
    refused(
        &["run", "hackbench -q", "-M", "vm-4"],
        &["-q", "-g/--groups"],
    );
    refused(
        &["run", "schbench -r x", "-M", "vm-4"],
        &["runtime", "seconds"],
    );
    refused(
        &["run", "hackbench", "-M", "vm-4", "--seed", "x"],
        &["--seed"],
    );
    let compare = [
        "compare",
        "hackbench",
        "-M",
        "vm-4",
        "-K",
        "6.1",
        "-K",
        "6.6",
    ];
    refused(&[&compare[..], &["--runs", "1"]].concat(), &["--runs"]);
    refused(
        &[&compare[..], &["--confidence", "100"]].concat(),
        &["below 100"],
    );
}

#[test]
fn broken_machine_files_are_refused() {
    let dir = std::env::temp_dir().join(format!("fairlab-bad-input-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // Ten levels of ten entities each would be 10^10 letters.
    let mut bomb =
        String::from("<?xml version=\"1.0\"?><!DOCTYPE topology [<!ENTITY a \"aaaaaaaaaa\">");
    for (level, name) in ('b'..='k').enumerate() {
        let inner = char::from(b'a' + level as u8);
        bomb.push_str(&format!(
            "<!ENTITY {name} \"{}\">",
            format!("&{inner};").repeat(10)
        ));
    }
    bomb.push_str("]><topology><object type=\"&k;\"/></topology>");
    let deep = format!("<topology>{}", "<object type=\"Package\">".repeat(200_000));
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("text.txt", b"hello, this is not a machine\n"),
        (
            "cut.tar.gz",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xed\xd1",
        ),
        ("cut.tar.bz2", b"BZh91AY&SY"),
        ("cut.tar.xz", b"\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F"),
        ("bomb.xml", bomb.as_bytes()),
        ("deep.xml", deep.as_bytes()),
        (
            "none.json",
            b"{\"format\": \"fairlab-machine/1\", \"cpus\": []}",
        ),
    ] {
        let path = write(name, bytes);
        refused(&["run", "hackbench", "-M", &path], &[]);
    }
    refused(
        &["run", "hackbench", "-M", "/nonexistent/machine.xml"],
        &["/nonexistent/machine.xml"],
    );
    // Sparse: two gigabytes of zeros.
    let zeros = dir.join("zeros");
    std::fs::File::create(&zeros)
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    refused(
        &["run", "hackbench", "-M", zeros.to_str().unwrap()],
        &["zeros"],
    );
    std::fs::remove_dir_all(&dir).unwrap();
}
