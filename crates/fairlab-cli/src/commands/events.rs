//! `fairlab events`: what is in a recording, and what is missing from it.

mod filter;
mod list;
mod summary;

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::events::EventsVerb;
use crate::output::Format;
use crate::trace_arg;

/// Reads the recording, and prints its summary or its events.
pub fn run(args: &EventsVerb) -> Result<ExitCode> {
    let filter = filter::Filter::new(&args.filter)?;
    let format = args.output.format()?;
    let mut recording = trace_arg::open(&args.trace)?;
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
