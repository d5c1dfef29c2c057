//! Two tasks that hand a token to and fro through two pipes, as `perf bench sched pipe` has it.
//!
//! # Method
//! As perf's: an operation is a token there and back; the tasks are processes or threads. The time
//! runs from before the tasks are made until both have ended.

use std::thread;
use std::time::{Duration, Instant};

use crate::children::Children;
use crate::messages::{Channel, receive_all, send};
use crate::{BenchError, CpuList, Measured, Row};

/// The size of perf's token, an `int`.
const TOKEN: [u8; 4] = [0; 4];

/// What is measured.
#[derive(Clone, Debug)]
pub struct PipeOptions {
    /// Tokens there and back.
    pub loops: u64,
    /// Threads of one process in place of processes.
    pub is_threaded: bool,
    /// Where the tasks stay; anywhere when `None`.
    pub cpus: Option<CpuList>,
    /// The first task stays on the first of `cpus`, the second on the last.
    pub is_split: bool,
}

impl Default for PipeOptions {
    fn default() -> Self {
        Self {
            loops: 1_000_000,
            is_threaded: false,
            cpus: None,
            is_split: false,
        }
    }
}

/// What came out.
#[derive(Clone, Copy, Debug)]
pub struct PipeTime {
    /// Of all operations.
    pub total: Duration,
    /// How many there were.
    pub loops: u64,
    /// Were the tasks threads?
    pub is_threaded: bool,
}

/// Runs the load once.
///
/// # Errors
/// When the tasks or their pipes cannot be made; processes need a caller with one thread.
pub fn run(options: &PipeOptions) -> Result<PipeTime, BenchError> {
    if options.loops == 0 {
        return Err(BenchError::Option("no loops: 1 or more are wanted".into()));
    }
    if let Some(cpus) = &options.cpus {
        cpus.pin()?;
    }
    let (there, back) = (Channel::pipe()?, Channel::pipe()?);
    let place = |second: bool| match &options.cpus {
        Some(cpus) if options.is_split => {
            CpuList::only(if second { cpus.last() } else { cpus.first() }).pin()
        }
        _ => Ok(()),
    };
    let first = || {
        place(false)?;
        let mut token = TOKEN;
        for _ in 0..options.loops {
            send(&there.to, &token)?;
            receive_all(&back.from, &mut token)?;
        }
        Ok(())
    };
    let second = || {
        place(true)?;
        let mut token = TOKEN;
        for _ in 0..options.loops {
            receive_all(&there.from, &mut token)?;
            send(&back.to, &token)?;
        }
        Ok(())
    };
    let start = Instant::now();
    if options.is_threaded {
        thread::scope(|scope| {
            let tasks = [scope.spawn(first), scope.spawn(second)];
            tasks.into_iter().try_for_each(crate::load::join)
        })?;
    } else {
        let mut children = Children::default();
        children.start(first)?;
        children.start(second)?;
        children.wait_all("a task of the pipe load")?;
    }
    Ok(PipeTime {
        total: start.elapsed(),
        loops: options.loops,
        is_threaded: options.is_threaded,
    })
}

/// What perf prints, and its figures.
#[must_use]
pub fn report(time: &PipeTime) -> Measured {
    let us = time.total.as_secs_f64() * 1e6;
    let us_per_op = us / time.loops as f64;
    let ops_per_s = time.loops as f64 / time.total.as_secs_f64().max(1e-9);
    let tasks = if time.is_threaded {
        "threads"
    } else {
        "processes"
    };
    let text = format!(
        "# Running 'sched/pipe' benchmark:\n\
         # Executed {} pipe operations between two {tasks}\n\n \
         {:>14}: {}.{:03} [sec]\n\n \
         {us_per_op:>14.6} usecs/op\n \
         {:>14} ops/sec\n",
        time.loops,
        "Total time",
        time.total.as_secs(),
        time.total.subsec_millis(),
        ops_per_s as u64,
    );
    let rows = vec![
        Row::lower("usecs/op", "us", us_per_op),
        Row::higher("ops/sec", "ops/s", ops_per_s),
        Row::lower("Total time", "s", us / 1e6),
    ];
    Measured { text, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_form_of_perf() {
        let time = PipeTime {
            total: Duration::from_micros(8_077_648),
            loops: 1_000_000,
            is_threaded: false,
        };
        assert_eq!(
            report(&time).text,
            "# Running 'sched/pipe' benchmark:\n\
             # Executed 1000000 pipe operations between two processes\n\
             \n     Total time: 8.077 [sec]\n\
             \n       8.077648 usecs/op\n         123798 ops/sec\n"
        );
    }

    #[test]
    fn threads_hand_the_token_around() {
        let options = PipeOptions {
            loops: 100,
            is_threaded: true,
            ..PipeOptions::default()
        };
        assert!(run(&options).unwrap().total > Duration::ZERO);
    }

    #[test]
    fn no_loops_are_refused() {
        let options = PipeOptions {
            loops: 0,
            ..PipeOptions::default()
        };
        assert!(run(&options).is_err());
    }
}
