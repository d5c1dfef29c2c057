//! The BPF object: opened, told the machine, loaded in part.

use std::path::PathBuf;
use std::sync::Mutex;

use fairlab_kernel::Kernel;
use fairlab_live_policy::Config;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Func;
use libbpf_rs::{
    MapCore, MapMut, MapType, Object, ObjectBuilder, OpenObject, PrintLevel, RingBuffer,
    RingBufferBuilder, set_print,
};

use crate::config::Settings;
use crate::error::LiveError;
use crate::sys::{Plain, bytes_of, from_bytes};

/// What to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rules.
    pub kernel: Kernel,
    /// Numbers.
    pub settings: Settings,
    /// A prebuilt object in place of the one that was built with this crate.
    pub object: Option<PathBuf>,
    /// Schedule the tasks of this cgroup only.
    pub only_cgroup: Option<PathBuf>,
    /// Let the kernel count how long each program runs; that costs two looks at the clock a run.
    pub count_cost: bool,
    /// Where the log goes when the kernel does not take the program.
    pub log: PathBuf,
}

/// The scheduler's name in the object.
pub(crate) const SCHEDULER: &str = "fairlab";
/// That of the one that takes the kernel's choices.
pub(crate) const BUILTIN: &str = "plain";

/// What of the object is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The scheduler.
    Scheduler,
    /// The programs that watch the kernel's own.
    Shadow,
    /// The programs that record decisions of the kernel's own.
    Record,
    /// A scheduler without a program, which takes the kernel's choices.
    Builtin,
}

/// The programs that watch.
const SHADOW: [&str; 2] = ["fairlab_ask", "fairlab_compare"];
const RECORD: [&str; 3] = ["fairlab_begins", "fairlab_ends", "fairlab_domains"];
/// Programs that watch a function of the kernel that has another name in each release, or none of its own.
pub(crate) const CHOICES: [(&str, &str); 2] = [
    ("fairlab_group", "sched_balance_find_dst_group"),
    ("fairlab_group_old", "find_idlest_group"),
];

/// Maps that the programs of one part alone use. Others are not made: recordings have a buffer of 32 MB.
const MAPS: [(Part, &[&str]); 3] = [
    (
        Part::Scheduler,
        &[
            "tasks",
            "queues",
            "waiting",
            "cpus",
            "scratch",
            "decisions",
            "stats",
        ],
    ),
    (Part::Shadow, &["shadow_counts", "asked", "differences"]),
    (Part::Record, &["open_decisions", "parts"]),
];

/// What libbpf and the verifier said last.
static LOG: Mutex<String> = Mutex::new(String::new());

fn keep_log(_: PrintLevel, text: String) {
    if let Ok(mut log) = LOG.lock() {
        log.push_str(&text);
    }
}

pub(crate) fn step<T>(step: &'static str, result: libbpf_rs::Result<T>) -> Result<T, LiveError> {
    result.map_err(|error| LiveError::Step {
        step,
        problem: format!("{error:#}"),
    })
}

/// Opens the object.
pub(crate) fn open(options: &Options) -> Result<OpenObject, LiveError> {
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
    step(
        "open the BPF object",
        ObjectBuilder::default().open_memory(&bytes),
    )
}

/// Leaves out what does not belong to `part`.
pub(crate) fn select(open: &mut OpenObject, part: Part) {
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let is_one_of = |names: &[&str]| names.contains(&name.as_str());
        let choice = CHOICES.iter().find(|(program, _)| *program == name);
        program.set_autoload(match part {
            Part::Scheduler => program
                .section()
                .to_string_lossy()
                .starts_with("struct_ops"),
            Part::Shadow => is_one_of(&SHADOW),
            Part::Record => {
                is_one_of(&RECORD) || choice.is_some_and(|(_, function)| has_function(function))
            }
            Part::Builtin => false,
        });
    }
    for mut map in open.maps_mut() {
        let is_wanted = if map.map_type() == MapType::StructOps {
            let wanted = match part {
                Part::Scheduler => Some(SCHEDULER),
                Part::Builtin => Some(BUILTIN),
                Part::Shadow | Part::Record => None,
            };
            wanted.is_some_and(|wanted| map.name() == wanted)
        } else {
            let owner = MAPS
                .iter()
                .find(|(_, names)| names.iter().any(|name| map.name() == *name));
            owner.is_none_or(|(owner, _)| *owner == part)
        };
        // It fails after loading only.
        let _ = map.set_autocreate(is_wanted);
    }
}

