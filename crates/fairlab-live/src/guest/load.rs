//! Loads: each is this program again, as a process of its own.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use fairlab_live_policy::weight_of_nice;
use rustix::process::{Pid, setpriority_process};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::scheduler::SLICE;
use crate::watch::{run_time, run_time_of_children, wait};

/// The static priority of nice 0.
const DEFAULT_PRIO: u32 = 120;

/// What a task of the policy SCHED_IDLE weighs to the kernel's own class, which has the tasks before and after us.
const IDLE_WEIGHT: u64 = 3;

/// A process under load, and how far it had come.
pub struct Worker {
    pub name: String,
    pub child: Child,
    weight: u64,
    seen: u64,
    seen_of_children: u64,
}

impl Worker {
    /// Starts `work KIND`.
    pub fn start(kind: &str) -> Self {
        let child = Command::new("/proc/self/exe")
            .args(["work", kind])
            .stdin(Stdio::null())
            .spawn()
            .expect("a guest can start its own program");
        Self {
            name: kind.to_owned(),
            child,
            weight: weight_of_nice(DEFAULT_PRIO, false),
            seen: 0,
            seen_of_children: 0,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn as_pid(&self) -> Option<Pid> {
        Pid::from_raw(self.pid() as i32)
    }

    /// With this nice value.
    pub fn nice(mut self, nice: i32) -> Self {
        let done = setpriority_process(self.as_pid(), nice);
        self.weight = weight_of_nice(DEFAULT_PRIO.saturating_add_signed(nice), false);
        self.name = format!("{} nice {nice}{}", self.name, failed(done.is_err()));
        self
    }

    /// On this CPU only.
    pub fn pinned(self, cpu: usize) -> Self {
        self.within(&[cpu])
    }

    /// On these CPUs only.
    pub fn within(mut self, cpus: &[usize]) -> Self {
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.set(*cpu);
        }
        let done = sched_setaffinity(self.as_pid(), &set);
        self.name = format!("{} on {cpus:?}{}", self.name, failed(done.is_err()));
        self
    }

    /// Of the policy SCHED_IDLE.
    pub fn idle_policy(mut self) -> Self {
        let done = fairlab_live::set_idle_policy(self.pid());
        self.weight = IDLE_WEIGHT;
        self.name = format!("{} SCHED_IDLE{}", self.name, failed(!done));
        self
    }

    /// Has neither it nor a child of it run since the last look? Who waits for children has its turn when they have
    /// had theirs.
    pub fn stands_still(&mut self) -> bool {
        let children = run_time_of_children(self.pid());
        let had = std::mem::replace(&mut self.seen_of_children, children);
        self.progress().is_none_or(|ran| ran == 0) && children == had
    }

    /// Run time since the last call, ns; none when the process is gone.
    pub fn progress(&mut self) -> Option<u64> {
        let now = run_time(self.pid())?;
        let before = std::mem::replace(&mut self.seen, now);
        Some(now.saturating_sub(before))
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

/// How long a fair scheduler may leave `worker` waiting beside all the others: a task gets a slice in each turn, and
/// a turn lasts its slice (the kernel's own is no longer than ours) times the weights of all over its own. Twice
/// that, as it may have just had its slice and others may have lag to catch up with, and a second more, as emulated
/// CPUs are slow. A task of the policy SCHED_IDLE (weight 3) beside one of nice -10 (9,548) rightly waits for ten
/// seconds and more.
pub fn patience(workers: &[Worker]) -> Vec<Duration> {
    let all: u64 = workers.iter().map(|worker| worker.weight).sum();
    let turn = |worker: &Worker| SLICE.mul_f64(all as f64 / worker.weight as f64);
    let limit = |worker| Duration::from_secs(1) + 2 * turn(worker);
    workers.iter().map(limit).collect()
}

/// Those that do not run any more, though each was given its [`patience`].
pub fn lost(workers: &mut [Worker]) -> Vec<String> {
    let limits = patience(workers);
    let longest = limits.iter().max().copied().unwrap_or_default();
    for worker in &mut *workers {
        worker.stands_still();
    }
    let start = Instant::now();
    let mut still: Vec<_> = workers.iter_mut().zip(limits).collect();
    let mut late = Vec::new();
    wait(longest, || {
        still.retain_mut(|(worker, limit)| {
            let waits = worker.stands_still();
            if waits && start.elapsed() > *limit {
                late.push(worker.name.clone());
            }
            waits && start.elapsed() <= *limit
        });
        still.is_empty()
    });
    late.extend(still.into_iter().map(|(worker, _)| worker.name.clone()));
    late
}

fn failed(failed: bool) -> &'static str {
    if failed { " (failed)" } else { "" }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hogs, ping-pong, fork storms, pinned, niced and SCHED_IDLE tasks.
pub fn mix(cpus: usize) -> Vec<Worker> {
    let mut workers = Vec::new();
    for _ in 0..cpus / 2 {
        workers.push(Worker::start("hog"));
    }
    workers.push(Worker::start("hog").pinned(0));
    workers.push(Worker::start("hog").pinned(cpus - 1));
    workers.push(Worker::start("hog").nice(-10));
    workers.push(Worker::start("hog").nice(10));
    workers.push(Worker::start("hog").idle_policy());
    for _ in 0..2 {
        workers.push(Worker::start("pong"));
        workers.push(Worker::start("forks"));
    }
    workers.push(Worker::start("periodic"));
    workers
}

/// Does `work KIND` until it is killed.
pub fn work(arguments: &[String]) -> ExitCode {
    match arguments.first().map(String::as_str) {
        Some("hog") => loop {
            burn(Duration::from_millis(100));
        },
        Some("nothing") => {}
        Some("pong") => pong(),
        Some("forks") => loop {
            let children: Vec<_> = (0..4)
                .filter_map(|_| {
                    let mut child = Command::new("/proc/self/exe");
                    child.args(["work", "nothing"]).spawn().ok()
                })
                .collect();
            for mut child in children {
                let _ = child.wait();
            }
            std::thread::sleep(Duration::from_millis(5));
        },
        Some("periodic") => loop {
            burn(Duration::from_millis(1));
            std::thread::sleep(Duration::from_millis(9));
        },
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

fn burn(length: Duration) {
    let start = Instant::now();
    while start.elapsed() < length {
        for n in 0..1000 {
            std::hint::black_box(n);
        }
    }
}

/// Two threads that wake each other through pipes.
fn pong() {
    let (Ok((mut here, mut to_here)), Ok((mut there, mut to_there))) =
        (std::io::pipe(), std::io::pipe())
    else {
        return;
    };
    std::thread::spawn(move || {
        let mut byte = [0];
        while there.read_exact(&mut byte).is_ok() && to_here.write_all(&byte).is_ok() {}
    });
    let mut byte = [0];
    while to_there.write_all(&byte).is_ok() && here.read_exact(&mut byte).is_ok() {}
}
