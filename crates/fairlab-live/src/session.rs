//! The scheduler while it runs.
//!
//! ```text
//!   Session::start: check, configure, load, attach   --> enabled
//!      | stats(), check_decisions(), ended()             (SIGKILL: the kernel takes back by itself)
//!      v
//!   stop(): detach                                    --> disabled
//! ```

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Mutex;

use fairlab_kernel::Kernel;
use fairlab_live_policy::{Config, Decision, place};
use fairlab_topology::Domains;
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{
    Link, MapCore, MapFlags, MapMut, Object, ObjectBuilder, OpenObject, PrintLevel, RingBuffer,
    RingBufferBuilder, set_print,
};

use crate::config::{Settings, config};
use crate::ended::{Ended, ExitReport};
use crate::error::LiveError;
use crate::stats::Stats;
use crate::sys::{bytes_of, from_bytes};

/// What the host found when it asked the policy again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Decisions asked again.
    pub decisions: u64,
    /// Those with another answer.
    pub different: u64,
    /// The first of them.
    pub first_difference: Option<String>,
}

/// What to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rules.
    pub kernel: Kernel,
    /// Numbers.
    pub settings: Settings,
    /// A prebuilt object in place of the one that was built with this crate.
    pub object: Option<PathBuf>,
    /// Where the log goes when the kernel does not take the program.
    pub log: PathBuf,
}

/// A program as the kernel checked it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its name, as far as the kernel keeps it.
    pub name: String,
    /// Instructions that the verifier looked at.
    pub instructions: u32,
}

/// The scheduler while it runs. Dropping it gives scheduling back.
pub struct Session {
    // Order matters: the link goes before what it refers to.
    link: Option<Link>,
    ring: RingBuffer<'static>,
    checked: Rc<RefCell<Checked>>,
    object: Object,
    config: Rc<Config>,
}

/// What libbpf and the verifier said last.
static LOG: Mutex<String> = Mutex::new(String::new());

fn keep_log(_: PrintLevel, text: String) {
    if let Ok(mut log) = LOG.lock() {
        log.push_str(&text);
    }
}

fn step<T>(step: &'static str, result: libbpf_rs::Result<T>) -> Result<T, LiveError> {
    result.map_err(|error| LiveError::Step {
        step,
        problem: format!("{error:#}"),
    })
}

impl Session {
    /// Loads and attaches the scheduler on this machine, which has `domains`.
    ///
    /// # Errors
    /// When the object does not fit, or the kernel does not take it.
    pub fn start(domains: &Domains, options: &Options) -> Result<Self, LiveError> {
        let config: Rc<Config> = Rc::from(config(domains, &options.kernel, options.settings)?);
        let bytes = match &options.object {
            Some(path) => std::fs::read(path).map_err(|source| LiveError::Object {
                path: path.clone(),
                source,
            })?,
            None => crate::OBJECT.to_vec(),
        };
        if let Ok(mut log) = LOG.lock() {
            log.clear();
        }
        set_print(Some((PrintLevel::Debug, keep_log)));
        let mut open = step(
            "open the BPF object",
            ObjectBuilder::default().open_memory(&bytes),
        )?;
        configure(&mut open, &config)?;
        let mut object = open.load().map_err(|error| refused(&error, options))?;
        let checked = Rc::new(RefCell::new(Checked::default()));
        let ring = ring_of(&object, Rc::clone(&config), Rc::clone(&checked))?;
        let link = {
            let mut map = map_of(&mut object, "fairlab")?;
            step("attach the scheduler", map.attach_struct_ops())?
        };
        Ok(Self {
            link: Some(link),
            ring,
            checked,
            object,
            config,
        })
    }