/// Does the running kernel describe a function of this name?
pub(crate) fn has_function(name: &str) -> bool {
    let types = Btf::from_vmlinux();
    types.is_ok_and(|types| types.type_by_name::<Func<'_>>(name).is_some())
}

/// Writes into what the scheduler's table begins with, in the shim's order: flags, and the count of CPUs that came
/// or went of which it knows.
fn write_table(open: &mut OpenObject, write: impl Fn(&mut [u8; 16])) -> Result<(), LiveError> {
    for mut map in open.maps_mut() {
        if map.name() == SCHEDULER
            && let Some(first) = map
                .initial_value_mut()
                .and_then(|value| value.first_chunk_mut())
        {
            write(first);
            return Ok(());
        }
    }
    Err(LiveError::Mismatch {
        problem: "its scheduler has no flags".to_owned(),
    })
}

/// Lets the scheduler take over in part: tasks of the policy `SCHED_EXT` only.
pub(crate) fn take_part(open: &mut OpenObject) -> Result<(), LiveError> {
    /// `SCX_OPS_SWITCH_PARTIAL`.
    const PARTIAL: u8 = 1 << 3;
    write_table(open, |table| table[0] |= PARTIAL)
}

/// Lets the kernel refuse the scheduler if another number of CPUs came or went than when the machine was read.
pub(crate) fn expect_hotplugs(open: &mut OpenObject, number: u64) -> Result<(), LiveError> {
    write_table(open, |table| {
        table[8..].copy_from_slice(&number.to_ne_bytes());
    })
}

/// Loads what was selected.
pub(crate) fn load(open: OpenObject, options: &Options) -> Result<Object, LiveError> {
    open.load().map_err(|error| refused(&error, options))
}

pub(crate) fn map_of<'o>(object: &'o mut Object, name: &str) -> Result<MapMut<'o>, LiveError> {
    let found = object.maps_mut().find(|map| map.name() == name);
    found.ok_or_else(|| LiveError::Mismatch {
        problem: format!("it has no map `{name}`"),
    })
}

/// Writes the configuration into the object's read-only data.
pub(crate) fn configure(open: &mut OpenObject, config: &Config) -> Result<(), LiveError> {
    preset(open, "rodata.config", config)
}

/// Writes what a section of data begins with, before it is loaded.
pub(crate) fn preset<T: Plain>(
    open: &mut OpenObject,
    section: &str,
    value: &T,
) -> Result<(), LiveError> {
    let bytes = bytes_of(value);
    let mut written = false;
    for mut map in open.maps_mut() {
        if !map.name().to_string_lossy().contains(section) {
            continue;
        }
        let Some(value) = map.initial_value_mut() else {
            continue;
        };
        let room = value.len();
        let Some(target) = value.get_mut(..bytes.len()) else {
            return Err(LiveError::Mismatch {
                problem: format!(
                    "its data {section} has {room} bytes, and ours has {}",
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
        problem: format!("it has no data {section}"),
    })
}

/// A ring buffer whose records are structures; `each` is given them when the buffer is consumed.
pub(crate) fn ring_of<T: Plain>(
    object: &Object,
    name: &str,
    each: impl Fn(&T) + 'static,
) -> Result<RingBuffer<'static>, LiveError> {
    ring_of_bytes(object, name, move |bytes| {
        if let Some(record) = from_bytes::<T>(bytes) {
            each(&record);
        }
    })
}

/// The same with records of several kinds.
pub(crate) fn ring_of_bytes(
    object: &Object,
    name: &str,
    each: impl Fn(&[u8]) + 'static,
) -> Result<RingBuffer<'static>, LiveError> {
    let map = object
        .maps()
        .find(|map| map.name() == name)
        .ok_or_else(|| LiveError::Mismatch {
            problem: format!("it has no buffer `{name}`"),
        })?;
    let mut builder = RingBufferBuilder::new();
    let take = move |bytes: &[u8]| {
        each(bytes);
        0
    };
    step("read a buffer", builder.add(&map, take))?;
    step("read a buffer", builder.build())
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
