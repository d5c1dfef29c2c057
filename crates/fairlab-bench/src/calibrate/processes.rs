//! Processes and threads: making them, becoming another program, ending.

use std::ffi::CString;
use std::thread;
use std::time::Instant;

use super::CalibrateOptions;
use super::places::Places;
use super::rounds::{Part, median_of};
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
    let fork = median_of(count, || {
        let start = Instant::now();
        let child = sys::fork_exit().map_err(fail())?;
        let forked = start.elapsed();
        wait_for(child)?;
        Ok::<f64, BenchError>(forked.as_nanos() as f64)
    })?;
    let whole = median_of(count, || {
        let start = Instant::now();
        wait_for(sys::fork_exit().map_err(fail())?)?;
        Ok::<f64, BenchError>(start.elapsed().as_nanos() as f64)
    })?;
    let program = CString::new(PROGRAM).map_err(|error| BenchError::Option(error.to_string()))?;
    let program = Program::new(vec![program]);
    let with_exec = median_of(options.count(20), || {
        let start = Instant::now();
        wait_for(sys::fork_exec(&program).map_err(fail())?)?;
        Ok::<f64, BenchError>(start.elapsed().as_nanos() as f64)
    })?;
    let spawn = median_of(options.count(60), || {
        let start = Instant::now();
        let thread = thread::spawn(|| ());
        let spawned = start.elapsed();
        let failed = |_| BenchError::Option("an empty thread failed".into());
        thread.join().map_err(failed)?;
        Ok::<f64, BenchError>(spawned.as_nanos() as f64)
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
        part("clone_thread", spawn),
    ])
}
