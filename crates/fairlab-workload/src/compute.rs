//! Loads that compute: `stress-ng --cpu`, `stream`, `ebizzy`.

use alloc::string::ToString;

use fairlab_units::Nanos;

use crate::options::{OptionError, OptionSpec, Options};
use crate::program::{Op, ProgramBuilder, Span};
use crate::workload::{End, Metric, MetricUnit, Report, Workload, WorkloadBuilder};

pub(crate) const STRESS_NG_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'c',
        long: "cpu",
        value: Some("N"),
        doc: "processes (default 1)",
    },
    OptionSpec {
        short: 'l',
        long: "cpu-load",
        value: Some("PCT"),
        doc: "part of the time that each computes (default 100)",
    },
    OptionSpec {
        short: 't',
        long: "timeout",
        value: Some("SECONDS"),
        doc: "simulated time (default 1)",
    },
];

/// A stretch of computing and sleeping of `stress-ng --cpu-load`.
const LOAD_SLICE: Nanos = Nanos(65_000_000);

pub(crate) fn stress_ng(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let tasks = options.count("cpu", 1, 1_000_000)?;
    let load = options.count("cpu-load", 100, 100)?;
    let end = End::After(options.seconds("timeout", Nanos::from_secs(1))?);
    let mut w = WorkloadBuilder::new(description.to_string(), Report::Plain, end);
    let part = |percent: u64| Span::around(Nanos(LOAD_SLICE.0 / 100 * percent), 5);
    let mut main = ProgramBuilder::new("stress-ng");
    for task in 0..tasks as u32 {
        let stressor = ProgramBuilder::new("stress-ng-cpu")
            .process(1 + task)
            .repeat(0, |p| {
                let p = p.op(Op::Run(part(load)));
                if load < 100 {
                    p.op(Op::Sleep(part(100 - load)))
                } else {
                    p
                }
            });
        let stressor = w.program(stressor.build());
        main = main.op(Op::Fork(stressor));
    }
    let main = w.program(main.op(Op::WaitChildren(0)).build());
    w.start(main);
    Ok(w.build())
}

pub(crate) const STREAM_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 't',
        long: "threads",
        value: Some("N"),
        doc: "threads (default 4)",
    },
    OptionSpec {
        short: 'n',
        long: "elements",
        value: Some("N"),
        doc: "elements of each of the three arrays (default 10000000)",
    },
    OptionSpec {
        short: 'k',
        long: "iterations",
        value: Some("N"),
        doc: "times that the kernel runs (default 10)",
    },
];

/// Bytes that one core moves per nanosecond when it is alone. STREAM with one thread on servers of
/// the last ten years: 10 to 15 GB/s.
const STREAM_RATE: u64 = 12;

/// The triad: two arrays are read and one is written, each thread its part; all meet after each pass.
pub(crate) fn stream(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let threads = options.count("threads", 4, 100_000)?;
    let elements = options.count("elements", 10_000_000, 10_000_000_000)?;
    let iterations = options.count("iterations", 10, 1_000_000)?;
    let bytes = 24 * elements;
    let report = Report::Stream { bytes };
    let mut w = WorkloadBuilder::new(description.to_string(), report, End::AllExited);
    let metric = w.metric(Metric {
        name: "pass".into(),
        title: "Passes".into(),
        unit: MetricUnit::LatencyNs,
    });
    let meet = w.barrier(threads as u32);
    let part = Nanos(bytes / threads / STREAM_RATE);
    let pass = |p: ProgramBuilder| p.op(Op::Run(Span::around(part, 1))).op(Op::Barrier(meet));
    let stream = || {
        ProgramBuilder::new("stream")
            .bandwidth(STREAM_RATE as u32)
            .memory_bound(100)
    };
    let thread = w.program(stream().repeat(iterations as u32, pass).build());
    let main = (1..threads).fold(stream(), |p, _| p.op(Op::Fork(thread)));
    let main = main.repeat(iterations as u32, |p| {
        pass(p.op(Op::Begin(metric))).op(Op::End(metric))
    });
    let main = w.program(main.build());
    w.start(main);
    Ok(w.build())
}

pub(crate) const EBIZZY_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 't',
        long: "threads",
        value: Some("N"),
        doc: "threads (default 8)",
    },
    OptionSpec {
        short: 'S',
        long: "seconds",
        value: Some("SECONDS"),
        doc: "simulated time (default 1; the tool's own default is 10)",
    },
];

/// Threads that copy chunks of memory and look in them for a record, and now and then wait for each
/// other in the allocator.
pub(crate) fn ebizzy(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let threads = options.count("threads", 8, 1_000_000)?;
    let end = End::After(options.seconds("seconds", Nanos::from_secs(1))?);
    let mut w = WorkloadBuilder::new(description.to_string(), Report::Records, end);
    let metric = w.metric(Metric {
        name: "record".into(),
        title: "Records".into(),
        unit: MetricUnit::LatencyNs,
    });
    let heap = w.mutex();
    let thread = ProgramBuilder::new("ebizzy").repeat(0, |p| {
        p.op(Op::Begin(metric))
            // A chunk of 512 KiB is copied and searched.
            .op(Op::Run(Span::around(Nanos(60_000), 10)))
            .op(Op::Lock(heap))
            .op(Op::Run(Span::around(Nanos(400), 20)))
            .op(Op::Unlock(heap))
            .op(Op::End(metric))
    });
    let thread = w.program(thread.build());
    let main = (0..threads).fold(ProgramBuilder::new("ebizzy"), |p, _| p.op(Op::Fork(thread)));
    let main = w.program(main.build());
    w.start(main);
    Ok(w.build())
}
