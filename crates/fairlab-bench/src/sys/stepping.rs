//! A child that is run one instruction at a time.

use std::io;

use rustix::process::Pid;

/// Ends the child when it unwinds, which must not run the parent's code.
struct ExitOnDrop;

impl Drop for ExitOnDrop {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: ends the calling process; there is no precondition.
        unsafe { libc::_exit(0) }
    }
}

/// Makes a child that is traced by this process and runs `body`, then ends.
///
/// `body` must not allocate, lock or panic: of a process with other threads the child has only the
/// calling one, and locks that others held stay locked in it.
#[allow(unsafe_code)]
pub fn fork_traced(body: &mut dyn FnMut()) -> io::Result<Pid> {
    // SAFETY: the caller keeps to what may be done after a fork (see above), and the child leaves
    // through `_exit`, also when it unwinds.
    match unsafe { libc::fork() } {
        0 => {
            let _exit = ExitOnDrop;
            // SAFETY: asks to be traced by the parent; takes no pointers.
            if unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } == 0 {
                body();
            }
            drop(_exit);
            // Not reached: the drop above ends the process.
            Err(io::Error::last_os_error())
        }
        child if child > 0 => Pid::from_raw(child).ok_or_else(io::Error::last_os_error),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Stops the calling process until its tracer lets it go on.
#[allow(unsafe_code)]
pub fn stop() {
    // SAFETY: sends a signal to the calling thread; takes no pointers.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Lets a stopped child run one instruction.
#[allow(unsafe_code)]
pub fn step(child: Pid) -> io::Result<()> {
    let nothing = core::ptr::null_mut::<libc::c_void>();
    // SAFETY: a request about a child of this process; the address is ignored, and data 0 means that
    // no signal is delivered.
    let done = unsafe {
        libc::ptrace(
            libc::PTRACE_SINGLESTEP,
            child.as_raw_nonzero().get(),
            nothing,
            nothing,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
