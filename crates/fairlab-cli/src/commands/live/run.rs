//! Taking over, and telling what happens.

use std::cell::RefCell;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fairlab_live::{Checked, LiveError, Options, Program, Session, Settings, Stats, Until};

use super::{shadow, show};
use crate::cli::live::LiveVerb;
use crate::output::Format;

/// Schedules until Ctrl-C, the end of `--duration`, or until the kernel takes scheduling back.
pub fn run(args: &LiveVerb) -> Result<ExitCode> {
    let format = args.output.format()?;
    let options = Options {
        kernel: args.kernel,
        settings: Settings {
            slice_ns: args.slice_us * 1000,
            hz: args.kernel.tunables.hz,
            record_every: args.check_every,
            lost_thread: 0,
            counts_details: args.stats.is_some(),
        },
        object: args.object.clone(),
        only_cgroup: args.only_cgroup.clone(),
        count_cost: args.stats.is_some(),
        log: args.log.clone(),
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .context("cannot watch for interrupts")?;
    }
    let until = Until {
        stop: &stop,
        length: args.duration.map(Duration::from_secs),
    };
    if args.shadow {
        return shadow::run(args, &options, until);
    }
    let started = Instant::now();
    let told = RefCell::new(Told::default());
    let ended = fairlab_live::run(
        &options,
        until,
        Duration::from_secs(args.stats.unwrap_or(1)),
        |session: &Session| {
            let (since, length, cost) = told.borrow_mut().update(session)?;
            if args.stats.is_some() {
                // Whoever closes the stream of talk does not want it.
                let _ = show::block(&mut std::io::stderr(), &since, length, cost);
            } else {
                eprintln!("{}", show::line(&since, length));
            }
            Ok(())
        },
    )?;
    let told = told.into_inner();
    let cost = show::cost(&[], &told.programs);
    let Counted { stats, checked } = told.all();
    let mut out = args.output.open()?;
    if format == Format::Json {
        out.json(&show::summary(&stats, &checked, cost, started.elapsed()))?;
    } else {
        show::table(&mut out, &stats, &checked, cost)?;
    }
    out.finish()?;
    let Some(ended) = ended else {
        return Ok(ExitCode::SUCCESS);
    };
    // Whoever stops a scheduler by other means than an error has got what they asked for.
    let by_error = ended.kind >= 1024;
    eprintln!("the kernel schedules again: {ended}");
    Ok(if by_error {
        ExitCode::from(crate::EXIT_WORSE)
    } else {
        ExitCode::SUCCESS
    })
}

/// What was told last. When CPUs come or go a new session follows, which counts from 0.
#[derive(Default)]
struct Told {
    /// Of the sessions that have ended.
    before: Counted,
    /// Of the present one.
    session: Counted,
    programs: Vec<Program>,
    at: Option<Instant>,
}

struct Counted {
    stats: Stats,
    checked: Checked,
}

impl Default for Counted {
    fn default() -> Self {
        Self {
            stats: Stats::ZERO,
            checked: Checked::default(),
        }
    }
}

impl Told {
    /// What was counted since the last time, how long that was, and what a decision took.
    fn update(&mut self, session: &Session) -> Result<(Stats, Duration, Option<u64>), LiveError> {
        let now = Counted {
            stats: session.stats()?,
            checked: session.check_decisions()?,
        };
        let programs = session.programs();
        let length = self.at.map_or(session.age(), |at| at.elapsed());
        if session.age() < length {
            // Another one than before.
            self.before = self.all();
            self.session = Counted::default();
            self.programs.clear();
        }
        let since = now.stats.since(&self.session.stats);
        let cost = show::cost(&self.programs, &programs);
        let length = length.min(session.age());
        self.session = now;
        self.programs = programs;
        self.at = Some(Instant::now());
        Ok((since, length, cost))
    }

    /// Of all sessions.
    fn all(&self) -> Counted {
        Counted {
            stats: self.before.stats.and(&self.session.stats),
            checked: self.before.checked.and(&self.session.checked),
        }
    }
}
