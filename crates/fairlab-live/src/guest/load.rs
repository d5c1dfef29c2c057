//! Loads: each is this program again, as a process of its own.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, setpriority_process};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::watch::run_time;

/// A process under load, and how far it had come.
pub struct Worker {
    pub name: String,
    pub child: Child,
    seen: u64,
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
            seen: 0,
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
        self.name = format!("{} SCHED_IDLE{}", self.name, failed(!done));
        self
    }

    /// Has it not run since the last look?
    pub fn stands_still(&mut self) -> bool {
        self.progress().is_none_or(|ran| ran == 0)
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
