//! The events of a run as a trace file.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fairlab::event::{EventKind, SchedEvent};
use fairlab::kernel::Kernel;
use fairlab::topology::Arch;
use fairlab::units::{CpuId, TaskId, Timestamp};
use fairlab::workload::ProgramId;
use fairlab_trace::{About, Names, TraceWriter, WriteFormat};

use crate::checkpoint::Scene;
use crate::pid::pid;

/// A trace file that is being written. Errors are kept until the end, since a run cannot be stopped
/// by those who watch it.
pub struct TraceFile {
    path: PathBuf,
    writer: TraceWriter<BufWriter<File>>,
    names: Names,
    programs: Vec<String>,
    error: Option<io::Error>,
}

impl TraceFile {
    /// Begins the file at `path`, whose suffix says what is written.
    pub fn create(path: &Path, scene: &Scene, kernel: &Kernel) -> Result<Self> {
        let Some(format) = WriteFormat::of_path(path) else {
            bail!(
                "cannot tell what trace to write from the name {}: end it in .pftrace, .txt or .json",
                path.display()
            );
        };
        let (machine, workload) = (&scene.machine, &scene.loaded.workload);
        let about = About {
            nr_cpus: machine.nr_cpu_ids() as u32,
            release: format!("{}.0-simulated", kernel.release.name()),
            machine: uname(machine.arch()).to_owned(),
            title: format!(
                "fairlab {}: {} on {}, kernel {}, seed {}",
                env!("CARGO_PKG_VERSION"),
                workload.description,
                machine.name(),
                kernel,
                scene.seed
            ),
        };
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        let mut trace = Self {
            path: path.to_owned(),
            writer: TraceWriter::new(format, &about, BufWriter::new(file)),
            names: Names::default(),
            programs: workload
                .programs
                .iter()
                .map(|program| program.name.clone())
                .collect(),
            error: None,
        };
        for cpu in 0..about.nr_cpus {
            // All CPUs idle at the start, which nothing else would tell of those that stay idle.
            for kind in [
                EventKind::Running { task: None },
                EventKind::CpuIdle { state: Some(0) },
            ] {
                trace.write(Timestamp::default(), CpuId(cpu), kind);
            }
        }
        Ok(trace)
    }

    /// Writes an event of the simulator. Those of the first instant are put 1 ns later, so that they
    /// come after what is said of the idle CPUs in formats that keep every CPU's events apart.
    pub fn event(&mut self, event: &SchedEvent) {
        let time = Timestamp(event.time.0.max(1));
        self.write(time, event.cpu, event.kind.with_tasks(pid));
    }

    /// A task runs `program`.
    pub fn task(&mut self, time: Timestamp, task: TaskId, program: ProgramId) {
        let name = self.names.intern(self.programs[program.index()].as_bytes());
        let kind = EventKind::Named {
            task: pid(task),
            name,
        };
        self.write(time, CpuId(0), kind);
    }

    /// A task's priority.
    pub fn priority(&mut self, time: Timestamp, task: TaskId, prio: i16) {
        let kind = EventKind::Priority {
            task: pid(task),
            prio,
        };
        self.write(time, CpuId(0), kind);
    }

    fn write(&mut self, time: Timestamp, cpu: CpuId, kind: EventKind) {
        if self.error.is_none() {
            let event = SchedEvent { time, cpu, kind };
            self.error = self.writer.event(&event, &self.names).err();
        }
    }

    /// Ends the file.
    pub fn finish(self) -> Result<()> {
        let written = match self.error {
            Some(error) => Err(error),
            None => self.writer.finish(&self.names).map(|_| ()),
        };
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// As `uname -m` prints it.
const fn uname(arch: Arch) -> &'static str {
    match arch {
        Arch::X86 => "x86_64",
        Arch::Arm64 => "aarch64",
        Arch::Ppc64 => "ppc64le",
        Arch::S390 => "s390x",
        Arch::RiscV => "riscv64",
        Arch::Other => "unknown",
    }
}
