//! Reading a workload from the command line, with suggestions.

use std::path::Path;

use anyhow::{Context, Error, Result, anyhow, bail};
use fairlab::topology::Machine;
use fairlab::units::Nanos;
use fairlab::workload::{CATALOGUE, OptionError, Options, Workload, WorkloadError, parse};
use fairlab_rtapp::{Compiled, Host, RtApp};
use serde::{Deserialize, Serialize};

use crate::cli::WorkloadArgs;
use crate::suggest::did_you_mean;
use crate::workload_help::FILE_OPTIONS;

/// A workload, and the file that it was read from.
pub struct Loaded {
    pub workload: Workload,
    pub rtapp: Option<RtAppFile>,
}

/// A file of rt-app and its programs.
pub struct RtAppFile {
    pub app: RtApp,
    pub compiled: Compiled,
}

/// What names a workload: the words that were typed, and the text of the file that they begin with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadSource {
    /// As typed.
    pub words: String,
    /// The file's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl WorkloadArgs {
    /// What was asked for, with the file that it names.
    pub fn source(&self) -> Result<WorkloadSource> {
        let words = self.workload.join(" ");
        let path = words.split_whitespace().next().unwrap_or_default();
        let is_file = [".toml", ".json"].iter().any(|end| path.ends_with(end));
        let file = is_file.then(|| read_text(path)).transpose()?;
        Ok(WorkloadSource { words, file })
    }

    /// The workload that was asked for, for `machine`. What it leaves out is said on standard error.
    pub fn load(&self, machine: &Machine) -> Result<Loaded> {
        self.source()?.load(machine)
    }
}

impl WorkloadSource {
    /// The workload, for `machine`. What it leaves out is said on standard error.
    pub fn load(&self, machine: &Machine) -> Result<Loaded> {
        let words: Vec<&str> = self.words.split_whitespace().collect();
        match (words.split_first(), &self.file) {
            (Some((path, options)), Some(text)) if path.ends_with(".toml") => Ok(Loaded {
                workload: load_toml(path, text, options, machine)?,
                rtapp: None,
            }),
            (Some((path, options)), Some(text)) => {
                let loaded = load_rtapp(path, text, options, machine)?;
                let notes = loaded.rtapp.iter().flat_map(|file| &file.compiled.notes);
                for note in notes {
                    eprintln!("{path}:{}: {}", note.place, note.message);
                }
                Ok(loaded)
            }
            _ => Ok(Loaded {
                workload: parse(&self.words).map_err(explain)?,
                rtapp: None,
            }),
        }
    }
}

/// The time that overrides a file's.
fn runtime(options: &[&str]) -> Result<Option<Nanos>> {
    let options = Options::parse(FILE_OPTIONS, options)?;
    if options.has("runtime") {
        return Ok(Some(options.seconds("runtime", Nanos::ZERO)?));
    }
    Ok(None)
}

fn read_text(path: &str) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => bail!("{path} is not text in UTF-8"),
    }
}

fn load_toml(path: &str, text: &str, options: &[&str], machine: &Machine) -> Result<Workload> {
    let runtime = runtime(options)?;
    fairlab_workfile::parse(text, path, &machine.online(), runtime)
        .map_err(|error| anyhow!("{path}:{error}"))
}

fn load_rtapp(path: &str, text: &str, options: &[&str], machine: &Machine) -> Result<Loaded> {
    let duration = runtime(options)?;
    let refuse = |error| anyhow!("{path}:{error}");
    let app = fairlab_rtapp::parse(text).map_err(refuse)?;
    let compiled = app
        .compile(path, &host(machine), duration)
        .map_err(refuse)?;
    Ok(Loaded {
        workload: compiled.workload.clone(),
        rtapp: Some(RtAppFile { app, compiled }),
    })
}

fn host(machine: &Machine) -> Host {
    let mut capacities = vec![1024; machine.nr_cpu_ids()];
    for cpu in machine.cpus() {
        capacities[cpu.id.index()] = cpu.capacity;
    }
    Host {
        cpus: machine.online(),
        nodes: machine.nodes().iter().map(|node| node.id.0).collect(),
        capacities,
    }
}

/// The error, followed by what could have been meant.
fn explain(error: WorkloadError) -> Error {
    match &error {
        WorkloadError::Unknown(name) if Path::new(name).is_file() => anyhow!(
            "{name}: the name of a workload file ends in .toml, or in .json if it is one of rt-app"
        ),
        WorkloadError::Unknown(name) => {
            let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
            let hint = did_you_mean(name, names.iter().copied());
            anyhow!("{error}, known are {}{hint}", names.join(", "))
        }
        WorkloadError::Option {
            workload,
            error: OptionError::Unknown(_),
        } => {
            let options = CATALOGUE.iter().filter(|e| e.name == *workload);
            let names: Vec<String> = options
                .flat_map(|entry| entry.options)
                .map(|o| format!("-{}/--{}", o.short, o.long))
                .collect();
            anyhow!("{error}; it takes {}", names.join(", "))
        }
        _ => error.into(),
    }
}
