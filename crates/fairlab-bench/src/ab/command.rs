//! Commands as the two sides, and hooks that bring the system into their state.

use std::fmt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::child::{self, Ended, Failure, Leftovers};
use super::{Executor, Side};
use crate::{BenchError, Row};

/// A command as words, or as a text for a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// Started as it is.
    Words(Vec<String>),
    /// Given to /bin/sh -c.
    Shell(String),
}

impl CommandLine {
    /// A text of plain words is started without a shell, whose time would count; any other is given to one.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " ./_-+:,@%".contains(c);
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        if text.chars().all(is_plain) && !words.is_empty() {
            Self::Words(words)
        } else {
            Self::Shell(text.to_owned())
        }
    }

    fn command(&self) -> Command {
        match self {
            Self::Words(words) => {
                let mut words = words.iter();
                let mut command = Command::new(words.next().map_or("", String::as_str));
                command.args(words);
                command
            }
            Self::Shell(text) => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", text]);
                command
            }
        }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(&words.join(" ")),
            Self::Shell(text) => f.write_str(text),
        }
    }
}

/// Reads figures from what a command has printed.
pub type Reader = Box<dyn Fn(&str) -> Result<Vec<Row>, String>>;

/// What is compared.
pub enum Metric {
    /// The time from start to end.
    Wall,
    /// What it prints.
    Output(Reader),
}

/// The two sides, as commands.
pub struct Commands {
    /// What is run for before and after.
    pub commands: [CommandLine; 2],
    /// Shell commands that come before each run of their side.
    pub hooks: [Option<String>; 2],
    /// The shell command at the very end; the hook of before when `None`.
    pub restore: Option<String>,
    /// What is compared.
    pub metric: Metric,
    /// What a run, or a hook, may take.
    pub timeout: Duration,
    /// Set when somebody wants to stop.
    pub interrupt: Arc<AtomicBool>,
    /// The start.
    started: Instant,
    /// Has a hook run since the last restore?
    is_changed: bool,
}

/// The most lines of complaints that an error repeats.
const COMPLAINTS: usize = 5;

impl Commands {
    /// Sides without hooks, compared by time, with ten minutes for a run.
    #[must_use]
    pub fn new(commands: [CommandLine; 2], interrupt: Arc<AtomicBool>) -> Self {
        Self {
            commands,
            hooks: [None, None],
            restore: None,
            metric: Metric::Wall,
            timeout: Duration::from_secs(600),
            interrupt,
            started: Instant::now(),
            is_changed: false,
        }
    }

    /// Puts the system back, if a hook has changed it. Interrupts are not heeded here.
    ///
    /// # Errors
    /// When the hook fails; it will not be tried again.
    pub fn put_back(&mut self) -> Result<(), BenchError> {
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        let [before, _] = &self.hooks;
        match self.restore.as_ref().or(before.as_ref()) {
            Some(hook) => self.hook(hook, None),
            None => Ok(()),
        }
    }

    /// Brings the system into the state of `side`.
    ///
    /// # Errors
    /// When its hook fails.
    pub fn prepare(&mut self, side: Side) -> Result<(), BenchError> {
        let Some(hook) = &self.hooks[side.index()] else {
            return Ok(());
        };
        // Also when it fails: it may have done half of its work.
        self.is_changed = true;
        self.hook(hook, Some(&self.interrupt))
    }

    fn hook(&self, text: &str, interrupt: Option<&AtomicBool>) -> Result<(), BenchError> {
        let command = CommandLine::Shell(text.to_owned()).command();
        let ended = child::run(command, self.timeout, interrupt, Leftovers::Keep);
        let what = || format!("the hook '{text}'");
        let ended = ended.map_err(|failure| self.failure(failure, what()))?;
        expect_success(&ended, what())
    }

    fn failure(&self, failure: Failure, what: String) -> BenchError {
        match failure {
            Failure::System(source) => BenchError::Start { what, source },
            Failure::Timeout => BenchError::Timeout {
                what,
                limit: self.timeout,
            },
            Failure::Interrupted => BenchError::Interrupted,
        }
    }
}

