//! `hackbench`: in each group every sender writes every message to every receiver.
//!
//! ```text
//!   main:      Fork all receivers and senders, Barrier, Begin, WaitChildren, End
//!   sender:    Barrier, loops x { Write(pipe of receiver 1), ..., Write(pipe of receiver f) }
//!   receiver:  Barrier, loops x f x { Read(own pipe) }
//! ```

use alloc::string::ToString;
use alloc::vec::Vec;

use crate::options::{OptionError, OptionSpec, Options};
use crate::program::{Op, PipeId, ProgramBuilder};
use crate::workload::{
    Channel, End, Metric, MetricUnit, PipeSpec, Report, Workload, WorkloadBuilder,
};

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'g',
        long: "groups",
        value: Some("N"),
        doc: "groups (default 10)",
    },
    OptionSpec {
        short: 'f',
        long: "fds",
        value: Some("N"),
        doc: "senders, and receivers, per group (default 20)",
    },
    OptionSpec {
        short: 'l',
        long: "loops",
        value: Some("N"),
        doc: "messages of each sender to each receiver (default 100)",
    },
    OptionSpec {
        short: 's',
        long: "datasize",
        value: Some("BYTES"),
        doc: "size of a message (default 100)",
    },
    OptionSpec {
        short: 'p',
        long: "pipe",
        value: None,
        doc: "pipes instead of sockets",
    },
    OptionSpec {
        short: 'T',
        long: "threads",
        value: None,
        doc: "threads instead of processes",
    },
    OptionSpec {
        short: 'P',
        long: "process",
        value: None,
        doc: "processes (the default)",
    },
];

pub(crate) fn build(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let groups = options.count("groups", 10, 10_000)?;
    let fds = options.count("fds", 20, 1_000)?;
    let loops = options.count("loops", 100, 1_000_000)?;
    let bytes = options.count("datasize", 100, 1 << 20)?;
    // Every sender has an operation for every receiver of its group.
    let wanted = "a number that makes 20 million pairs of sender and receiver at most in all";
    options.at_most("groups", groups * fds * fds, 20_000_000, wanted)?;
    let shape = Shape {
        groups,
        fds,
        loops,
        bytes,
        threads: options.has("threads"),
        pipe: options.has("pipe"),
    };
    Ok(shape.workload(description, Report::Hackbench))
}

/// What is sent, and by how many.
pub(crate) struct Shape {
    pub(crate) groups: u64,
    pub(crate) fds: u64,
    pub(crate) loops: u64,
    pub(crate) bytes: u64,
    pub(crate) threads: bool,
    pub(crate) pipe: bool,
}

impl Shape {
    pub(crate) fn workload(&self, description: &str, report: Report) -> Workload {
        let &Self {
            groups,
            fds,
            loops,
            bytes,
            threads,
            pipe,
        } = self;
        let pipe = if pipe {
            pipe_spec(bytes)
        } else {
            socket_spec(bytes)
        };

        let mut w = WorkloadBuilder::new(description.to_string(), report, End::AllExited);
        // What the tool prints: from the moment when all are there until the last one is gone.
        let messages = w.metric(Metric {
            name: "messages".into(),
            title: "Messages".into(),
            unit: MetricUnit::LatencyNs,
        });
        let ready = w.barrier(u32::try_from(groups * fds * 2 + 1).unwrap_or(u32::MAX));
        let mut main = ProgramBuilder::new("hackbench");
        let mut process = 0;
        let mut next_process = || {
            process += u32::from(!threads);
            process
        };
        for _ in 0..groups {
            let pipes: Vec<PipeId> = (0..fds).map(|_| w.pipe(pipe)).collect();
            for pipe in &pipes {
                let reads = u32::try_from(loops * fds).unwrap_or(u32::MAX);
                let receiver = ProgramBuilder::new("hackbench")
                    .process(next_process())
                    .op(Op::Barrier(ready))
                    .repeat(reads, |p| p.op(Op::Read(*pipe)));
                let receiver = w.program(receiver.build());
                main = main.op(Op::Fork(receiver));
            }
            for _ in 0..fds {
                let sender = ProgramBuilder::new("hackbench")
                    .process(next_process())
                    .op(Op::Barrier(ready))
                    .repeat(u32::try_from(loops).unwrap_or(u32::MAX), |p| {
                        pipes.iter().fold(p, |p, pipe| p.op(Op::Write(*pipe)))
                    });
                let sender = w.program(sender.build());
                main = main.op(Op::Fork(sender));
            }
        }
        let main = main
            .op(Op::Barrier(ready))
            .op(Op::Begin(messages))
            .op(Op::WaitChildren(0))
            .op(Op::End(messages));
        let main = w.program(main.build());
        w.start(main);
        w.build()
    }
}

/// A unix stream socket with default buffers: 212992 bytes (`net.core.wmem_default`), of which a
/// small message takes about 768 with its descriptor. Writers wake when half is free.
fn socket_spec(bytes: u64) -> PipeSpec {
    let truesize = 768.max(bytes.next_power_of_two() + 576);
    let capacity = u32::try_from((212_992 / truesize).max(1)).unwrap_or(1);
    PipeSpec {
        capacity,
        wake_writers_at: capacity / 2,
        channel: Channel::Unix { bytes },
        sync: true,
    }
}

/// A pipe of 16 pages; small messages share a page. Writers wake when a page is free.
pub(crate) fn pipe_spec(bytes: u64) -> PipeSpec {
    let per_page = (4096 / bytes).max(1);
    let capacity = u32::try_from((65_536 / bytes).min(16 * per_page).max(1)).unwrap_or(1);
    PipeSpec {
        capacity,
        wake_writers_at: capacity.saturating_sub(u32::try_from(per_page).unwrap_or(1)),
        channel: Channel::Pipe { bytes },
        sync: true,
    }
}