    /// What the program was told about the machine.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Counts since the start, of all CPUs.
    ///
    /// # Errors
    /// When the kernel does not give them.
    pub fn stats(&self) -> Result<Stats, LiveError> {
        let mut sum = Stats::ZERO;
        for map in self.object.maps().filter(|map| map.name() == "stats") {
            let values = step(
                "read the counts",
                map.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY),
            )?;
            for bytes in values.unwrap_or_default() {
                if let Some(stats) = from_bytes::<Stats>(&bytes) {
                    sum.add(&stats);
                }
            }
        }
        Ok(sum)
    }

    /// Asks the policy again for each decision that the kernel's side has told since the last call.
    ///
    /// # Errors
    /// When the buffer cannot be read.
    pub fn check_decisions(&self) -> Result<Checked, LiveError> {
        step("read the decisions", self.ring.consume())?;
        Ok(self.checked.borrow().clone())
    }

    /// Why the kernel has taken scheduling back, if it has.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        let map = self
            .object
            .maps()
            .find(|map| map.name().to_string_lossy().contains("bss.exit"))?;
        let bytes = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
        from_bytes::<ExitReport>(&bytes)?.ended()
    }

    /// What the verifier found of each program.
    #[must_use]
    pub fn verified(&self) -> Vec<Verified> {
        ProgInfoIter::default()
            .filter(|info| info.name.to_string_lossy().starts_with("fairlab_"))
            .map(|info| Verified {
                name: info.name.to_string_lossy().into_owned(),
                instructions: info.verified_insns,
            })
            .collect()
    }

    /// Gives scheduling back and tells why it ended.
    ///
    /// # Errors
    /// When the kernel does not let go.
    pub fn stop(&mut self) -> Result<Option<Ended>, LiveError> {
        // Dropping a link detaches what it attached.
        self.link = None;
        Ok(self.ended())
    }
}

fn map_of<'o>(object: &'o mut Object, name: &str) -> Result<MapMut<'o>, LiveError> {
    let found = object.maps_mut().find(|map| map.name() == name);
    found.ok_or_else(|| LiveError::Mismatch {
        problem: format!("it has no map `{name}`"),
    })
}

/// Writes the configuration into the object's read-only data.
fn configure(open: &mut OpenObject, config: &Config) -> Result<(), LiveError> {
    let bytes = bytes_of(config);
    let mut written = false;
    for mut map in open.maps_mut() {
        if !map.name().to_string_lossy().contains("rodata.config") {
            continue;
        }
        let Some(value) = map.initial_value_mut() else {
            continue;
        };
        let room = value.len();
        let Some(target) = value.get_mut(..bytes.len()) else {
            return Err(LiveError::Mismatch {
                problem: format!(
                    "its configuration has {room} bytes, and ours has {}",
                    bytes.len()
                ),
            });
        };
        target.copy_from_slice(bytes);
        written = true;
    }
    if written {
        return Ok(());
    }
    Err(LiveError::Mismatch {
        problem: "it has no configuration".to_owned(),
    })
}

/// Reads decisions and asks the policy again.
fn ring_of(
    object: &Object,
    config: Rc<Config>,
    checked: Rc<RefCell<Checked>>,
) -> Result<RingBuffer<'static>, LiveError> {
    let map = object
        .maps()
        .find(|map| map.name() == "decisions")
        .ok_or_else(|| LiveError::Mismatch {
            problem: "it has no buffer of decisions".to_owned(),
        })?;
    let mut builder = RingBufferBuilder::new();
    let check = move |bytes: &[u8]| {
        let Some(decision) = from_bytes::<Decision>(bytes) else {
            return 0;
        };
        let answer = place(&config, &decision.request);
        let mut checked = checked.borrow_mut();
        checked.decisions += 1;
        if answer != decision.answer {
            checked.different += 1;
            checked
                .first_difference
                .get_or_insert_with(|| format!("{decision:?}: here {answer:?}"));
        }
        0
    };
    step("read the buffer of decisions", builder.add(&map, check))?;
    step("read the buffer of decisions", builder.build())
}

/// Saves what the verifier said, and tells the lines that matter.
fn refused(error: &libbpf_rs::Error, options: &Options) -> LiveError {
    let log = LOG.lock().map(|log| log.clone()).unwrap_or_default();
    let _ = std::fs::write(&options.log, &log);
    let matters = |line: &&str| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with("libbpf: sec ") && !line.starts_with("libbpf: CO-RE")
    };
    let begin = log.find("BEGIN PROG LOAD LOG").unwrap_or(0);
    // What is wrong stands at the end of the log of a program.
    let end = log[begin..]
        .find("END PROG LOAD LOG")
        .map_or(log.len(), |at| begin + at);
    let lines: Vec<&str> = log[begin..end].lines().filter(matters).collect();
    let first_lines: String = lines
        .iter()
        .rev()
        .take(12)
        .rev()
        .map(|line| format!("  {line}\n"))
        .collect();
    LiveError::Verifier {
        problem: format!("{error:#}"),
        first_lines,
        log: options.log.clone(),
    }
}
