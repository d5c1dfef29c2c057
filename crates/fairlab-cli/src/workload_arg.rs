//! Reading a workload from the command line, with suggestions.

use anyhow::{Error, Result, anyhow};
use fairlab::workload::{CATALOGUE, OptionError, Workload, WorkloadError, parse};

use crate::cli::WorkloadArgs;
use crate::suggest::did_you_mean;

impl WorkloadArgs {
    /// The workload that was asked for.
    pub fn load(&self) -> Result<Workload> {
        let text = self.workload.join(" ");
        parse(&text).map_err(explain)
    }
}

/// The error, followed by what could have been meant.
fn explain(error: WorkloadError) -> Error {
    match &error {
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

/// The workloads with their options, for `--help`.
pub fn help() -> String {
    let mut text = String::from("Workloads:\n");
    for entry in CATALOGUE {
        text.push_str(&format!("  {:<10} {}\n", entry.name, entry.summary));
        for option in entry.options {
            let value = option.value.map(|v| format!(" {v}")).unwrap_or_default();
            let flags = format!("-{}, --{}{value}", option.short, option.long);
            text.push_str(&format!("    {flags:<30} {}\n", option.doc));
        }
    }
    text
}
