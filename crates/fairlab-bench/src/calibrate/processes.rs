//! Processes and threads: making them, becoming another program, ending.

use std::ffi::CString;
use std::thread;
use std::time::Instant;

use super::CalibrateOptions;
use super::places::Places;
use super::rounds::{Part, each_ns};
use crate::children::wait_for;
use crate::sys::{self, Program};
use crate::{BenchError, CpuList};

/// A program that does nothing.
const PROGRAM: &str = "/bin/true";

pub(super) fn measure(
    options: &CalibrateOptions,
    places: &Places,
) -> Result<Vec<Part>, BenchError> {
    CpuList::only(places.home).pin()?;
    let count = options.count(60);
    let fail = || BenchError::system("make a process");
    let mut in_fork = 0;
    let whole = each_ns(count, || {
        let start = Instant::now();
        let child = sys::fork_exit().map_err(fail())?;
        in_fork += start.elapsed().as_nanos();
        wait_for(child).map(drop)
    })?;
    let fork = in_fork as f64 / f64::from(count);
    let program = CString::new(PROGRAM).map_err(|error| BenchError::Option(error.to_string()))?;
    let program = Program::new(vec![program]);
    let with_exec = each_ns(options.count(20), || {
        let child = sys::fork_exec(&program).map_err(fail())?;
        wait_for(child).map(drop)
    })?;
    let mut in_spawn = 0;
    let threads = options.count(60);
    each_ns(threads, || {
        let start = Instant::now();
        let thread = thread::spawn(|| ());
        in_spawn += start.elapsed().as_nanos();
        thread
            .join()
            .map_err(|_| BenchError::Option("an empty thread failed".into()))
    })?;
    let part = |entry, value| Part {
        entry,
        index: 0,
        value,
    };
    Ok(vec![
        part("fork", fork),
        part("exit", (whole - fork).max(1_000.0)),
        part("exec", (with_exec - whole).max(1_000.0)),
        part("clone_thread", in_spawn as f64 / f64::from(threads)),
    ])
}
