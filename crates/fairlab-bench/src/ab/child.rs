//! One command, watched: its time, its output, its end, whatever happens.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// Output beyond this is read and thrown away.
const LONGEST: usize = 16 << 20;
/// How often an interrupt is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// What a command gets to end after it was asked to.
const GRACE: Duration = Duration::from_secs(1);

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// From just before its start to its end.
    pub wall: Duration,
    /// The first 16 MB of what it wrote.
    pub stdout: Vec<u8>,
    /// The first 16 MB of what it complained about.
    pub stderr: Vec<u8>,
}

/// Why a command did not end by itself.
#[derive(Debug)]
pub enum Failure {
    /// It could not be started or watched.
    System(io::Error),
    /// It took too long and was killed.
    Timeout,
    /// Somebody wants to stop; it was killed.
    Interrupted,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// What happens to the processes that a command has started and left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// They are killed.
    Kill,
    /// They go on: a hook may start a policy that runs until another hook stops it.
    Keep,
}

/// Runs `command` without input, in a process group of its own, which an interrupt from the terminal
/// does not reach; `interrupt` tells of it instead.
pub fn run(
    mut command: Command,
    timeout: Duration,
    interrupt: Option<&AtomicBool>,
    leftovers: Leftovers,
) -> Result<Ended, Failure> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let start = Instant::now();
    let mut running = Running {
        child: command.spawn()?,
        leftovers: Leftovers::Kill,
    };
    let exit = pidfd_open(running.group()?, PidfdFlags::empty())?;
    let mut stdout = Capture::new(running.child.stdout.take())?;
    let mut stderr = Capture::new(running.child.stderr.take())?;
    loop {
        if interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Failure::Interrupted);
        }
        let left = timeout
            .checked_sub(start.elapsed())
            .ok_or(Failure::Timeout)?;
        let has_ended = wait(exit.as_fd(), &[&stdout, &stderr], left.min(LOOK))?;
        let wall = start.elapsed();
        stdout.read()?;
        stderr.read()?;
        if has_ended {
            let status = running.child.wait()?;
            running.leftovers = leftovers;
            return Ok(Ended {
                status,
                wall,
                stdout: stdout.bytes,
                stderr: stderr.bytes,
            });
        }
    }
}

/// Waits for the end of the process, or for output; true when it has ended.
fn wait(exit: BorrowedFd<'_>, captures: &[&Capture], time: Duration) -> Result<bool, Failure> {
    let mut fds = vec![PollFd::from_borrowed_fd(exit, PollFlags::IN)];
    for fd in captures.iter().filter_map(|capture| capture.fd()) {
        fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
    }
    let time = Timespec::try_from(time).ok();
    match poll(&mut fds, time.as_ref()) {
        Ok(_) => Ok(fds.first().is_some_and(|fd| !fd.revents().is_empty())),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A child whose process group is killed when this is dropped.
struct Running {
    child: Child,
    leftovers: Leftovers,
}

impl Running {
    fn group(&self) -> io::Result<Pid> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        pid.ok_or_else(|| io::Error::other("a child without a number"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Ok(group) = self.group() else { return };
        if let Ok(None) = self.child.try_wait() {
            // Gently first, so that it can put things back.
            let _ = kill_process_group(group, Signal::TERM);
            let asked = Instant::now();
            while matches!(self.child.try_wait(), Ok(None)) && asked.elapsed() < GRACE {
                thread::sleep(Duration::from_millis(5));
            }
            self.leftovers = Leftovers::Kill;
        }
        if self.leftovers == Leftovers::Kill {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// What comes out of a pipe.
struct Capture {
    pipe: Option<Box<dyn Pipe>>,
    bytes: Vec<u8>,
}

trait Pipe: Read + AsFd {}
impl<T: Read + AsFd> Pipe for T {}

impl Capture {
    fn new(pipe: Option<impl Pipe + 'static>) -> Result<Self, Failure> {
        if let Some(pipe) = &pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Self {
            pipe: pipe.map(|pipe| Box::new(pipe) as Box<dyn Pipe>),
            bytes: Vec::new(),
        })
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Takes what is there.
    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        // No more than a pipe holds at a time, so that one that never ends cannot keep us here.
        for _ in 0..64 {
            let Some(pipe) = &mut self.pipe else { break };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let room = LONGEST.saturating_sub(self.bytes.len()).min(count);
                    self.bytes.extend(buffer.iter().take(room));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_exit_code_are_kept() {
        let ended = run(
            shell("echo out; echo err >&2; exit 3"),
            LONG,
            None,
            Leftovers::Kill,
        )
        .unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!(
            (&ended.stdout[..], &ended.stderr[..]),
            (&b"out\n"[..], &b"err\n"[..])
        );
    }

    #[test]
    fn more_output_than_a_pipe_holds_does_not_block() {
        let script = "head -c 20000000 /dev/zero";
        let ended = run(shell(script), LONG, None, Leftovers::Kill).unwrap();
        assert_eq!(ended.stdout.len(), LONGEST);
    }

    #[test]
    fn what_takes_too_long_is_killed_with_its_children() {
        let start = Instant::now();
        let dir = std::env::temp_dir().join(format!("fairlab-child-{}", std::process::id()));
        let script = format!("(sleep 3; touch {}) & sleep 50", dir.display());
        let failure = run(
            shell(&script),
            Duration::from_millis(100),
            None,
            Leftovers::Kill,
        );
        assert!(matches!(failure, Err(Failure::Timeout)));
        assert!(start.elapsed() < Duration::from_secs(30));
        assert!(!dir.exists());
    }

    #[test]
    fn a_child_that_keeps_the_output_open_is_not_waited_for() {
        let start = Instant::now();
        let ended = run(shell("sleep 50 & echo done"), LONG, None, Leftovers::Kill).unwrap();
        assert_eq!(ended.stdout, b"done\n");
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn an_interrupt_ends_it() {
        let flag = AtomicBool::new(true);
        let failure = run(shell("sleep 50"), LONG, Some(&flag), Leftovers::Kill);
        assert!(matches!(failure, Err(Failure::Interrupted)));
    }

    #[test]
    fn what_is_not_there_cannot_be_started() {
        let failure = run(Command::new("/nonexistent"), LONG, None, Leftovers::Kill);
        assert!(matches!(failure, Err(Failure::System(_))));
    }
}
