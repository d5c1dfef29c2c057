//! Instructions of a call, counted exactly.
//!
//! Hardware counters are seldom there in virtual machines. So a child made with fork runs the calls
//! one instruction at a time under ptrace, and the steps are counted. That takes some microseconds an
//! instruction (tens of them in a virtual machine), but the count is the same on a busy host. The
//! example `forks` holds it against `valgrind --tool=callgrind`, which counted 24,115 instructions
//! where this counted 24,126: the other eleven make the call. A repeated string instruction counts
//! once per repetition on x86.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::BenchError;
use crate::sys::stepping;

/// Where a count is given up: some minutes of a slow host.
const MOST_STEPS: u64 = 20_000_000;

/// The instructions of one call of each of `calls`.
///
/// The calls run in a child process, so what they change is not seen here. They must not allocate,
/// lock or panic: the child may be the copy of a process with several threads.
///
/// # Errors
/// When this host does not let a process trace its child, or a call does not end.
pub fn count(calls: &mut [&mut dyn FnMut()]) -> Result<Vec<u64>, BenchError> {
    // What lies between two stops anyway is counted with a call of nothing, and taken off.
    let mut nothing = || {};
    let child = stepping::fork_traced(&mut || {
        stepping::stop();
        for _ in 0..2 {
            call_and_stop(&mut nothing);
        }
        for call in &mut *calls {
            call_and_stop(call);
        }
    })
    .map_err(BenchError::system("make a child to count instructions in"))?;
    let counts = count_in(child, calls.len());
    // It may be gone already, which is as good.
    let _ = kill_process(child, Signal::KILL);
    let _ = waitpid(Some(child), WaitOptions::empty());
    counts
}

/// Never inlined, so that every call costs the same on the way.
#[inline(never)]
fn call_and_stop(call: &mut dyn FnMut()) {
    call();
    stepping::stop();
}

fn count_in(child: Pid, calls: usize) -> Result<Vec<u64>, BenchError> {
    wait_for_stop(child)?;
    until_stop(child)?;
    let overhead = until_stop(child)?;
    let mut counts = Vec::with_capacity(calls);
    for _ in 0..calls {
        counts.push(until_stop(child)?.saturating_sub(overhead));
    }
    Ok(counts)
}

/// Steps until the child stops itself.
fn until_stop(child: Pid) -> Result<u64, BenchError> {
    for steps in 0..MOST_STEPS {
        stepping::step(child).map_err(BenchError::system(
            "step through the instructions of a child",
        ))?;
        if wait_for_stop(child)? == Signal::STOP.as_raw() {
            return Ok(steps);
        }
    }
    Err(BenchError::Option(format!(
        "a call took more than {MOST_STEPS} instructions: count a smaller machine"
    )))
}

fn wait_for_stop(child: Pid) -> Result<i32, BenchError> {
    let status = waitpid(Some(child), WaitOptions::empty())
        .map_err(BenchError::system("wait for the child that is stepped"))?;
    let signal = status.and_then(|(_, status)| status.stopping_signal());
    match signal {
        Some(signal) if signal == Signal::STOP.as_raw() || signal == Signal::TRAP.as_raw() => {
            Ok(signal)
        }
        _ => Err(BenchError::Child {
            what: "the child that is stepped".to_owned(),
            status: format!("{status:?}"),
            expected: "a stop after one instruction",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_work_has_twice_the_instructions() {
        let work = |n: u64| {
            let mut sum = 0_u64;
            for i in 0..std::hint::black_box(n) {
                sum = std::hint::black_box(sum + i);
            }
        };
        let counted = count(&mut [
            &mut || work(0),
            &mut || work(50),
            &mut || work(100),
            &mut || work(50),
        ]);
        // A sandbox may forbid tracing; that is said, and not a failure.
        let counts = match counted {
            Ok(counts) => counts,
            Err(error) => {
                eprintln!("skipped: {error}");
                return;
            }
        };
        let [none, once, twice, again] = counts[..] else {
            panic!("{counts:?}");
        };
        assert_eq!(once, again, "{counts:?}");
        assert!(once - none >= 50, "{counts:?}");
        // Debug and release builds enter and leave a loop with a few instructions of their own.
        let (first, second) = (once - none, twice - once);
        assert!(first.abs_diff(second) <= 8, "{counts:?}");
    }
}
