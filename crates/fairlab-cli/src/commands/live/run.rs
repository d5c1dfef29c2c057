//! Taking over, and telling what happens.

use std::cell::RefCell;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fairlab_live::{Checked, Options, Session, Settings, Stats};

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
    if let Some(seconds) = args.duration {
        end_after(Duration::from_secs(seconds), Arc::clone(&stop));
    }
    if args.shadow {
        return shadow::run(args, &options, &stop);
    }
    let started = Instant::now();
    let seconds = args.stats.unwrap_or(1);
    let last = RefCell::new((Stats::ZERO, Checked::default(), Vec::new()));
    let ended = fairlab_live::run(
        &options,
        &stop,
        Duration::from_secs(seconds),
        |session: &Session| {
            let now = session.stats()?;
            let checked = session.check_decisions()?;
            let programs = session.programs();
            let mut last = last.borrow_mut();
            let since = now.since(&last.0);
            if args.stats.is_some() {
                let cost = show::cost(&last.2, &programs);
                // Whoever closes the stream of talk does not want it.
                let _ = show::block(&mut std::io::stderr(), &since, seconds, cost);
            } else {
                eprintln!("{}", show::line(&since, seconds));
            }
            *last = (now, checked, programs);
            Ok(())
        },
    )?;
    let (stats, checked, programs) = last.into_inner();
    let cost = show::cost(&[], &programs);
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
    eprintln!(
        "the kernel schedules again: {}: {}",
        ended.reason, ended.message
    );
    Ok(if by_error {
        ExitCode::from(crate::EXIT_WORSE)
    } else {
        ExitCode::SUCCESS
    })
}

/// Sets `stop` after `length`, unless the run ends before.
fn end_after(length: Duration, stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        std::thread::sleep(length);
        stop.store(true, Ordering::Relaxed);
    });
}
