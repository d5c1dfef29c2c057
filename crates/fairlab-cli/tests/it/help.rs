//! The help texts, so that a change to one is seen in review.

use expect_test::{Expect, expect};

use crate::run::answer;

fn check(args: &[&str], expected: Expect) {
    // Trailing spaces come from the wrapping and would only annoy editors.
    let text: Vec<&str> = Vec::from_iter(answer(args).leak().lines().map(|line| line.trim_end()));
    expected.assert_eq(&(text.join("\n") + "\n"));
}

#[test]
fn main_help() {
    check(
        &["--help"],
        expect![[r#"
            The Linux fair scheduler's CPU placement and balancing: models, simulator, tools

            Usage: fairlab <COMMAND>

            Commands:
              machines  Machine models: list them, draw one, import one from a file, compare and check them
              kernels   Releases and features: list them, show one, or say what differs between two
              run       Simulate a workload once: what the modelled tool would print, and what the scheduler did
              compare   Simulate a workload under two kernels over several seeds, and say what differs
              bench     Measure on this host, for real
              help      Print this message or the help of the given subcommand(s)

            Options:
              -h, --help     Print help
              -V, --version  Print version

            Exit codes: 0 fine, 1 the answer is "worse" or --check found something, 2 usage or bad input.
        "#]],
    );
}

#[test]
fn kernels_help() {
    check(
        &["kernels", "--help"],
        expect![[r#"
        Releases and features: list them, show one, or say what differs between two

        Usage: fairlab kernels [OPTIONS] [COMMAND]

        Commands:
          list  The releases (this is the default)
          show  All features and tunables of a kernel, and where it differs from the release as built
          diff  What changes from A to B, and what each change means
          help  Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help

        Output:
              --json           Print JSON
          -o, --output <FILE>  Write to FILE; its suffix picks the format
    "#]],
    );
}

#[test]
fn kernels_show_help() {
    check(
        &["kernels", "show", "--help"],
        expect![[r#"
        All features and tunables of a kernel, and where it differs from the release as built

        Usage: fairlab kernels show [OPTIONS] <K>

        Arguments:
          <K>  A release, with switches and numbers if you like: 6.12, 6.12:NO_SIS_UTIL,hz=1000

        Options:
          -h, --help  Print help

        Output:
              --json           Print JSON
          -o, --output <FILE>  Write to FILE; its suffix picks the format
    "#]],
    );
}

#[test]
fn kernels_diff_help() {
    check(
        &["kernels", "diff", "--help"],
        expect![[r#"
        What changes from A to B, and what each change means

        Usage: fairlab kernels diff [OPTIONS] <A> <B>

        Arguments:
          <A>  The kernel to start from
          <B>  The kernel to go to

        Options:
          -h, --help  Print help

        Output:
              --json           Print JSON
          -o, --output <FILE>  Write to FILE; its suffix picks the format
    "#]],
    );
}
