//! Workload files as their users meet them.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod costs;

use std::path::Path;

use fairlab_units::{CpuMask, Nanos};
use fairlab_workfile::parse;
use fairlab_workload::{Class, CpuMax, End, Op, Span, TaskGroupId, Who, Workload};

fn read(text: &str) -> Workload {
    parse(text, "test", &CpuMask::full(4), None).unwrap()
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let error = parse(text, "test", &CpuMask::full(4), None).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

/// A file with one task that does `steps`.
fn task(steps: &str) -> String {
    format!("[[task]]\nname = \"t\"\ndo = [{steps}]\n")
}

#[test]
fn operations_are_written_as_words() {
    let w = read(&task(
        "'run 5ms', { repeat = 3, do = ['sleep ~1ms'] }, 'exit'",
    ));
    let ms = Nanos::from_millis;
    let expected = [
        Op::Run(Span::Fixed(ms(5))),
        Op::Sleep(Span::Exponential { mean: ms(1) }),
        Op::Repeat { to: 1, times: 3 },
        Op::Exit,
    ];
    assert_eq!(w.programs[0].ops, expected);
    assert_eq!(w.end, End::AllExited);
    let shorter = parse(&task("'exit'"), "t", &CpuMask::full(1), Some(ms(7))).unwrap();
    assert_eq!(shorter.end, End::After(ms(7)));
}

#[test]
fn tasks_may_fork_those_that_come_later_in_the_file() {
    let text = format!(
        "{}[[task]]\nname = \"u\"\nstart = false\nclass = \"fifo:5\"\ncpus = \"1-2\"\ndo = [\"exit\"]\n",
        task("'fork u', 'wait-children 0'")
    );
    let w = read(&text);
    assert_eq!(w.start.len(), 1);
    assert_eq!(
        w.programs[0].ops[0],
        Op::Fork(fairlab_workload::ProgramId(1))
    );
    assert_eq!(w.programs[1].class, Class::Fifo(5));
    assert!(w.programs[1].allowed.is_some());
}

#[test]
fn groups_are_declared_in_any_order_and_tasks_join_and_leave_them() {
    let text = format!(
        "[group.in]\nparent = \"out\"\nmax = \"50ms 100ms\"\nburst = \"10ms\"\n\
         [group.out]\nweight = 200\n[group.rest]\nidle = true\nshares = 512\n{}group = \"in\"\n",
        task("'run 1ms', 'group rest', 'group /'")
    );
    let w = read(&text);
    let (outer, inner, rest) = (&w.groups[0], &w.groups[2], &w.groups[1]);
    let names = [&outer.name, &inner.name, &rest.name];
    assert_eq!(names, ["out", "in", "rest"]);
    assert_eq!((outer.shares, rest.shares, rest.is_idle), (2048, 512, true));
    assert_eq!(inner.parent, Some(TaskGroupId(0)));
    let ms = Nanos::from_millis;
    let max = CpuMax {
        quota: ms(50),
        period: ms(100),
        burst: ms(10),
    };
    assert_eq!(inner.max, Some(max));
    assert_eq!(w.programs[0].group, Some(TaskGroupId(2)));
    let who = Who::Myself;
    let group = Some(TaskGroupId(1));
    assert_eq!(w.programs[0].ops[1], Op::SetGroup { who, group });
    assert_eq!(w.programs[0].ops[2], Op::SetGroup { who, group: None });
}

#[test]
fn a_group_that_cannot_be_is_refused() {
    let group = |fields: &str| format!("[group.a]\n{fields}\n{}", task("'exit'"));
    check_error(&group("parent = \"b\""), "2:10: there is no [group.b]");
    check_error(
        &group("parent = \"a\""),
        "2:10: these groups are all inside each other; let one of them have no parent",
    );
    check_error(
        &group("weight = 0"),
        "2:10: a whole number from 1 to 10000 is wanted",
    );
    check_error(
        &group("max = \"50ms\""),
        "2:7: \"QUOTA PERIOD\" like \"50ms 100ms\", each at least 1ms and the period at most 1s is wanted",
    );
    check_error(
        &group("burst = \"5ms\""),
        "2:9: 'max' beside 'burst' is wanted",
    );
    check_error(&task("'group b'"), "3:7: there is no [group.b]");
}

#[test]
fn errors_have_a_line_a_column_and_a_near_match() {
    check_error(
        &task("'rum 5ms'"),
        "3:7: unknown operation 'rum'; did you mean 'run'?",
    );
    check_error(
        &task("'run 5'"),
        "3:7: '5' is not a time like 5ms, 5ms..7ms, 5ms+-10% or ~5ms (exponential)",
    );
    check_error(&task("'lock'"), "3:7: write \"lock MUTEX\"");
    check_error(&task("'yield now'"), "3:7: write \"yield\"");
    check_error(&task("'write p'"), "3:7: there is no [pipe.p]");
    check_error(
        &task("'fork T2'"),
        "3:7: there is no task 'T2'; did you mean 't'?",
    );
    check_error(&task("{ forever = [] }"), "3:19: a loop wants operations");
    check_error(
        &task("{ repeat = 2 }"),
        "3:7: a loop wants 'repeat' and 'do', or 'forever'",
    );
    check_error(
        &task("'affinity 4'"),
        "3:7: '4' is not a list of CPUs that this machine has, like 0-3,8",
    );
    check_error(
        "runtme = \"1s\"\n",
        "1:1: unknown key 'runtme' in the file; did you mean 'runtime'? (known are runtime, warmup, report, pipe, \
         barrier, timer, semaphore, group, task)",
    );
    check_error(
        "runtime = 5\n",
        "1:11: a time like 5ms (ns, us, ms, s; a day at most) is wanted",
    );
    check_error("runtime = \"1s\"\n", "1:1: there is no [[task]]");
    check_error("[[task]]\ndo = []\n", "1:1: a task wants a 'name'");
    check_error("[task]\n", "1:1: [[task]], with two brackets, is wanted");
    let nested = "{ repeat = 2, do = [".repeat(5) + "'exit'" + &"] }".repeat(5);
    assert!(parse(&task(&nested), "t", &CpuMask::full(1), None).is_err());
}

#[test]
fn broken_toml_says_where() {
    let error = parse("runtime = \n", "t", &CpuMask::full(1), None).unwrap_err();
    assert_eq!((error.place.line, error.place.column), (1, 11));
}

#[test]
fn every_example_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.display().to_string();
            if let Err(error) = parse(&text, &name, &CpuMask::full(4), None) {
                panic!("{name}:{error}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 5);
}

#[test]
fn damaged_files_are_read_or_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads/control.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let mut rng = fairlab_rng::Rng::stream(1, "damage");
    let (mut read, mut refused) = (0, 0);
    for _ in 0..2_000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=rng.below(2) {
            let at = rng.below(bytes.len() as u64) as usize;
            let end = (at + rng.below(8) as usize).min(bytes.len());
            match rng.below(3) {
                0 => drop(bytes.drain(at..end)),
                1 => bytes[at] = b"{}[]\",=0-.~\n\xff"[rng.below(13) as usize],
                _ => {
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match parse(&text, "t", &CpuMask::full(4), None) {
            Ok(_) => read += 1,
            Err(error) => {
                let lines = text.lines().count() as u32 + 1;
                assert!((1..=lines).contains(&error.place.line), "{error}\n{text}");
                refused += 1;
            }
        }
    }
    assert!(read > 50 && refused > 500, "{read} read, {refused} refused");
}
