//! The figures of rt-app's logs, per thread and phase.

use std::collections::BTreeMap;

use fairlab::sim::LoopRow;
use fairlab::stats::table::{Align, Table};
use fairlab_experiment::Outcome;
use fairlab_rtapp::{Calibration, Event, Phase};
use serde::Serialize;

use crate::workload_arg::RtAppFile;

/// A thread.
#[derive(Serialize)]
pub struct Thread {
    /// As rt-app calls it: the name of the task and a number.
    name: String,
    policy: &'static str,
    priority: i32,
    phases: Vec<PhaseFigures>,
}

/// A phase of a thread; times in microseconds, as in the logs.
#[derive(Serialize)]
struct PhaseFigures {
    phase: String,
    passes: u64,
    /// Loops of the calibration that a pass did.
    perf: u64,
    run_us: Figure,
    period_us: Figure,
    slack_us: Figure,
    c_duration_us: u64,
    c_period_us: u64,
    wu_lat_us: Figure,
}

/// A figure over the passes.
#[derive(Clone, Copy, Serialize)]
struct Figure {
    mean: f64,
    min: f64,
    max: f64,
}

impl Figure {
    fn of(rows: &[&LoopRow], ns: impl Fn(&LoopRow) -> i64) -> Self {
        let us = || rows.iter().map(|row| ns(row) as f64 / 1e3);
        Self {
            mean: us().sum::<f64>() / rows.len() as f64,
            min: us().fold(f64::INFINITY, f64::min),
            max: us().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// The threads that finished a pass, in the order of their start.
pub fn threads(file: &RtAppFile, outcome: &Outcome) -> Vec<Thread> {
    let mut passes: BTreeMap<(u32, u32), Vec<&LoopRow>> = BTreeMap::new();
    for row in &outcome.loops {
        passes.entry((row.task.0, row.phase)).or_default().push(row);
    }
    let mut threads: Vec<(u32, Thread)> = Vec::new();
    for ((number, phase), rows) in &passes {
        let program = outcome.programs.get(*number as usize);
        let Some(compiled) = program.and_then(|p| file.compiled.programs[p.index()]) else {
            continue;
        };
        let task = &file.app.tasks[compiled.task];
        if threads.last().is_none_or(|(last, _)| last != number) {
            let thread = Thread {
                // The main thread is task 0, and not counted by rt-app.
                name: format!("{}-{}", task.name, number - 1),
                policy: task.sched.policy.name(),
                priority: task.sched.priority,
                phases: Vec::new(),
            };
            threads.push((*number, thread));
        }
        if let Some((_, thread)) = threads.last_mut() {
            let spec = &task.phases[*phase as usize];
            thread.phases.push(figures(file, spec, rows));
        }
    }
    threads.into_iter().map(|(_, thread)| thread).collect()
}

fn figures(file: &RtAppFile, phase: &Phase, rows: &[&LoopRow]) -> PhaseFigures {
    let sum = |us: fn(&Event) -> u32| phase.events.iter().map(|e| u64::from(us(e))).sum();
    let c_duration_us = sum(|event| match event {
        Event::Run(us) | Event::Runtime(us) => *us,
        _ => 0,
    });
    let cumulative = file.app.global.cumulative_slack;
    PhaseFigures {
        phase: phase.name.clone(),
        passes: rows.len() as u64,
        perf: c_duration_us * 1_000 / u64::from(ns_per_loop(file)),
        run_us: Figure::of(rows, |row| row.run.0 as i64),
        period_us: Figure::of(rows, |row| (row.end - row.start).0 as i64),
        slack_us: Figure::of(
            rows,
            |row| if cumulative { row.slack_sum } else { row.slack },
        ),
        c_duration_us,
        c_period_us: sum(|event| match event {
            Event::Timer(timer) => timer.period,
            _ => 0,
        }),
        wu_lat_us: Figure::of(rows, |row| row.woken_late.0 as i64),
    }
}

/// Length of a loop of the calibration: what the file says, or a nanosecond.
fn ns_per_loop(file: &RtAppFile) -> u32 {
    match file.app.global.calibration {
        Calibration::NsPerLoop(ns) => ns,
        Calibration::Cpu(..) => 1,
    }
}

/// The table that is printed: means over the passes, in microseconds.
pub fn text(threads: &[Thread]) -> String {
    let heads = [
        "passes",
        "perf",
        "run",
        "period",
        "slack",
        "c_duration",
        "c_period",
        "wu_lat",
        "wu_lat max",
    ];
    let left = ["#thread", "phase", "policy", "prio"].map(|head| (head, Align::Left));
    let right = heads.map(|head| (head, Align::Right));
    let mut table = Table::new(left.into_iter().chain(right));
    for thread in threads {
        for phase in &thread.phases {
            let mean = |figure: Figure| format!("{:.0}", figure.mean);
            table.row([
                thread.name.clone(),
                phase.phase.clone(),
                thread.policy.to_owned(),
                thread.priority.to_string(),
                phase.passes.to_string(),
                phase.perf.to_string(),
                mean(phase.run_us),
                mean(phase.period_us),
                mean(phase.slack_us),
                phase.c_duration_us.to_string(),
                phase.c_period_us.to_string(),
                mean(phase.wu_lat_us),
                format!("{:.0}", phase.wu_lat_us.max),
            ]);
        }
    }
    table.to_text()
}
