//! One reader per tool.
//!
//! A reader is shown the lines from some place to the end of the text. When the first of them is
//! where its tool's output begins, it takes as many lines as it understands, and says what they
//! mean; else it gives `None`. It never looks back.

mod bloat_o_meter;
pub(crate) mod columns;
pub(crate) mod csv;
mod cyclictest;
mod ebizzy;
mod grid;
mod hackbench;
mod hyperfine;
mod iperf;
pub(crate) mod json;
mod key_value;
mod lmbench;
mod lmbench_summary;
mod lscpu;
mod markdown;
mod ministat;
mod mmtests;
mod netperf;
mod pahole;
mod pct_table;
mod perf_bench;
mod perf_sched_latency;
mod perf_stat;
mod pgbench;
mod redis_benchmark;
mod remarks;
mod rt_app;
mod schbench;
mod schedstat;
mod size;
mod stress_ng;
mod sysbench;
mod system_map;
mod table;
mod tbench;
mod time;
mod unixbench;
mod vmstat;
mod wrk;

pub(crate) use perf_stat::{is_interval_heading, is_json_counter};

use crate::document::{Claim, Measure};
use crate::format::Format;
use crate::text::Line;

/// What a reader took.
#[derive(Debug)]
pub(crate) struct Found {
    /// The format.
    pub format: Format,
    /// How many lines, at least one.
    pub lines: usize,
    /// The figures.
    pub measures: Vec<Measure>,
    /// What the text says about them.
    pub claims: Vec<Claim>,
    /// What a user should know of how they were read.
    pub notes: Vec<String>,
}

impl Found {
    pub(crate) fn new(format: Format, lines: usize, measures: Vec<Measure>) -> Self {
        Self {
            format,
            lines,
            measures,
            claims: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Lines that belong to a tool and hold no figures.
    pub(crate) fn talk(format: Format, lines: usize) -> Self {
        Self::new(format, lines, Vec::new())
    }
}

/// Looks at the lines from some place on.
pub(crate) type Reader = fn(&[Line]) -> Option<Found>;

/// The readers, those that know their tool for certain first.
pub(crate) const READERS: &[(Format, Reader)] = &[
    (Format::Schbench, schbench::read),
    (Format::LmbenchSummary, lmbench_summary::read),
    (Format::Lmbench, lmbench::read),
    (Format::Tbench, tbench::read),
    (Format::Hackbench, hackbench::read),
    (Format::PerfBench, perf_bench::read),
    (Format::PerfStat, perf_stat::read),
    (Format::PerfSchedLatency, perf_sched_latency::read),
    (Format::Cyclictest, cyclictest::read),
    (Format::Sysbench, sysbench::read),
    (Format::Hyperfine, hyperfine::read),
    (Format::Markdown, markdown::read),
    (Format::Results, remarks::read),
    (Format::Ministat, ministat::read),
    (Format::Mmtests, mmtests::read),
    (Format::PctTable, pct_table::read),
    (Format::Netperf, netperf::read),
    (Format::Iperf, iperf::read),
    (Format::Ebizzy, ebizzy::read),
    (Format::StressNg, stress_ng::read),
    (Format::RtApp, rt_app::read),
    (Format::Pgbench, pgbench::read),
    (Format::Wrk, wrk::read),
    (Format::RedisBenchmark, redis_benchmark::read),
    (Format::Unixbench, unixbench::read),
    (Format::Time, time::read),
    (Format::Size, size::read),
    (Format::BloatOMeter, bloat_o_meter::read),
    (Format::Pahole, pahole::read),
    (Format::SystemMap, system_map::read),
    (Format::Schedstat, schedstat::read),
    (Format::Lscpu, lscpu::read),
    (Format::Vmstat, vmstat::read),
    (Format::Table, table::read),
    (Format::KeyValue, key_value::read),
    (Format::Columns, columns::read),
];
