//! The answers of other kernels on a screen.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use fairlab::stats::table::{Align, Table};
use fairlab_audit::{Agreement, Answer, Asked, Difference, Doubt};
use fairlab_report::Section;
use fairlab_report::tables::{at, us};

use super::super::Findings;
use super::super::text::title;
use crate::output::Output;

pub const fn kind(kind: Asked) -> &'static str {
    match kind {
        Asked::Wakeup => "wakeup",
        Asked::Fork => "fork",
        Asked::Exec => "exec",
    }
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".into();
    }
    format!("{:.2} %", part as f64 * 100.0 / whole as f64)
}

/// What of `counts` there is: `12 sync flag, 3 scan budget`.
fn doubts(counts: &[u64; Doubt::ALL.len()]) -> String {
    let told: Vec<String> = Doubt::ALL
        .into_iter()
        .filter(|doubt| counts[*doubt as usize] > 0)
        .map(|doubt| format!("{} {}", counts[doubt as usize], doubt.name()))
        .collect();
    told.join(", ")
}

/// Prints one answer; so many sorts of differences at most.
pub fn print(out: &mut Output, findings: &Findings, answer: &Answer, most: usize) -> Result<()> {
    title(out, &format!("What if: {}", answer.kernel))?;
    for line in summary(answer) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\n{}", agreement(answer).to_text())?;
    if answer.differences.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", differences(answer, most).to_text())?;
    writeln!(out, "{TIMES}")?;
    for difference in answer.differences.iter().take(3) {
        example(out, findings, difference)?;
    }
    Ok(())
}

/// The same as a section of a page.
pub fn section(answer: &Answer, most: usize) -> Section {
    let mut tables = vec![("Agreement".to_owned(), agreement(answer))];
    if !answer.differences.is_empty() {
        tables.push((TIMES.to_owned(), differences(answer, most)));
    }
    Section {
        heading: format!("What if: {}", answer.kernel),
        text: summary(answer).join(". ") + ".",
        tables,
    }
}

const TIMES: &str = "Times in us: the recorded delay from wakeup to run, and after what time the CPU that was \
                     asked for was free.";

/// What comes of asking, in sentences.
fn summary(answer: &Answer) -> Vec<String> {
    let sum = answer.agreement(|_| true);
    let mut lines = vec![format!(
        "{} of {} placements go to the same CPU ({}); {} differ for sure",
        sum.same,
        sum.asked,
        share(sum.same, sum.asked),
        sum.other_sure
    )];
    if sum.possible() > 0 {
        lines.push(format!(
            "{} more could be the same, for all that the trace tells: {}",
            sum.possible(),
            doubts(&sum.same_if)
        ));
    }
    let skipped = answer.skipped;
    if skipped.bound + skipped.higher + skipped.open > 0 {
        lines.push(format!(
            "not asked: {} of tasks bound to one CPU, {} of real-time and deadline tasks, {} without an end",
            skipped.bound, skipped.higher, skipped.open
        ));
    }
    if answer.untimed > 0 {
        lines.push(format!(
            "{} wakeups have no sched_waking: asked at sched_wakeup, when the task is queued already",
            answer.untimed
        ));
    }
    if answer.untold > 0 {
        lines.push(format!(
            "{} wakeups have no sched_wakeup: taken to have gone where the task ran next",
            answer.untold
        ));
    }
    let picks = answer.picks;
    if picks.asked > 0 {
        lines.push(format!(
            "the rebuilt queues foresee {} of the switches where there is a choice",
            share(picks.same, picks.asked)
        ));
    }
    if answer.contradictions > 0 {
        lines.push(format!(
            "{} events contradict those before them",
            answer.contradictions
        ));
    }
    lines
}

fn agreement(answer: &Answer) -> Table {
    let mut table = Table::new([
        ("", Align::Left),
        ("asked for", Align::Left),
        ("asked", Align::Right),
        ("same", Align::Right),
        ("of these sure", Align::Right),
        ("same if", Align::Right),
        ("other", Align::Right),
        ("of these sure", Align::Right),
    ]);
    let mut row = |what: &str, why: &str, a: &Agreement| {
        table.row([
            what.to_owned(),
            why.to_owned(),
            a.asked.to_string(),
            share(a.same, a.asked),
            share(a.same_sure, a.same),
            a.possible().to_string(),
            (a.other_unsure + a.other_sure).to_string(),
            a.other_sure.to_string(),
        ]);
    };
    let mut kinds: BTreeMap<Asked, Agreement> = BTreeMap::new();
    for ((kind, _), agreement) in &answer.by_why {
        *kinds.entry(*kind).or_default() += *agreement;
    }
    for (of, sum) in kinds {
        row(kind(of), "", &sum);
        for ((asked, why), agreement) in &answer.by_why {
            if *asked == of {
                row("", why.name(), agreement);
            }
        }
    }
    table
}

fn differences(answer: &Answer, most: usize) -> Table {
    let mut table = Table::new([
        ("", Align::Left),
        ("recorded", Align::Left),
        ("asked", Align::Left),
        ("count", Align::Right),
        ("sure", Align::Right),
        ("delay p50", Align::Right),
        ("p99", Align::Right),
        ("asked CPU free p50", Align::Right),
        ("p99", Align::Right),
        ("tasks there", Align::Right),
    ]);
    for d in answer.differences.iter().take(most) {
        let queued = d.queued as f64 / d.count.max(1) as f64;
        table.row([
            kind(d.kind).to_owned(),
            format!("{} ({})", d.recorded.name(), d.recorded_met.name()),
            format!("{} ({})", d.why.name(), d.asked_met.name()),
            d.count.to_string(),
            d.sure.to_string(),
            us(d.delay.quantile(500, 1000)),
            us(d.delay.quantile(990, 1000)),
            us(d.free_after.quantile(500, 1000)),
            us(d.free_after.quantile(990, 1000)),
            format!("{queued:.2}"),
        ]);
    }
    table
}

fn example(out: &mut Output, findings: &Findings, difference: &Difference) -> Result<()> {
    let Some(first) = difference.examples.first() else {
        return Ok(());
    };
    let hangs: Vec<&str> = first.doubts.iter().map(Doubt::name).collect();
    let hangs = if hangs.is_empty() {
        "sure".into()
    } else {
        format!("hangs on {}", hangs.join(", "))
    };
    writeln!(
        out,
        "e.g. at {} {} of {} by CPU {}, last on CPU {}: went to CPU {}, asked: CPU {} ({}; {hangs})",
        at(first.time),
        kind(difference.kind),
        findings.task(first.task),
        first.waking.0,
        first.prev.0,
        first.recorded.0,
        first.asked.0,
        difference.why.name(),
    )?;
    Ok(())
}
