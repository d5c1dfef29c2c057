//! Starts the binary and looks at what came out.

use std::process::{Command, Stdio};

/// What one run of the binary did.
pub struct Run {
    /// Data.
    pub stdout: String,
    /// Talk.
    pub stderr: String,
    /// The exit code.
    pub code: i32,
}

/// The binary with `args`, without a terminal and without the settings of whoever runs the tests.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairlab"));
    command
        .args(args)
        .env_remove("COLUMNS")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null());
    command
}

/// Runs `fairlab ARGS`.
pub fn fairlab(args: &[&str]) -> Run {
    let output = command(args).output().unwrap();
    Run {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

/// Runs `fairlab ARGS`, which must succeed silently, and gives its data.
pub fn answer(args: &[&str]) -> String {
    let run = fairlab(args);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "fairlab {args:?}");
    run.stdout
}

/// Runs `fairlab ARGS --json`, which must succeed silently, and gives the parsed answer.
pub fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&answer(&[args, &["--json"]].concat())).unwrap()
}
