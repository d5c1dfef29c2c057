//! Process latencies as lmbench's `lat_proc` has them: fork+exit, fork+execve, fork+/bin/sh -c.
//!
//! # Method
//! As lmbench's: a batch of operations long enough for the clock, its time divided by its length;
//! several batches, their median. One process at a time, and the parent waits for each. The child of
//! fork+exit ends at once with `_exit`; that of fork+execve becomes a program that does nothing;
//! that of fork+/bin/sh becomes a shell that is told to start this program.
//!
//! # Assumptions
//! lmbench starts a `hello` of its own, a small program linked to the C library; here it is
//! `/bin/true`, which is the same in size and libraries, or the program that is named. `vfork` and
//! `posix_spawn` are not used: they take another path through the kernel.

use std::ffi::CString;
use std::fmt;
use std::time::{Duration, Instant};

use fairlab_stats::Sample;

use crate::children::{describe, wait_for};
use crate::sys::{self, Program};
use crate::{BenchError, CpuList, Measured, Row};

/// What the child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Procedure {
    /// Ends at once.
    Exit,
    /// Becomes a program that ends at once.
    Exec,
    /// Becomes a shell that starts a program that ends at once.
    Shell,
}

impl Procedure {
    /// In lmbench's order.
    pub const ALL: [Self; 3] = [Self::Exit, Self::Exec, Self::Shell];
}

/// lmbench's words.
impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exit => "fork+exit",
            Self::Exec => "fork+execve",
            Self::Shell => "fork+/bin/sh -c",
        })
    }
}

/// What is measured, and how often.
#[derive(Clone, Debug)]
pub struct ForkOptions {
    /// What the children do, in the order of the rows.
    pub procedures: Vec<Procedure>,
    /// Batches of each; the median counts. lmbench's `-N`.
    pub repetitions: u32,
    /// A batch is at least that long.
    pub batch: Duration,
    /// Time before the first batch whose operations do not count. lmbench's `-W`.
    pub warm_up: Duration,
    /// The program that children become.
    pub program: String,
    /// Where parent and children stay; anywhere when `None`.
    pub cpus: Option<CpuList>,
}

impl Default for ForkOptions {
    fn default() -> Self {
        Self {
            procedures: Procedure::ALL.to_vec(),
            repetitions: 11,
            batch: Duration::from_millis(50),
            warm_up: Duration::from_millis(100),
            program: "/bin/true".into(),
            cpus: None,
        }
    }
}

/// The times of one procedure.
#[derive(Clone, Debug)]
pub struct ForkTimes {
    /// What the child did.
    pub procedure: Procedure,
    /// Microseconds per operation, one value per batch.
    pub batches_us: Sample,
    /// Operations in a batch.
    pub operations: u64,
}

/// Measures what `options` ask for.
///
/// # Errors
/// When processes cannot be made, or the program cannot be started or fails.
pub fn run(options: &ForkOptions) -> Result<Vec<ForkTimes>, BenchError> {
    if let Some(cpus) = &options.cpus {
        cpus.pin()?;
    }
    let starter = Starter::new(&options.program)?;
    let procedures = options.procedures.iter();
    procedures
        .map(|procedure| measure(*procedure, &starter, options))
        .collect()
}

/// lmbench's lines, and a row for each.
#[must_use]
pub fn report(times: &[ForkTimes]) -> Measured {
    let mut text = String::new();
    let mut rows = Vec::new();
    for times in times {
        let median = times.batches_us.median();
        text += &format!("Process {}: {median:.4} microseconds\n", times.procedure);
        rows.push(Row::lower(times.procedure.to_string(), "us", median));
    }
    Measured { text, rows }
}

fn measure(
    procedure: Procedure,
    starter: &Starter,
    options: &ForkOptions,
) -> Result<ForkTimes, BenchError> {
    // The warm-up also says how many operations make a batch.
    let start = Instant::now();
    let mut done = 0_u32;
    while done == 0 || start.elapsed() < options.warm_up {
        starter.once(procedure)?;
        done += 1;
    }
    let each = start.elapsed() / done;
    let operations = (options.batch.as_nanos() / each.as_nanos().max(1)).clamp(1, 1_000_000) as u64;
    let mut batches = Vec::new();
    for _ in 0..options.repetitions.max(1) {
        let start = Instant::now();
        for _ in 0..operations {
            starter.once(procedure)?;
        }
        batches.push(start.elapsed().as_secs_f64() * 1e6 / operations as f64);
    }
    let batches_us = Sample::new(batches).map_err(|error| BenchError::Option(error.to_string()))?;
    Ok(ForkTimes {
        procedure,
        batches_us,
        operations,
    })
}

/// Makes children and waits for them.
struct Starter {
    program: Program,
    shell: Program,
}

impl Starter {
    fn new(program: &str) -> Result<Self, BenchError> {
        let words = |words: &[&str]| {
            let words = words.iter().map(|word| CString::new(*word));
            words
                .collect::<Result<Vec<_>, _>>()
                .map(Program::new)
                .map_err(|_| {
                    BenchError::Option(format!("the program '{program:?}' holds a zero byte"))
                })
        };
        Ok(Self {
            program: words(&[program])?,
            shell: words(&["/bin/sh", "-c", program])?,
        })
    }

    fn once(&self, procedure: Procedure) -> Result<(), BenchError> {
        let (child, program) = match procedure {
            Procedure::Exit => (sys::fork_exit(), None),
            Procedure::Exec => (sys::fork_exec(&self.program), Some(&self.program)),
            Procedure::Shell => (sys::fork_exec(&self.shell), Some(&self.shell)),
        };
        let child = child.map_err(BenchError::system("make a process"))?;
        let status = wait_for(child)?;
        if status.exit_status() == Some(0) {
            return Ok(());
        }
        let what = match program {
            None => "a child".to_owned(),
            Some(program) => format!("'{program}' (can it be started?)"),
        };
        Err(BenchError::Child {
            what,
            status: describe(status),
            expected: "exit code 0",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(procedure: Procedure) -> ForkOptions {
        ForkOptions {
            procedures: vec![procedure],
            repetitions: 3,
            batch: Duration::from_millis(1),
            warm_up: Duration::ZERO,
            ..ForkOptions::default()
        }
    }

    #[test]
    fn every_procedure_gives_a_line_of_lmbench() {
        for procedure in Procedure::ALL {
            let times = run(&quick(procedure)).unwrap();
            let report = report(&times);
            assert!(
                report.text.starts_with(&format!("Process {procedure}: ")),
                "{}",
                report.text
            );
            assert!(report.text.ends_with(" microseconds\n"), "{}", report.text);
            assert!(report.rows[0].value > 0.0);
        }
    }

    #[test]
    fn a_program_that_is_not_there_or_fails_is_an_error() {
        for (program, status) in [("/nonexistent/program", "127"), ("/bin/false", "1")] {
            for procedure in [Procedure::Exec, Procedure::Shell] {
                let options = ForkOptions {
                    program: program.into(),
                    ..quick(procedure)
                };
                let error = run(&options).unwrap_err().to_string();
                assert!(error.contains(program) && error.contains(status), "{error}");
            }
        }
    }
}
