//! Decisions of the kernel's own class, with all that they depend on.
//!
//! Programs read the state as `select_task_rq_fair()` begins and as it ends, and change nothing. What comes of it
//! is a recording of kind `decisions` as `cargo xtask oracle decisions` reads it: lines of decisions,
//! lines of domains as the kernel has built them, and the machine. Needs no sched_ext.
//!
//! ```text
//!   parts      what the programs write, piece by piece
//!   decision   pieces to lines
//!   machine    what sysfs tells of the machine
//! ```

mod decision;
mod machine;
pub(crate) mod parts;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use fairlab_topology::Domains;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ProgramInput, RingBuffer};
use serde_json::Value;

use crate::config::config;
use crate::error::LiveError;
use crate::object::{
    CHOICES, Options, Part, configure, has_function, load, open, preset, ring_of_bytes, select,
    step,
};
use crate::run::{STEP, Until, domains_here};
use crate::status::{Status, is_root};
use crate::sys::from_bytes;
use decision::Assembler;
use parts::RecordCounts;

const COUNTS: &str = "bss.record";

/// What was recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// A line of JSON for each decision.
    pub decisions: Vec<String>,
    /// A line of JSON for each domain of each CPU.
    pub domains: Vec<String>,
    /// The machine, its kernel, and what could not be recorded.
    pub machine: Value,
    /// Decisions that lack a part, most often because the buffer was full.
    pub incomplete: u64,
}

impl Recording {
    /// Writes it into `folder`, as files that `cargo xtask oracle decisions` reads. The seed 2 in the name of
    /// that of the decisions says that imbalance flags of groups are recorded.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        for (name, lines) in [
            ("placements-2.jsonl", &self.decisions),
            ("domains.jsonl", &self.domains),
        ] {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            std::fs::write(folder.join(name), text)?;
        }
        std::fs::write(folder.join("machine.json"), format!("{}\n", self.machine))
    }
}

/// The programs while they record. Dropping it ends them.
pub struct Recorder {
    links: Vec<Link>,
    ring: RingBuffer<'static>,
    assembler: Rc<RefCell<Assembler>>,
    object: Object,
    watches_choices: bool,
}

impl Recorder {
    /// Starts to record at most `wanted` decisions on this machine, which has `domains`.
    ///
    /// # Errors
    /// When the object does not fit, or the kernel does not take it.
    pub fn start(domains: &Domains, options: &Options, wanted: u64) -> Result<Self, LiveError> {
        let config = config(domains, &options.kernel, options.settings)?;
        let mut open = open(options)?;
        select(&mut open, Part::Record);
        configure(&mut open, &config)?;
        let counts = RecordCounts {
            begun: 0,
            wanted,
            broken: 0,
        };
        preset(&mut open, COUNTS, &counts)?;
        let object = load(open, options)?;
        let assembler = Rc::new(RefCell::new(Assembler::new(config.cpus as usize)));
        let ring = {
            let assembler = Rc::clone(&assembler);
            ring_of_bytes(&object, "parts", move |bytes| {
                assembler.borrow_mut().take(bytes);
            })?
        };
        let mut recorder = Self {
            links: Vec::new(),
            ring,
            assembler,
            object,
            watches_choices: CHOICES.iter().any(|(_, function)| has_function(function)),
        };
        recorder.read_domains()?;
        recorder.attach()?;
        Ok(recorder)
    }

    fn read_domains(&mut self) -> Result<(), LiveError> {
        let mut programs = self.object.progs_mut();
        if let Some(program) = programs.find(|program| program.name() == "fairlab_domains") {
            step(
                "read the domains",
                program.test_run(ProgramInput::default()),
            )?;
        }
        step("read the domains", self.ring.consume())
    }

    /// The end is watched first: it ignores what it has not seen begin.
    fn attach(&mut self) -> Result<(), LiveError> {
        for name in [
            "fairlab_ends",
            "fairlab_group",
            "fairlab_group_old",
            "fairlab_begins",
        ] {
            let mut programs = self.object.progs_mut();
            let program = programs.find(|program| program.name() == name && program.autoload());
            if let Some(program) = program {
                let link = step("watch the kernel's placements", program.attach())?;
                self.links.push(link);
            }
        }
        Ok(())
    }

    /// Takes what the programs have written; how many decisions are complete, and are all that were wanted
    /// begun?
    ///
    /// # Errors
    /// When a buffer cannot be read.
    pub fn poll(&self) -> Result<(usize, bool), LiveError> {
        step("read the decisions", self.ring.consume())?;
        let counts = self.object.maps().find_map(|map| {
            if !map.name().to_string_lossy().contains(COUNTS) {
                return None;
            }
            let bytes = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
            from_bytes::<RecordCounts>(&bytes)
        });
        let done = counts.is_some_and(|counts| counts.begun >= counts.wanted);
        Ok((self.assembler.borrow().lines.len(), done))
    }

    /// Ends it.
    ///
    /// # Errors
    /// When a buffer or this machine cannot be read.
    pub fn finish(mut self) -> Result<Recording, LiveError> {
        self.links.clear();
        step("read the decisions", self.ring.consume())?;
        let mut assembler = self.assembler.borrow_mut();
        let mut unrecorded = vec![];
        if !assembler.knows_context {
            unrecorded.push("preempt_count");
        }
        if !self.watches_choices {
            unrecorded.push("slow");
        }
        let machine = machine::read(Path::new("/"), assembler.clocks, &unrecorded);
        Ok(Recording {
            decisions: std::mem::take(&mut assembler.lines),
            domains: assembler.domain_lines(),
            machine,
            incomplete: assembler.incomplete,
        })
    }
}

/// Records until `wanted` decisions are there, or that is over.
///
/// # Errors
/// When it cannot start.
pub fn record_decisions(
    options: &Options,
    wanted: u64,
    until: Until<'_>,
) -> Result<Recording, LiveError> {
    Status::read(Path::new("/")).check_shadow(is_root())?;
    let recorder = Recorder::start(&domains_here(options)?, options, wanted)?;
    let begun = Instant::now();
    loop {
        let (_, done) = recorder.poll()?;
        if done || until.is_over(begun) {
            return recorder.finish();
        }
        std::thread::sleep(STEP);
    }
}
