//! `perf bench sched`: a message goes to and fro through two pipes, or hackbench as perf has it.

use alloc::string::ToString;

use crate::hackbench::{self, pipe_spec};
use crate::options::{OptionError, OptionSpec, Options};
use crate::program::{Op, ProgramBuilder};
use crate::workload::{End, Metric, MetricUnit, Report, Workload, WorkloadBuilder};

pub(crate) const PIPE_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'l',
        long: "loop",
        value: Some("N"),
        doc: "messages to and fro (default 100000; the tool's own default is 1000000)",
    },
    OptionSpec {
        short: 'T',
        long: "threaded",
        value: None,
        doc: "threads instead of processes",
    },
];

pub(crate) fn pipe(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let loops = options.count("loop", 100_000, 100_000_000)?;
    let threads = options.has("threaded");
    let report = Report::PerfPipe {
        operations: loops,
        threads,
    };
    let mut w = WorkloadBuilder::new(description.to_string(), report, End::AllExited);
    let metric = w.metric(Metric {
        name: "operation".into(),
        title: "Pipe operations".into(),
        unit: MetricUnit::LatencyNs,
    });
    // The message is an int.
    let (to, fro) = (w.pipe(pipe_spec(4)), w.pipe(pipe_spec(4)));
    let other = ProgramBuilder::new("sched-pipe")
        .process(if threads { 0 } else { 1 })
        .repeat(loops as u32, |p| p.op(Op::Read(to)).op(Op::Write(fro)));
    let other = w.program(other.build());
    let main = ProgramBuilder::new("sched-pipe")
        .op(Op::Fork(other))
        .repeat(loops as u32, |p| {
            p.op(Op::Begin(metric))
                .op(Op::Write(to))
                .op(Op::Read(fro))
                .op(Op::End(metric))
        })
        .op(Op::WaitChildren(0));
    let main = w.program(main.build());
    w.start(main);
    Ok(w.build())
}

pub(crate) const MESSAGING_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'g',
        long: "group",
        value: Some("N"),
        doc: "groups of 20 senders and 20 receivers (default 10)",
    },
    OptionSpec {
        short: 'l',
        long: "nr_loops",
        value: Some("N"),
        doc: "messages of each sender to each receiver (default 100)",
    },
    OptionSpec {
        short: 'p',
        long: "pipe",
        value: None,
        doc: "pipes instead of sockets",
    },
    OptionSpec {
        short: 't',
        long: "thread",
        value: None,
        doc: "threads instead of processes",
    },
];

pub(crate) fn messaging(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let threads = options.has("thread");
    let shape = hackbench::Shape {
        groups: options.count("group", 10, 1_000)?,
        fds: 20,
        loops: options.count("nr_loops", 100, 1_000_000)?,
        bytes: 100,
        threads,
        pipe: options.has("pipe"),
    };
    let report = Report::PerfMessaging {
        groups: shape.groups as u32,
        threads,
    };
    Ok(shape.workload(description, report))
}
