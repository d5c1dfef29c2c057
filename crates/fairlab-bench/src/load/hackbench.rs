//! Groups of senders and receivers, as `hackbench` has them.
//!
//! # Method
//! As in rt-tests: in each group `fds` senders and `fds` receivers; every sender writes `loops`
//! messages to every receiver of its group. All tasks report that they are ready and wait; the time
//! runs from the moment they are let go until all have ended. The tasks are processes or threads,
//! the channels pairs of sockets or pipes.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::children::Children;
use crate::messages::{Channel, receive_all, send};
use crate::{BenchError, CpuList, Measured, Row};

/// File descriptors of the process that are not channels, with some to spare.
const OTHER_FILES: u64 = 32;

/// Bytes of a thread's stack: messages live elsewhere.
const STACK: usize = 64 << 10;

type Task<'a> = Box<dyn FnOnce() -> Result<(), BenchError> + Send + 'a>;

/// What is measured.
#[derive(Clone, Debug)]
pub struct HackbenchOptions {
    /// Groups.
    pub groups: u32,
    /// Senders of a group, and receivers as well.
    pub fds: u32,
    /// Messages from each sender to each receiver.
    pub loops: u32,
    /// Bytes of a message.
    pub datasize: u32,
    /// Pipes in place of sockets.
    pub is_pipe: bool,
    /// Threads of one process in place of processes.
    pub is_threaded: bool,
    /// Where the tasks stay; anywhere when `None`.
    pub cpus: Option<CpuList>,
}

impl Default for HackbenchOptions {
    fn default() -> Self {
        Self {
            groups: 10,
            fds: 20,
            loops: 100,
            datasize: 100,
            is_pipe: false,
            is_threaded: false,
            cpus: None,
        }
    }
}

impl HackbenchOptions {
    /// Senders and receivers of all groups.
    #[must_use]
    pub fn tasks(&self) -> u64 {
        2 * u64::from(self.groups) * u64::from(self.fds)
    }
}

/// Runs the load once: the time from letting all tasks go until the last has ended.
///
/// # Errors
/// When an option is 0, or tasks or channels cannot be made; processes need a caller with one thread.
pub fn run(options: &HackbenchOptions) -> Result<Duration, BenchError> {
    for (value, what) in [
        (options.groups, "groups"),
        (options.fds, "fds"),
        (options.loops, "loops"),
        (options.datasize, "bytes of data"),
    ] {
        if value == 0 {
            return Err(BenchError::Option(format!(
                "no {what}: 1 or more are wanted"
            )));
        }
    }
    if let Some(cpus) = &options.cpus {
        cpus.pin()?;
    }
    allow_files(options.tasks() + OTHER_FILES)?;
    let gate = Gate::new()?;
    if options.is_threaded {
        with_threads(options, &gate)
    } else {
        with_processes(options, gate)
    }
}

/// What hackbench prints, and its figure.
#[must_use]
pub fn report(options: &HackbenchOptions, time: Duration) -> Measured {
    let seconds = time.as_secs_f64();
    let mode = if options.is_threaded {
        "threaded"
    } else {
        "process"
    };
    let text = format!(
        "Running in {mode} mode with {} groups using {} file descriptors each (== {} tasks)\n\
         Each sender will pass {} messages of {} bytes\n\
         Time: {seconds:.3}\n",
        options.groups,
        2 * u64::from(options.fds),
        options.tasks(),
        options.loops,
        options.datasize,
    );
    Measured {
        text,
        rows: vec![Row::lower("Time", "s", seconds)],
    }
}

/// Raises the limit of open files of this process to `files`, if it is lower.
fn allow_files(files: u64) -> Result<(), BenchError> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= files) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < files) {
        return Err(BenchError::Option(format!(
            "{files} open files are needed and {} allowed: take fewer groups or fds, or raise the \
             limit (ulimit -Hn)",
            limit.maximum.unwrap_or_default()
        )));
    }
    let raised = Rlimit {
        current: Some(files),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(BenchError::system("raise the limit of open files"))
}

/// Where all tasks wait until all are there.
struct Gate {
    /// Each task writes a byte when it is ready.
    ready: Channel,
    /// One byte comes when all are, and stays, so that all see it.
    go: Channel,
    /// Set when the tasks shall do nothing.
    is_off: AtomicBool,
}

const READY: u8 = b'R';
const FAILED: u8 = b'!';

impl Gate {
    fn new() -> Result<Self, BenchError> {
        Ok(Self {
            ready: Channel::pipe()?,
            go: Channel::pipe()?,
            is_off: AtomicBool::new(false),
        })
    }

    /// Runs `task` once the gate has opened.
    fn pass(&self, task: impl FnOnce() -> Result<(), BenchError>) -> Result<(), BenchError> {
        send(&self.ready.to, &[READY])?;
        let mut fds = [PollFd::new(&self.go.from, PollFlags::IN)];
        while let Err(error) = poll(&mut fds, None) {
            if error != Errno::INTR {
                return Err(BenchError::system("wait for the start")(error));
            }
        }
        if self.is_off.load(Ordering::Relaxed) {
            return Ok(());
        }
        task()
    }

