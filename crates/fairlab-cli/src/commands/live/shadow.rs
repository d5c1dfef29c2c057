//! `fairlab live --shadow`: the kernel schedules, and the policy is asked beside it.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use fairlab::policy::Reason;
use fairlab_live::{Options, Seen, Until, Why};
use serde_json::{Map, Value, json};

use crate::cli::live::LiveVerb;
use crate::output::Format;

/// Watches until Ctrl-C or the end of `--duration`.
pub fn run(args: &LiveVerb, options: &Options, until: Until<'_>) -> Result<ExitCode> {
    let format = args.output.format()?;
    let mut last = None;
    let interval = Duration::from_secs(args.stats.unwrap_or(1));
    fairlab_live::run_shadow(options, until, interval, |seen| {
        let (wakeups, agreed) = seen.counts.wakeups();
        eprintln!(
            "{wakeups} wakeups, {agreed} placed alike ({})",
            percent(agreed, wakeups)
        );
        last = Some(seen.clone());
        Ok(())
    })?;
    let Some(seen) = last else {
        return Ok(ExitCode::SUCCESS);
    };
    let mut out = args.output.open()?;
    if format == Format::Json {
        out.json(&summary(&seen))?;
    } else {
        table(&mut out, &seen)?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.2} %", part as f64 * 100.0 / whole as f64)
}

fn by_reason(seen: &Seen) -> impl Iterator<Item = (Reason, u64, u64)> + '_ {
    let counts = seen.counts.asked.iter().zip(&seen.counts.agreed);
    let counted = Reason::ALL.iter().zip(counts);
    counted
        .map(|(reason, (asked, agreed))| (*reason, *asked, *agreed))
        .filter(|(_, asked, _)| *asked != 0)
}

fn table(out: &mut impl Write, seen: &Seen) -> Result<()> {
    let counts = &seen.counts;
    let (wakeups, agreed) = counts.wakeups();
    writeln!(
        out,
        "{:>12}  {:>12}  {:>9}  our reason",
        "asked", "alike", "share"
    )?;
    for (reason, asked, agreed) in by_reason(seen) {
        let share = percent(agreed, asked);
        writeln!(out, "{asked:>12}  {agreed:>12}  {share:>9}  {reason}")?;
    }
    let share = percent(agreed, wakeups);
    writeln!(out, "{wakeups:>12}  {agreed:>12}  {share:>9}  all wakeups")?;
    let share = percent(counts.forks_agreed, counts.forks);
    writeln!(
        out,
        "{:>12}  {:>12}  {share:>9}  forks and execs, which the kernel places by averages",
        counts.forks, counts.forks_agreed
    )?;
    if wakeups > agreed {
        writeln!(out, "\nwhy they differ:")?;
        for (why, (count, _)) in Why::ALL.iter().zip(&seen.why) {
            writeln!(out, "{count:>12}  {}", why.name())?;
        }
        writeln!(out, "{:>12}  not recorded", counts.unrecorded)?;
    }
    Ok(())
}

fn summary(seen: &Seen) -> Value {
    let counts = &seen.counts;
    let (wakeups, agreed) = counts.wakeups();
    let reasons: Map<String, Value> = by_reason(seen)
        .map(|(reason, asked, agreed)| {
            let of = json!({ "asked": asked, "agreed": agreed });
            (reason.name().to_owned(), of)
        })
        .collect();
    let why: Map<String, Value> = Why::ALL
        .iter()
        .zip(&seen.why)
        .map(|(why, (count, _))| (why.key().to_owned(), json!(count)))
        .collect();
    json!({
        "wakeups": wakeups,
        "agreed": agreed,
        "reasons": reasons,
        "differences": why,
        "unrecorded": counts.unrecorded,
        "forks": counts.forks,
        "forks_agreed": counts.forks_agreed,
    })
}
