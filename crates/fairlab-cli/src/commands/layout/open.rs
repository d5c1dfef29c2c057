//! Opening inputs: files, standard input, pipes.

use std::io::{Cursor, Read, Seek};

use anyhow::{Context, Result};
use fairlab_layout::input::{Contents, Input, slurp};

/// Anything that can be read at any place.
pub trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

/// An input, and what it holds.
pub struct File {
    /// For what is read on demand: types and debug information.
    pub input: Input<Box<dyn Source>>,
    /// Sections, symbols, or the text.
    pub contents: Contents,
}

impl File {
    /// Opens `name`, or standard input for `-`.
    pub fn open(name: &str) -> Result<Self> {
        let source: Box<dyn Source> = if name == "-" {
            Box::new(Cursor::new(slurp(
                "standard input",
                std::io::stdin().lock(),
            )?))
        } else {
            let file = std::fs::File::open(name).with_context(|| format!("cannot open {name}"))?;
            let is_plain = file.metadata().is_ok_and(|metadata| metadata.is_file());
            if is_plain {
                Box::new(file)
            } else {
                // A pipe, as `<(nm -n vmlinux)` makes it, cannot seek.
                Box::new(Cursor::new(slurp(name, file)?))
            }
        };
        let input = Input::open(name, source)?;
        let contents = input.contents()?;
        Ok(Self { input, contents })
    }
}