    /// Lets threads that wait, or will, end without doing anything.
    fn send_home(&self) -> Result<(), BenchError> {
        self.is_off.store(true, Ordering::Relaxed);
        send(&self.go.to, &[READY])
    }

    /// Waits for `tasks` tasks and lets them go.
    fn open(&self, tasks: u64) -> Result<Instant, BenchError> {
        for _ in 0..tasks {
            let mut byte = [0];
            receive_all(&self.ready.from, &mut byte)?;
            if byte == [FAILED] {
                return Err(BenchError::Option("a task could not be started".into()));
            }
        }
        let start = Instant::now();
        send(&self.go.to, &[READY])?;
        Ok(start)
    }
}

fn make_channels(options: &HackbenchOptions) -> Result<Vec<Channel>, BenchError> {
    let channels = (0..options.fds).map(|_| {
        if options.is_pipe {
            Channel::pipe()
        } else {
            Channel::sockets()
        }
    });
    channels.collect()
}

fn send_all<F: AsFd>(options: &HackbenchOptions, to: &[F]) -> Result<(), BenchError> {
    let message = vec![0; options.datasize as usize];
    for _ in 0..options.loops {
        for receiver in to {
            send(receiver, &message)?;
        }
    }
    Ok(())
}

fn take_all(options: &HackbenchOptions, from: impl AsFd) -> Result<(), BenchError> {
    let mut message = vec![0; options.datasize as usize];
    for _ in 0..u64::from(options.fds) * u64::from(options.loops) {
        receive_all(&from, &mut message)?;
    }
    Ok(())
}

fn with_threads(options: &HackbenchOptions, gate: &Gate) -> Result<Duration, BenchError> {
    let groups = (0..options.groups).map(|_| make_channels(options));
    let groups: Vec<Vec<Channel>> = groups.collect::<Result<_, _>>()?;
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for channels in &groups {
        for channel in channels {
            tasks.push(Box::new(|| take_all(options, &channel.from)));
            tasks.push(Box::new(|| {
                let to: Vec<_> = channels.iter().map(|channel| &channel.to).collect();
                send_all(options, &to)
            }));
        }
    }
    thread::scope(|scope| {
        let tasks = tasks.into_iter().map(|task| {
            let thread = thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, move || gate.pass(task))
        });
        let tasks = match tasks.collect::<Result<Vec<_>, _>>() {
            Ok(tasks) => tasks,
            Err(error) => {
                gate.send_home()?;
                return Err(BenchError::system("make that many threads")(error));
            }
        };
        let began = gate.open(options.tasks())?;
        tasks.into_iter().try_for_each(crate::load::join)?;
        Ok(began.elapsed())
    })
}

fn with_processes(options: &HackbenchOptions, gate: Gate) -> Result<Duration, BenchError> {
    let mut children = Children::default();
    let mut start = |task: &mut dyn FnMut() -> Result<(), BenchError>| {
        children.start(|| {
            let result = gate.pass(task);
            if result.is_err() {
                // Should it fail before it was ready, the gate must not wait for it.
                let _ = send(&gate.ready.to, &[FAILED]);
            }
            result
        })
    };
    for _ in 0..options.groups {
        let channels = make_channels(options)?;
        for channel in &channels {
            start(&mut || take_all(options, &channel.from))?;
        }
        let to: Vec<_> = channels.iter().map(|channel| &channel.to).collect();
        for _ in 0..options.fds {
            start(&mut || send_all(options, &to))?;
        }
        // The parent's ends close here, as the tool's do.
    }
    let began = gate.open(options.tasks())?;
    children.wait_all("a task of hackbench")?;
    Ok(began.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> HackbenchOptions {
        HackbenchOptions {
            groups: 2,
            fds: 3,
            loops: 5,
            is_threaded: true,
            ..HackbenchOptions::default()
        }
    }

    #[test]
    fn the_report_has_the_form_of_the_tool() {
        let options = HackbenchOptions {
            groups: 112,
            loops: 30_000,
            is_threaded: true,
            ..HackbenchOptions::default()
        };
        let report = report(&options, Duration::from_millis(117_487));
        assert_eq!(
            report.text,
            "Running in threaded mode with 112 groups using 40 file descriptors each (== 4480 tasks)\n\
             Each sender will pass 30000 messages of 100 bytes\n\
             Time: 117.487\n"
        );
    }

    #[test]
    fn all_messages_arrive_through_sockets_and_pipes_whatever_their_size() {
        for (is_pipe, datasize) in [(false, 1), (true, 100), (false, 100_000), (true, 100_000)] {
            let options = HackbenchOptions {
                is_pipe,
                datasize,
                ..small()
            };
            assert!(run(&options).unwrap() > Duration::ZERO);
        }
    }

    #[test]
    fn options_of_nothing_are_refused() {
        let options = HackbenchOptions { fds: 0, ..small() };
        assert_eq!(
            run(&options).unwrap_err().to_string(),
            "no fds: 1 or more are wanted"
        );
    }
}
