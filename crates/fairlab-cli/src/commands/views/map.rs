//! `fairlab map`: who runs where.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use fairlab_views::{Map, MapOptions};

use crate::cli::views::MapVerb;
use crate::output::Format;
use crate::trace_arg;

/// Prints the map.
pub fn run(args: &MapVerb) -> Result<ExitCode> {
    if args.output.format()? == Format::Json {
        bail!("the map is a drawing; for the same as JSON use `fairlab timehist --next --json`");
    }
    let filter = super::filter(&args.filter, &[])?;
    let mut recording = trace_arg::open(&args.trace)?;
    let options = MapOptions {
        filter,
        is_compact: args.compact,
        nr_cpus: recording.metadata().nr_cpus.unwrap_or(0),
    };
    let mut map = Map::new(options, args.output.open()?);
    let mut events = Vec::new();
    while recording.next_batch(&mut events) {
        for event in &events {
            map.event(event, recording.names())?;
        }
    }
    let mut out = map.finish()?;
    out.flush()?;
    super::talk(&recording);
    Ok(ExitCode::SUCCESS)
}
