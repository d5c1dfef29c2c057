//! `fairlab man`: man pages from the definitions that `--help` prints.

use std::fs;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::cli::{Cli, ManVerb};
use crate::output::Output;

/// Prints the main page, or writes a page per verb into a folder.
pub fn run(args: &ManVerb) -> Result<ExitCode> {
    if let Some(dir) = &args.dir {
        fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
            .with_context(|| format!("cannot write man pages to {}", dir.display()))?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        let mut out = Output::stdout();
        out.write_all(&page)?;
        out.finish()?;
    }
    Ok(ExitCode::SUCCESS)
}
