//! A guest: how it is started, limited and read.

use std::fs;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::shape::Shape;

const PROGRAM: &str = "qemu-system-x86_64";

/// What executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The host's CPU.
    Kvm,
    /// An emulator with a thread for each CPU.
    Emulated,
    /// An emulator whose clock counts instructions.
    Counted,
}

impl Accelerator {
    /// The best that this host has and the test allows.
    pub fn choose(emulated: bool, counted: bool) -> Self {
        let has_kvm = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/kvm")
                .is_ok()
        };
        if counted {
            Self::Counted
        } else if emulated || !has_kvm() {
            Self::Emulated
        } else {
            Self::Kvm
        }
    }

    /// What it is called in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Emulated => "tcg",
            Self::Counted => "tcg, time counts instructions",
        }
    }

    fn cpu(self, shape: &Shape) -> &'static str {
        match self {
            Self::Kvm => "host",
            Self::Emulated | Self::Counted => shape.cpu,
        }
    }

    /// What the guest's kernel is told. Emulated clocks agree: all CPUs read one. Where one thread emulates all CPUs, some
    /// boots never got to their console; one that was looked at waited, with interrupts off, in what looks like
    /// the kernel's own check of that (benchsuite/runs/2026-12-01-2cpu/live.md).
    ///
    /// Where one thread counts the instructions of all CPUs, QEMU 7.2 lets one CPU run until the next timer of any is
    /// due: CPUs that were to leave idle stood still for 30 ms beside busy ones, which 10.0 was not seen to do. Ticks that
    /// go on while CPUs idle, and not all at once, keep such gaps short.
    fn kernel_arguments(self) -> &'static str {
        match self {
            Self::Kvm => "",
            Self::Counted if version().is_some_and(|version| version < (10, 0)) => {
                "tsc=reliable nohz=off skew_tick=1 "
            }
            Self::Emulated | Self::Counted => "tsc=reliable ",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Kvm => &["-accel", "kvm"],
            Self::Emulated => &["-accel", "tcg,thread=multi"],
            Self::Counted => &[
                "-accel",
                "tcg,thread=single",
                "-icount",
                "shift=2,sleep=off",
            ],
        }
    }
}

/// Major and minor number of the installed QEMU.
fn version() -> Option<(u32, u32)> {
    let output = Command::new(PROGRAM).arg("--version").output().ok()?;
    version_in(&String::from_utf8_lossy(&output.stdout))
}

