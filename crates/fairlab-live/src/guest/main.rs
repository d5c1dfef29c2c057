//! The init of a guest in which live mode is tried.
//!
//! As process 1 it mounts what is needed, runs the tests that the kernel's command line names
//! (`fairlab.tests=enable,mix`), writes one line of JSON for each to the port `results` and powers off.
//! Started again with arguments it is a scheduler (`scheduler`) or a load (`work`).

mod cgroup;
mod command;
mod cost;
mod hotplug;
mod live;
mod load;
mod record;
mod refuse;
mod report;
mod scheduler;
mod shadow;
mod tests;
mod trace;
mod traces;
mod verify;
mod watch;

use std::process::ExitCode;

use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("scheduler") => return scheduler::run(&arguments[1..]),
        Some("work") => return load::work(&arguments[1..]),
        _ => {}
    }
    if std::process::id() != 1 {
        eprintln!("error: this is the init of a guest; `cargo xtask vm` starts it");
        return ExitCode::from(2);
    }
    for (kind, place) in [
        ("devtmpfs", "/dev"),
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("debugfs", "/sys/kernel/debug"),
        ("tracefs", "/sys/kernel/tracing"),
        ("bpf", "/sys/fs/bpf"),
        ("tmpfs", "/tmp"),
        ("cgroup2", "/sys/fs/cgroup"),
    ] {
        let _ = std::fs::create_dir_all(place);
        if let Err(error) = mount(kind, place, kind, MountFlags::empty(), None) {
            println!("guest: no {kind} at {place}: {error}");
        }
    }
    tests::run_all();
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
    ExitCode::SUCCESS
}
