//! Results as the modelled tools print them.

use fairlab::stats::table::{LATENCY_PERCENTILES, schbench};
use fairlab::workload::{Report, Workload};
use fairlab_experiment::Outcome;
use serde::Serialize;

use super::rtapp;
use crate::workload_arg::Loaded;

/// The one figure that a tool is run for.
#[derive(Serialize)]
pub struct Figure {
    name: &'static str,
    unit: &'static str,
    value: f64,
}

/// Seconds that count.
fn seconds(workload: &Workload, outcome: &Outcome) -> f64 {
    (outcome.elapsed.0.saturating_sub(workload.warmup.0)).max(1) as f64 / 1e9
}

/// Samples of the first metric.
fn samples(outcome: &Outcome) -> f64 {
    outcome.metrics.first().map_or(0.0, |m| m.ns.count() as f64)
}

/// Mean of the first metric in microseconds.
fn mean_us(outcome: &Outcome) -> f64 {
    outcome
        .metrics
        .first()
        .and_then(|m| m.ns.mean())
        .unwrap_or(0.0)
        / 1e3
}

/// The figure of `outcome`, if the tool has a single one.
pub fn figure(workload: &Workload, outcome: &Outcome) -> Option<Figure> {
    let time = seconds(workload, outcome);
    let rate = samples(outcome) / time;
    let figure = |name, unit, value| Some(Figure { name, unit, value });
    match workload.report {
        Report::Hackbench | Report::Kernbench | Report::PerfMessaging { .. } => {
            figure("time", "s", time)
        }
        Report::PerfPipe { operations, .. } => {
            figure("operations", "1/s", operations as f64 / time)
        }
        Report::LatProc { .. } => figure("latency", "us", mean_us(outcome)),
        Report::Tbench { bytes, .. } => figure("throughput", "MB/s", rate * bytes as f64 / 1e6),
        Report::Netperf { bytes: 0, .. } => figure("transactions", "1/s", rate),
        Report::Netperf { bytes, .. } => figure("throughput", "Mbit/s", rate * bytes as f64 * 8e-6),
        Report::Records => figure("records", "1/s", rate),
        Report::Oltp => figure("transactions", "1/s", rate),
        Report::Stream { bytes } => {
            let best = outcome
                .metrics
                .first()
                .and_then(|m| m.ns.quantile(0, 1_000));
            // Bytes per nanosecond are GB/s.
            best.and_then(|ns| figure("rate", "MB/s", bytes as f64 / ns as f64 * 1e3))
        }
        _ => None,
    }
}

/// The text that the tool would print.
pub fn of(loaded: &Loaded, outcome: &Outcome) -> String {
    let workload = &loaded.workload;
    let time = seconds(workload, outcome);
    let value = figure(workload, outcome).map_or(0.0, |f| f.value);
    match workload.report {
        Report::Hackbench => format!("Time: {value:.3}\n"),
        Report::Kernbench => format!("Elapsed Time {value:.3}\n"),
        Report::PerfPipe {
            operations,
            threads,
        } => {
            let what = if threads { "threads" } else { "processes" };
            format!(
                "# Running 'sched/pipe' benchmark:\n\
                 # Executed {operations} pipe operations between two {what}\n\n     \
                 Total time: {time:.3} [sec]\n\n{:>15.6} usecs/op\n{value:>15.0} ops/sec\n",
                time * 1e6 / operations as f64,
            )
        }
        Report::PerfMessaging { groups, threads } => {
            let what = if threads { "threads" } else { "processes" };
            format!(
                "# Running 'sched/messaging' benchmark:\n\
                 # 20 sender and receiver {what} per group\n\
                 # {groups} groups == {} {what} run\n\n     Total time: {value:.3} [sec]\n",
                groups * 40
            )
        }
        Report::LatProc { title } => format!("{title}: {value:.4} microseconds\n"),
        Report::Tbench { clients, .. } => {
            let worst = outcome.metrics.first().and_then(|m| m.ns.max());
            format!(
                "Throughput {value:.3} MB/sec  {clients} clients  {clients} procs  max_latency={:.3} ms\n",
                worst.unwrap_or(0) as f64 / 1e6
            )
        }
        Report::Netperf { test, bytes: 0 } => {
            format!("{test}: {value:.2} transactions/sec\n")
        }
        Report::Netperf { test, .. } => format!("{test}: {value:.2} 10^6bits/sec\n"),
        Report::Records => format!("{value:.0} records/s\nreal {time:5.2} s\n"),
        Report::Oltp => {
            format!(
                "transactions: {:>12.0} ({value:.2} per sec.)\n",
                samples(outcome)
            )
        }
        Report::Stream { .. } => format!("Triad: {value:.1} MB/s\n"),
        Report::RtApp => loaded
            .rtapp
            .as_ref()
            .map(|file| rtapp::text(&rtapp::threads(file, outcome)))
            .unwrap_or_default(),
        Report::Schbench | Report::Plain => {
            let whole = time.ceil() as u64;
            let mut text = String::new();
            for (metric, m) in workload.metrics.iter().zip(&outcome.metrics) {
                let block = schbench(&metric.title, "usec", whole, &m.usec, &LATENCY_PERCENTILES);
                text.push_str(&block);
            }
            let asked = workload.report == Report::Schbench && outcome.metrics.len() > 1;
            if let Some(last) = outcome.metrics.last().filter(|_| asked) {
                let rate = last.ns.count() as f64 / time;
                text.push_str(&format!("average rps: {rate:.2}\n"));
            }
            text
        }
    }
}
