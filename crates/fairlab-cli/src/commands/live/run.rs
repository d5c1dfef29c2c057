//! Taking over, and telling what happens.

use std::cell::RefCell;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fairlab::policy::Reason;
use fairlab_live::{Checked, Options, Session, Settings, Stats};
use serde_json::{Map, Value, json};

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
        },
        object: args.object.clone(),
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
    let started = Instant::now();
    let last = RefCell::new((Stats::ZERO, Checked::default()));
    let limit = args.duration.map(Duration::from_secs);
    let ended = fairlab_live::run(
        &options,
        &stop,
        Duration::from_secs(args.stats),
        |session: &Session| {
            let now = session.stats()?;
            let checked = session.check_decisions()?;
            if limit.is_some_and(|limit| started.elapsed() >= limit) {
                stop.store(true, Ordering::Relaxed);
            }
            let mut last = last.borrow_mut();
            let since = now.since(&last.0);
            eprintln!("{}", line(&since, args.stats));
            *last = (now, checked);
            Ok(())
        },
    )?;
    let (stats, checked) = last.into_inner();
    let mut out = args.output.open()?;
    if format == Format::Json {
        out.json(&summary(&stats, &checked, started.elapsed()))?;
    } else {
        table(&mut out, &stats, &checked)?;
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

/// One line about the last interval.
fn line(since: &Stats, seconds: u64) -> String {
    let waits: u64 = since.latencies.iter().sum();
    format!(
        "{} placements/s, {} straight to an idle CPU, {} queued, {} stolen, {} preempted; wait: median {}, 99 % {}",
        since.asked / seconds.max(1),
        since.direct,
        since.queued + since.pinned,
        since.stolen,
        since.preempted,
        quantile(since, waits, 50),
        quantile(since, waits, 99),
    )
}

/// An upper bound of a quantile of the waits.
fn quantile(stats: &Stats, all: u64, percent: u64) -> String {
    let mut left = (all * percent).div_ceil(100);
    for (n, count) in stats.latencies.iter().enumerate() {
        if left <= *count && *count != 0 {
            return format!("< {} us", (2u64 << n).div_ceil(1000));
        }
        left = left.saturating_sub(*count);
    }
    "-".to_owned()
}

fn reasons(stats: &Stats) -> impl Iterator<Item = (Reason, u64)> + '_ {
    let counted = Reason::ALL.iter().copied().zip(stats.reasons);
    counted.filter(|(_, count)| *count != 0)
}

fn table(out: &mut impl Write, stats: &Stats, checked: &Checked) -> Result<()> {
    for (reason, count) in reasons(stats) {
        writeln!(out, "{count:>12}  {reason}")?;
    }
    writeln!(out)?;
    for (_, count, sentence) in stats.single() {
        writeln!(out, "{count:>12}  {sentence}")?;
    }
    if checked.decisions > 0 {
        writeln!(
            out,
            "\n{} decisions asked again outside the kernel, {} with another answer",
            checked.decisions, checked.different
        )?;
    }
    Ok(())
}

fn summary(stats: &Stats, checked: &Checked, elapsed: Duration) -> Value {
    let by_reason: Map<String, Value> = reasons(stats)
        .map(|(reason, count)| (reason.name().to_owned(), json!(count)))
        .collect();
    let counts: Map<String, Value> = stats
        .single()
        .into_iter()
        .map(|(name, count, _)| (name.to_owned(), json!(count)))
        .collect();
    json!({
        "seconds": elapsed.as_secs(),
        "reasons": by_reason,
        "counts": counts,
        "waits_by_power_of_two_ns": stats.latencies,
        "checked": checked.decisions,
        "different": checked.different,
    })
}
