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
              machines   Machine models: list them, draw one, import one from a file, compare and check them
              kernels    Releases and features: list them, show one, or say what differs between two
              run        Simulate a workload once: what the modelled tool would print, and what the scheduler
                         did
              compare    Simulate a workload under two kernels over several seeds, and say what differs
              validate   Simulate published results, and say how far signs and sizes agree
              audit      Find where a recorded kernel placed tasks badly, and what it cost
              replay     Let another kernel, or another machine, schedule the work of a recorded trace
              report     One HTML page about traces, to look at or to compare: timelines, delays, occupancy,
                         findings
              bench      Measure on this host, for real
              calibrate  Measure what this host's hardware and kernel cost, and write a file for --costs
              layout     Sections, symbols, cache lines and structures of a build, and what changed to another
              events     What is in a recorded trace, and what is missing from it
              record     Record this host's scheduling events, machine, tasks and settings, through tracefs
              timehist   Every switch of a recording with its wait, delay and run time, as perf sched timehist
                         prints them
              latency    Delays by task, as perf sched latency prints them
              map        Who runs where after each switch, as perf sched map prints it
              stats      Compare recorded numbers or outputs of tools: tables, significance, checks, baselines
              live       Take over this machine's scheduling through sched_ext
              help       Print this message or the help of the given subcommand(s)

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

#[test]
fn layout_help() {
    check(
        &["layout", "--help"],
        expect![[r#"
        Sections, symbols, cache lines and structures of a build, and what changed to another

        Usage: fairlab layout [OPTIONS] <A> [B]

        Arguments:
          <A>
                  A build, or a text about one or several

          [B]
                  The build to compare it with

        Options:
          -h, --help
                  Print help (see a summary with '-h')

        Views:
          -S, --size
                  Sizes: text data bss dec hex filename

          -A, --sections
                  Sections, as `size -A`

          -g, --growth
                  Growth per symbol, as bloat-o-meter

          -m, --moved
                  Symbols that moved: old and new address

          -u, --diff
                  Symbols that moved, as `diff -u` of the sorted lists

              --gone
                  Functions without a symbol of their own in one build, and where they are inlined

          -l, --lines
                  Variables per cache line

          -n, --nm
                  Symbols, as `nm -n`

              --radix <BASE>
                  Base of the numbers of --size and --sections

                  Possible values:
                  - d: Decimal
                  - o: Octal
                  - x: Hexadecimal

              --totals
                  Add a line of sums to --size

              --limit <N>
                  Rows of a table; 0 shows all

                  [default: 40]

        Symbols:
          -t, --text
                  Growth of code only

          -d, --data
                  Growth of data only

          -c, --categories
                  Growth of code, data and read-only data apart

              --symbol <PATTERN>
                  Only symbols with these names; * and ? stand for any letters and any letter

        Cache lines:
              --line <BYTES>
                  Bytes of a cache line; several may be given

                  [default: 64 128]

              --hot <NAME>
                  Variables that are used often, by name

              --hot-file <FILE>
                  A file with their names, or what `perf c2c report --stdio` or `perf mem report` printed

              --all-data
                  All variables, not only those of which there is one per CPU

        Structures:
              --struct <NAME>
                  Structures, as `pahole` prints them, or their difference

              --structs
                  All structures; of two builds, those that differ

              --btf-base <FILE>
                  BTF that the BTF of a module builds on, such as /sys/kernel/btf/vmlinux

        Output:
              --format <FORM>
                  The form of the answer [default: by the suffix of -o, else text]

                  Possible values:
                  - text:     As the tools print it
                  - markdown: Markdown
                  - csv:      Comma-separated values
                  - json:     JSON

              --json
                  Print JSON

          -o, --output <FILE>
                  Write to FILE; its suffix picks the format

        A and B are recognised by their contents:
          ELF            objects, programs, vmlinux, kernel modules (also .gz, .xz, .zst); 32 and 64 bit,
                         both byte orders; archives of objects
          BTF            /sys/kernel/btf/vmlinux and the like
          texts          of size, size -A, nm, pahole, bloat-o-meter; System.map, /proc/kallsyms, lists of
                         symbols with addresses; `diff -u` of two maps
          -              standard input
        A text may hold several tables or lists (before, after): then one file is enough.

        Without a choice, what the inputs can tell is shown: sizes; and for two builds growth, what moved,
        what is gone, and cache lines.
    "#]],
    );
}
