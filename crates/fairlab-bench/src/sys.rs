//! The tick counter, processes made with fork, and stepping through a child. The one place of this
//! crate with unsafe code.

pub mod stepping;

use std::ffi::{CString, c_char};
use std::fmt;
use std::io;

use rustix::process::Pid;

/// What [`ticks`] counts on this kind of host.
pub const TICK_UNIT: &str = if cfg!(target_arch = "x86_64") {
    "TSC ticks"
} else {
    "ns"
};

/// Ticks of this CPU since some point in the past.
///
/// On x86-64 the time stamp counter, which runs at a constant rate on every CPU since 2008 or so;
/// elsewhere nanoseconds of the monotonic clock. Differences are what counts.
#[cfg(target_arch = "x86_64")]
#[inline]
#[must_use]
#[allow(unsafe_code)]
pub fn ticks() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 CPU, reads no memory and has no precondition.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Ticks since some point in the past: nanoseconds of the monotonic clock on this kind of host.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
#[must_use]
pub fn ticks() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The exit code of a child whose program could not be started, as shells have it.
const CANNOT_START: i32 = 127;
/// The exit code of a child that panicked, as that of a Rust program.
const PANICKED: u8 = 101;
/// The exit code of a child that came too late; nobody is left to see it.
const PARENT_ENDED: u8 = 1;

/// A program with its arguments, ready for execve: between fork and execve nothing may be allocated.
pub struct Program {
    words: Vec<CString>,
    /// Points into `words`, and ends with a null pointer.
    arguments: Vec<*const c_char>,
}

impl Program {
    /// The program at the path `words[0]`, with all of `words` as arguments and an environment
    /// without variables.
    pub fn new(words: Vec<CString>) -> Self {
        let arguments = words.iter().map(|word| word.as_ptr());
        let arguments = arguments.chain([core::ptr::null()]).collect();
        Self { words, arguments }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.words.iter().enumerate() {
            let blank = if index == 0 { "" } else { " " };
            write!(f, "{blank}{}", word.to_string_lossy())?;
        }
        Ok(())
    }
}

/// Makes a child that ends at once, without running what was registered for the end of this process.
#[allow(unsafe_code)]
pub fn fork_exit() -> io::Result<Pid> {
    // SAFETY: the child calls nothing but `_exit`, which may be called between fork and execve, so
    // other threads of this process do not matter.
    match unsafe { libc::fork() } {
        // SAFETY: ends the calling process; there is no precondition.
        0 => unsafe { libc::_exit(0) },
        child => parent(child),
    }
}

/// Makes a child that becomes `program`; its exit code is 127 when it cannot.
#[allow(unsafe_code)]
pub fn fork_exec(program: &Program) -> io::Result<Pid> {
    let environment: [*const c_char; 1] = [core::ptr::null()];
    let path = program.arguments[0];
    // SAFETY: the child calls nothing but `execve` and `_exit`, which may be called between fork
    // and execve, so other threads of this process do not matter.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: both arrays end with a null pointer, and what they point to lives in `program`,
            // of which the child has its own copy.
            unsafe { libc::execve(path, program.arguments.as_ptr(), environment.as_ptr()) };
            // SAFETY: ends the calling process; there is no precondition.
            unsafe { libc::_exit(CANNOT_START) }
        }
        child => parent(child),
    }
}

/// Makes a child that runs `body`, and ends with its answer as exit code, or with 101 when it panics.
/// The kernel kills the child when this process ends before it.
///
/// # Errors
/// When this process has a second thread: that one may hold a lock, of the allocator for instance,
/// which nobody in the child would ever give back.
#[allow(unsafe_code)]
pub fn fork_body(body: impl FnOnce() -> u8) -> io::Result<Pid> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!(
            "this process has {threads} threads and can only fork with one: use threads, or run it \
             through the command"
        )));
    }
    let this = rustix::process::getpid();
    // SAFETY: this process has one thread, the one that calls, as was just counted; so all locks
    // are free in the child, which therefore may do what it likes.
    match unsafe { libc::fork() } {
        0 => {
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _ = rustix::process::set_parent_process_death_signal(Some(
                    rustix::process::Signal::KILL,
                ));
                // The parent may have ended before the line above.
                if rustix::process::getppid() == Some(this) {
                    body()
                } else {
                    PARENT_ENDED
                }
            }));
            // SAFETY: ends the calling process; there is no precondition.
            unsafe { libc::_exit(i32::from(code.unwrap_or(PANICKED))) }
        }
        child => parent(child),
    }
}

/// Makes the calling thread one that never takes the CPU from others when it wakes up
/// (`SCHED_BATCH`).
pub fn never_preempt() -> io::Result<()> {
    set_policy(libc::SCHED_BATCH, 0)
}

/// How often threads of this process, those that have ended among them, have gone to sleep.
#[allow(unsafe_code)]
pub fn sleeps() -> io::Result<u64> {
    // SAFETY: all fields of the structure are integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: the structure outlives the call, which only writes it.
    match unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) } {
        0 => Ok(u64::try_from(usage.ru_nvcsw).unwrap_or(0)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the calling thread take turns with its like, and nobody else in between, when it yields
/// (`SCHED_FIFO` at the lowest priority). Not everybody may.
pub fn take_turns() -> io::Result<()> {
    set_policy(libc::SCHED_FIFO, 1)
}

#[allow(unsafe_code)]
fn set_policy(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: all fields of the structure are integers, for which zero is a value.
    let mut parameters: libc::sched_param = unsafe { core::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the structure outlives the call, which only reads it; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn parent(child: libc::pid_t) -> io::Result<Pid> {
    // Negative is the error; zero is the child, which does not come here.
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    Pid::from_raw(child).ok_or_else(io::Error::last_os_error)
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn ticks_do_not_go_back() {
        let first = ticks();
        let later = (0..1000).map(|_| ticks()).max().unwrap();
        assert!(later >= first);
    }
}
