//! A progress bar on standard error, for work that takes more than a second.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::ProgressArgs;

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts steps. Draws nothing for the first second, and never when standard error is not a
/// terminal.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    is_wanted: bool,
}

impl Progress {
    /// `steps` steps of something that `what` names ("runs", "events").
    pub fn new(args: ProgressArgs, steps: u64, what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {eta} left") {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self {
            bar,
            started: Instant::now(),
            is_wanted: !args.no_progress && std::io::stderr().is_terminal(),
        }
    }

    /// `steps` more are done. May be called from several threads.
    pub fn add(&self, steps: u64) {
        self.bar.inc(steps);
        if self.is_wanted && self.bar.is_hidden() && self.started.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
