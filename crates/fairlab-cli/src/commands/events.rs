//! `fairlab events`: what is in a recording, and what is missing from it.

mod filter;
mod list;
mod summary;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use fairlab_trace::Recording;

use crate::cli::events::EventsVerb;
use crate::output::Format;

/// Files that perf and trace-cmd write when they are not told a name.
const USUAL: [&str; 2] = ["perf.data", "trace.dat"];

/// Reads the recording, and prints its summary or its events.
pub fn run(args: &EventsVerb) -> Result<ExitCode> {
    let filter = filter::Filter::new(&args.filter)?;
    let format = args.output.format()?;
    let mut recording = open(args)?;
    let mut out = args.output.open()?;
    if args.list {
        list::write(&mut recording, &filter, format, &mut out)?;
    } else {
        recording.finish();
        match format {
            Format::Json => out.json(&summary::Summary::new(&recording))?,
            Format::Text => summary::write(&recording, &mut out)?,
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn open(args: &EventsVerb) -> Result<Recording> {
    let mut paths: Vec<PathBuf> = args.traces.clone();
    paths.extend(args.input.clone());
    if paths.is_empty() {
        match USUAL.iter().find(|name| Path::new(name).exists()) {
            Some(name) => paths.push(PathBuf::from(name)),
            None => bail!("no recording given, and neither perf.data nor trace.dat is here"),
        }
    }
    Ok(fairlab_trace::open_many(&paths)?)
}