fn version_in(text: &str) -> Option<(u32, u32)> {
    let (_, numbers) = text.split_once("version ")?;
    let mut numbers = numbers.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A guest to be started.
pub struct Machine {
    pub kernel: PathBuf,
    pub archive: PathBuf,
    pub shape: Shape,
    pub accelerator: Accelerator,
    /// For the guest's init.
    pub command_line: String,
    pub timeout: Duration,
    /// Where the serial line and the results are written.
    pub folder: PathBuf,
}

impl Machine {
    /// Runs it to its end; what it wrote to the port for results.
    pub fn run(&self) -> Result<String> {
        let number = std::process::id();
        let serial = self.folder.join(format!("serial-{number}.log"));
        let results = self.folder.join(format!("results-{number}.jsonl"));
        let mut child = self.start(self.accelerator, &serial, &results)?;
        match self.accelerator {
            Accelerator::Kvm if !boots(&mut child, &results, KVM_BOOTS_IN)? => {
                // The device opens on hosts that are guests themselves and cannot run one.
                eprintln!("kvm does not boot the guest on this host; emulating it");
                child = self.start(Accelerator::Emulated, &serial, &results)?;
            }
            Accelerator::Counted if !boots(&mut child, &results, self.timeout / 3)? => {
                // What probably keeps a guest silent is switched off (`kernel_arguments`); more boots have to
                // show that it was that. One that boots at all does so in less than half of this time.
                eprintln!("the guest is still silent; starting it once more");
                child = self.start(self.accelerator, &serial, &results)?;
            }
            _ => {}
        }
        let in_time = wait(&mut child, self.timeout)?;
        let mut told = fs::read_to_string(&results).unwrap_or_default();
        let _ = fs::remove_file(&results);
        if told.is_empty() {
            // Linux 6.1 of Debian's cloud has no port for results.
            told = on_serial_line(&fs::read_to_string(&serial).unwrap_or_default());
        }
        if in_time && told.contains("\"test\":\"end\"") {
            let _ = fs::rename(&serial, self.folder.join("serial.log"));
            return Ok(told);
        }
        let said = fs::read_to_string(&serial).unwrap_or_default();
        for line in said.lines().rev().take(40).collect::<Vec<_>>().iter().rev() {
            eprintln!("guest: {line}");
        }
        if !in_time {
            let results = told.lines().filter(|line| line.contains("\"test\""));
            for line in results {
                eprintln!("told before: {line}");
            }
            bail!(
                "the guest did not end within {} s (--timeout); its serial line is in {}",
                self.timeout.as_secs(),
                serial.display()
            );
        }
        if told.is_empty() {
            bail!(
                "the guest told no result; its serial line is in {}",
                serial.display()
            );
        }
        Ok(told)
    }

    fn start(&self, accelerator: Accelerator, serial: &Path, results: &Path) -> Result<Child> {
        let mut command = Command::new(PROGRAM);
        command
            .args(accelerator.arguments())
            .args(["-cpu", accelerator.cpu(&self.shape)])
            .args(["-smp", &self.shape.smp])
            .args(["-m", &self.shape.memory.to_string()])
            .args(&self.shape.more)
            .args(["-nodefaults", "-no-reboot", "-display", "none"])
            .args(["-serial", &format!("file:{}", serial.display())])
            .arg("-kernel")
            .arg(&self.kernel)
            .arg("-initrd")
            .arg(&self.archive)
            .args(["-device", "virtio-serial-pci"])
            .args(["-chardev", &format!("file,id=r,path={}", results.display())])
            .args(["-device", "virtserialport,chardev=r,name=results"])
            .arg("-append")
            .arg(format!(
                "console=ttyS0 quiet panic=-1 loglevel=4 mitigations=off {}{}",
                accelerator.kernel_arguments(),
                self.command_line
            ))
            .stdin(Stdio::null());
        command.spawn().with_context(|| {
            format!(
                "cannot run {PROGRAM}; install qemu-system-x86 (10 or newer for all topologies)"
            )
        })
    }
}

/// The results among what the guest wrote to its serial line, where it repeats them for people.
fn on_serial_line(said: &str) -> String {
    said.lines()
        .filter_map(|line| line.split_once("RESULT "))
        .fold(String::new(), |all, (_, result)| all + result + "\n")
}

/// Time in which a guest with KVM boots.
const KVM_BOOTS_IN: Duration = Duration::from_secs(20);

/// Does `child` tell a first result within `limit`? Otherwise it is ended.
fn boots(child: &mut Child, results: &Path, limit: Duration) -> Result<bool> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if fs::metadata(results).is_ok_and(|file| file.len() > 0) {
            return Ok(true);
        }
        if child.try_wait().context("cannot wait for QEMU")?.is_some() {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().context("cannot end QEMU")?;
    child.wait().context("cannot wait for QEMU")?;
    Ok(false)
}

/// Waits for `child`; false when it had to be killed.
fn wait(child: &mut Child, limit: Duration) -> Result<bool> {
    let start = Instant::now();
    loop {
        if child.try_wait().context("cannot wait for QEMU")?.is_some() {
            return Ok(true);
        }
        if start.elapsed() > limit {
            child.kill().context("cannot end QEMU")?;
            child.wait().context("cannot wait for QEMU")?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_on_the_serial_line() {
        let said = "guest: no port\r\nRESULT {\"test\":\"end\",\"ok\":true}\r\n[  1.0] reboot: Power down\r\n";
        assert_eq!(on_serial_line(said), "{\"test\":\"end\",\"ok\":true}\n");
    }

    #[test]
    fn versions_are_numbers() {
        let debian = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright (c) 2003-2022 ...";
        assert_eq!(version_in(debian), Some((7, 2)));
        assert!(version_in("QEMU emulator version 10.0.2") > Some((9, 2)));
        assert_eq!(version_in("no such program"), None);
    }
}