impl Executor for Commands {
    fn run(&mut self, side: Side) -> Result<Vec<Row>, BenchError> {
        self.prepare(side)?;
        let line = &self.commands[side.index()];
        let what = || format!("'{line}'");
        let ended = child::run(
            line.command(),
            self.timeout,
            Some(&self.interrupt),
            Leftovers::Kill,
        );
        let ended = ended.map_err(|failure| self.failure(failure, what()))?;
        expect_success(&ended, what())?;
        match &self.metric {
            Metric::Wall => Ok(vec![Row::lower("wall time", "s", ended.wall.as_secs_f64())]),
            Metric::Output(read) => {
                let text = String::from_utf8_lossy(&ended.stdout);
                read(&text).map_err(|why| BenchError::Output { what: what(), why })
            }
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            eprintln!("error: the system is not as it was: {error}");
        }
    }
}

fn expect_success(ended: &Ended, what: String) -> Result<(), BenchError> {
    if ended.status.success() {
        return Ok(());
    }
    let complaints = String::from_utf8_lossy(&ended.stderr);
    let lines: Vec<&str> = complaints
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines.len().saturating_sub(COMPLAINTS);
    let complaint = lines.get(last..).unwrap_or_default().join("; ");
    let status = match complaint.as_str() {
        "" => ended.status.to_string(),
        complaint => format!("{} ({complaint})", ended.status),
    };
    Err(BenchError::Child {
        what,
        status,
        expected: "exit status 0",
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn commands(a: &str, b: &str) -> Commands {
        Commands::new([a, b].map(CommandLine::parse), Arc::default())
    }

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("fairlab-ab-{}-{name}", std::process::id()))
    }

    #[test]
    fn plain_words_need_no_shell() {
        assert!(
            matches!(CommandLine::parse("perf bench -l 10"), CommandLine::Words(words) if words.len() == 4)
        );
        for text in [
            "a | b", "a 'b c'", "X=1 a", "a > b", "", "a ~/b", "a $x", "a *",
        ] {
            assert!(
                matches!(CommandLine::parse(text), CommandLine::Shell(_)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_fails_says_how_and_what_it_complained_about() {
        let mut failing = commands("echo bad luck >&2; exit 3", "/nonexistent/program");
        let error = failing.run(Side::Before).unwrap_err().to_string();
        assert!(
            error.contains("exit status: 3") && error.contains("bad luck"),
            "{error}"
        );
        let error = failing.run(Side::After).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/program"), "{error}");
        failing.timeout = Duration::from_millis(50);
        failing.commands[0] = CommandLine::parse("sleep 50");
        let error = failing.run(Side::Before).unwrap_err().to_string();
        assert!(error.contains("took longer than"), "{error}");
    }

    #[test]
    fn output_without_figures_is_an_error() {
        let mut sides = commands("echo hello", "true");
        sides.metric = Metric::Output(Box::new(|text| {
            Err(format!("no number in '{}'", text.trim()))
        }));
        let error = sides.run(Side::Before).unwrap_err().to_string();
        assert!(
            error.contains("'echo hello'") && error.contains("no number in 'hello'"),
            "{error}"
        );
    }

    #[test]
    fn the_state_of_before_comes_back_whatever_happens() {
        for (name, fails, restore, expected) in [
            ("fine", "", None, "before"),
            ("hook fails", "; exit 1", None, "before"),
            ("own restore", "", Some("original"), "original"),
        ] {
            let state = scratch(&name.replace(' ', "-"));
            let write = |text: &str| format!("echo {text} > {}", state.display());
            let mut sides = commands("true", "true");
            sides.hooks = [Some(write("before")), Some(write("after") + fails)];
            sides.restore = restore.map(write);
            let result = sides.run(Side::After);
            assert_eq!(result.is_err(), !fails.is_empty());
            assert_eq!(fs::read_to_string(&state).unwrap().trim(), "after");
            drop(sides);
            assert_eq!(
                fs::read_to_string(&state).unwrap().trim(),
                expected,
                "{name}"
            );
            fs::remove_file(&state).unwrap();
        }
    }

    #[test]
    fn nothing_is_put_back_when_nothing_was_changed() {
        let state = scratch("untouched");
        let mut sides = commands("true", "true");
        sides.restore = Some(format!("touch {}", state.display()));
        sides.run(Side::Before).unwrap();
        drop(sides);
        assert!(!state.exists());
    }
}
