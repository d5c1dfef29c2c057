//! The way out for data (standard output or a file) and for complaints (standard error).

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::cli::OutputArgs;

/// The form of an answer that is a table or a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Aligned, for people.
    Text,
    /// For programs.
    Json,
}

impl OutputArgs {
    /// The form asked for: `--json`, else by the suffix of `-o`, else text.
    ///
    /// Verbs that write other forms (traces, CSV) look at the suffix before they ask here.
    pub fn format(&self) -> Result<Format> {
        if self.json {
            return Ok(Format::Json);
        }
        let Some(path) = &self.output else {
            return Ok(Format::Text);
        };
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("json") => Ok(Format::Json),
            Some("txt") | None => Ok(Format::Text),
            Some(other) => bail!("cannot write .{other}: use .txt or .json"),
        }
    }

    /// The file of another form that `-o` asks for by one of these suffixes, and where the answer
    /// goes: to standard output then, else where it was to go.
    pub fn beside(&self, suffixes: &[&str]) -> (Option<PathBuf>, Self) {
        let suffix = |path: &Path| {
            path.extension()
                .and_then(|suffix| suffix.to_str().map(str::to_owned))
        };
        match &self.output {
            Some(path)
                if suffix(path).is_some_and(|suffix| suffixes.contains(&suffix.as_str())) =>
            {
                let answer = Self {
                    json: self.json,
                    output: None,
                };
                (Some(path.clone()), answer)
            }
            _ => (None, self.clone()),
        }
    }

    /// As [`Self::format`], where the text is itself a file format with this suffix.
    pub fn format_or(&self, suffix: &str) -> Result<Format> {
        let path = self.output.as_ref().filter(|_| !self.json);
        let own = path.and_then(|path| path.extension());
        if own.is_some_and(|own| own == suffix) {
            return Ok(Format::Text);
        }
        self.format()
    }

    /// Opens the way out. Call it when the answer is known, so that a failure leaves an old file
    /// alone.
    pub fn open(&self) -> Result<Output> {
        match &self.output {
            None => Ok(Output::stdout()),
            Some(path) => Output::file(path),
        }
    }
}

/// A buffered writer that knows whether colours are wanted. Call [`Output::finish`] at the end:
/// what is dropped unfinished may be lost without an error.
pub struct Output {
    writer: BufWriter<Box<dyn Write>>,
    is_coloured: bool,
}

impl Output {
    /// Writes to standard output; coloured on a terminal unless `NO_COLOR` is set.
    pub fn stdout() -> Self {
        Self {
            is_coloured: io::stdout().is_terminal() && colours_allowed(),
            writer: BufWriter::new(Box::new(io::stdout().lock())),
        }
    }

    fn file(path: &Path) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self {
            is_coloured: false,
            writer: BufWriter::new(Box::new(file)),
        })
    }

    /// Writes `value` as indented JSON and a line end.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer_pretty(&mut self.writer, value).map_err(io::Error::from)?;
        writeln!(self.writer)?;
        Ok(())
    }

    /// `text` in `style`, or as it is when colours are not wanted.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.is_coloured {
            format!("\x1b[{}m{text}\x1b[0m", style.code())
        } else {
            text.to_owned()
        }
    }

    /// Writes out what is buffered.
    pub fn finish(mut self) -> Result<()> {
        self.writer.flush()?;
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// How a word is set apart on a terminal.
#[derive(Clone, Copy, Debug)]
pub enum Style {
    /// Headings.
    Bold,
    /// What does not matter now.
    Dim,
    /// Better, or on.
    Green,
    /// Worse, or off.
    Red,
    /// Look here.
    Yellow,
}

impl Style {
    fn code(self) -> u8 {
        match self {
            Self::Bold => 1,
            Self::Dim => 2,
            Self::Green => 32,
            Self::Red => 31,
            Self::Yellow => 33,
        }
    }
}

/// Prints the whole chain of `error` to standard error: `error: a: b: c`.
pub fn complain(error: &anyhow::Error) {
    // Standard error may be closed too; then nobody is left to tell.
    let _ = writeln!(io::stderr(), "error: {error:#}");
}

/// True when `error` is about a reader that went away (`fairlab ... | head`).
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// False when the user set `NO_COLOR` to anything (<https://no-color.org>).
fn colours_allowed() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(json: bool, output: Option<&str>) -> OutputArgs {
        OutputArgs {
            json,
            output: output.map(Into::into),
        }
    }

    #[test]
    fn the_suffix_picks_the_format() {
        let format = |json, output| args(json, output).format();
        assert_eq!(format(false, None).unwrap(), Format::Text);
        assert_eq!(format(true, None).unwrap(), Format::Json);
        assert_eq!(format(false, Some("a.json")).unwrap(), Format::Json);
        assert_eq!(format(true, Some("a.txt")).unwrap(), Format::Json);
        assert_eq!(format(false, Some("a")).unwrap(), Format::Text);
        assert_eq!(
            format(false, Some("a.xyz")).unwrap_err().to_string(),
            "cannot write .xyz: use .txt or .json"
        );
    }

    #[test]
    fn a_file_of_another_form_leaves_standard_output_to_the_answer() {
        let asked = args(true, Some("a.html"));
        let (file, answer) = asked.beside(&["html"]);
        assert_eq!(file.as_deref(), Some(Path::new("a.html")));
        assert!(answer.json && answer.output.is_none());
        let asked = args(false, Some("a.txt"));
        let (file, answer) = asked.beside(&["html"]);
        assert_eq!(file, None);
        assert_eq!(answer.output.as_deref(), Some(Path::new("a.txt")));
    }

    #[test]
    fn a_closed_pipe_is_found_anywhere_in_the_chain() {
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(is_closed_pipe(&error));
        assert!(is_closed_pipe(&error.context("writing the table")));
        assert!(!is_closed_pipe(&anyhow::anyhow!("something else")));
    }
}
