//! Clients and servers that talk over loopback: `tbench`, `netperf`, `oltp`.
//!
//! ```text
//!   client:  Begin, think, Write(request), Read(reply), End      (tbench, *_RR, oltp)
//!            tbench, *_RR: after a barrier that all clients meet at
//!   server:  Read(request), work, Write(reply)
//!   stream:  client Writes without end, server Reads             (*_STREAM)
//! ```

use alloc::string::ToString;

use fairlab_units::Nanos;

use crate::options::{OptionError, OptionSpec, Options, WordSpec};
use crate::program::{Op, PipeId, ProgramBuilder, Span};
use crate::workload::{
    Channel, End, Metric, MetricUnit, PipeSpec, Report, Workload, WorkloadBuilder,
};

/// Bytes of an operation of tbench, both ways together: reads and writes of its load file carry a few
/// KiB, the many others next to nothing.
const TBENCH_BYTES: u64 = 2_048;

/// What a tbench client computes between two operations.
const TBENCH_THINK: Nanos = Nanos(2_000);

/// Default size of a socket's buffer (`net.core.wmem_default`).
const BUFFER: u64 = 212_992;

fn tcp(bytes: u64) -> PipeSpec {
    socket(Channel::Tcp { bytes }, bytes)
}

fn socket(channel: Channel, bytes: u64) -> PipeSpec {
    // A small packet takes about 768 bytes of the buffer with its descriptor.
    let capacity = (BUFFER / bytes.max(768)).clamp(1, 10_000) as u32;
    PipeSpec {
        capacity,
        wake_writers_at: capacity / 2,
        channel,
        sync: true,
    }
}

const SECONDS: OptionSpec = OptionSpec {
    short: 't',
    long: "runtime",
    value: Some("SECONDS"),
    doc: "simulated time (default 1; the tool's own default is 600)",
};

pub(crate) const TBENCH_WORD: Option<WordSpec> = Some(WordSpec {
    long: "clients",
    value: "N",
    doc: "clients, each with a server (default 1)",
});
pub(crate) const TBENCH_OPTIONS: &[OptionSpec] = &[SECONDS];

pub(crate) fn tbench(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let clients = options.count("clients", 1, 100_000)?;
    let runtime = options.seconds("runtime", Nanos::from_secs(1))?;
    let report = Report::Tbench {
        clients: clients as u32,
        bytes: TBENCH_BYTES,
    };
    let pair = Pair {
        client: "tbench",
        server: "tbench_srv",
        spec: tcp(TBENCH_BYTES / 2),
        think: Span::around(TBENCH_THINK, 20),
        work: Span::around(Nanos(500), 20),
    };
    Ok(pair.workload(description, report, clients, runtime))
}

/// Time to start a process, about a fork, and time until the started ones run steadily; neither is measured.
const STARTING: Nanos = Nanos(70_000);
const SETTLING: Nanos = Nanos(8_000_000);

/// What a process computes when it has been started: its program is loaded and linked, and reads its
/// files. lmbench `lat_proc exec` takes 0.8 to 1.2 ms longer than `lat_proc fork`. Processes that slept
/// at once would all be placed where the first one was.
const LOADING: Span = Span::around(Nanos(1_000_000), 20);

/// A process that has been started.
fn process(name: &str, number: u32) -> ProgramBuilder {
    ProgramBuilder::new(name)
        .process(number)
        .op(Op::Run(LOADING))
}

/// Clients and servers in pairs. The clients begin together, when all have been started.
struct Pair {
    client: &'static str,
    server: &'static str,
    spec: PipeSpec,
    think: Span,
    work: Span,
}

impl Pair {
    fn workload(&self, description: &str, report: Report, pairs: u64, runtime: Nanos) -> Workload {
        let warmup = Nanos(SETTLING.0 + 2 * pairs * STARTING.0);
        let end = End::After(warmup + runtime);
        let mut w = WorkloadBuilder::new(description.to_string(), report, end).warmup(warmup);
        let ready = w.barrier(pairs as u32 + 1);
        let metric = w.metric(Metric {
            name: "transaction".into(),
            title: "Transactions".into(),
            unit: MetricUnit::LatencyNs,
        });
        let mut main = ProgramBuilder::new("sh");
        for pair in 0..pairs as u32 {
            let (request, reply) = (w.pipe(self.spec), w.pipe(self.spec));
            let server = process(self.server, 1 + 2 * pair).repeat(0, |p| {
                p.op(Op::Read(request))
                    .op(Op::Run(self.work))
                    .op(Op::Write(reply))
            });
            let client = process(self.client, 2 + 2 * pair)
                .op(Op::Barrier(ready))
                .repeat(0, |p| {
                    p.op(Op::Begin(metric))
                        .op(Op::Run(self.think))
                        .op(Op::Write(request))
                        .op(Op::Read(reply))
                        .op(Op::End(metric))
                });
            let (server, client) = (w.program(server.build()), w.program(client.build()));
            main = main.op(Op::Fork(server)).op(Op::Fork(client));
        }
        let main = w.program(main.op(Op::Barrier(ready)).build());
        w.start(main);
        w.build()
    }
}

pub(crate) const NETPERF_WORD: Option<WordSpec> = Some(WordSpec {
    long: "pairs",
    value: "N",
    doc: "clients, each with a server (default 1)",
});
pub(crate) const NETPERF_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 't',
        long: "test",
        value: Some("TEST"),
        doc: "TCP_RR, UDP_RR, TCP_STREAM or UDP_STREAM (default TCP_RR)",
    },
    OptionSpec {
        short: 'm',
        long: "size",
        value: Some("BYTES"),
        doc: "size of a message (default 1 for *_RR, 16384 for *_STREAM)",
    },
    OptionSpec {
        short: 'l',
        long: "length",
        value: Some("SECONDS"),
        doc: "simulated time (default 1; the tool's own default is 10)",
    },
];

pub(crate) fn netperf(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let pairs = options.count("pairs", 1, 100_000)?;
    let runtime = options.seconds("length", Nanos::from_secs(1))?;
    let tests = ["TCP_RR", "UDP_RR", "TCP_STREAM", "UDP_STREAM"];
    let test = options.one_of("test", &tests, "TCP_RR, UDP_RR, TCP_STREAM or UDP_STREAM")?;
    let is_stream = test.ends_with("STREAM");
    let default = if is_stream { 16_384 } else { 1 };
    let bytes = options.count("size", default, 1 << 20)?;
    let spec = if test.starts_with("TCP") {
        tcp(bytes)
    } else {
        socket(Channel::Udp { bytes }, bytes)
    };
    let report = Report::Netperf {
        test,
        bytes: if is_stream { bytes } else { 0 },
    };
    if !is_stream {
        let pair = Pair {
            client: "netperf",
            server: "netserver",
            spec,
            think: Span::around(Nanos(300), 20),
            work: Span::around(Nanos(300), 20),
        };
        return Ok(pair.workload(description, report, pairs, runtime));
    }
    let end = End::After(runtime);
    let mut w = WorkloadBuilder::new(description.to_string(), report, end);
    let metric = w.metric(Metric {
        name: "receive".into(),
        title: "Messages received".into(),
        unit: MetricUnit::LatencyNs,
    });
    let mut main = ProgramBuilder::new("sh");
    for pair in 0..pairs as u32 {
        let pipe: PipeId = w.pipe(spec);
        let server = process("netserver", 1 + 2 * pair).repeat(0, |p| {
            p.op(Op::Begin(metric))
                .op(Op::Read(pipe))
                .op(Op::End(metric))
        });
        let client = process("netperf", 2 + 2 * pair).repeat(0, |p| p.op(Op::Write(pipe)));
        let (server, client) = (w.program(server.build()), w.program(client.build()));
        main = main.op(Op::Fork(server)).op(Op::Fork(client));
    }
    let main = w.program(main.build());
    w.start(main);
    Ok(w.build())
}

pub(crate) const OLTP_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 't',
        long: "threads",
        value: Some("N"),
        doc: "client threads, each with a server thread (default 8)",
    },
    OptionSpec {
        short: 'q',
        long: "query_usec",
        value: Some("USEC"),
        doc: "CPU time of a query in the server (default 80)",
    },
    OptionSpec {
        short: 'w',
        long: "write_percent",
        value: Some("PCT"),
        doc: "transactions that wait until the log is written (default 30)",
    },
    OptionSpec {
        short: 'r',
        long: "runtime",
        value: Some("SECONDS"),
        doc: "simulated time (default 1)",
    },
];

/// Queries of a transaction.
const QUERIES: u32 = 10;

/// Writing the log: what the log's thread computes for a write, and what the device takes.
const LOG_WRITE: Span = Span::around(Nanos(5_000), 20);
const LOG_DEVICE: Span = Span::around(Nanos(100_000), 50);

/// A database: queries one by one over a socket, then a commit that some transactions wait for. As in MySQL 8
/// the log has a thread of its own, which writes for all that wait and then wakes them. Who comes while
/// the device works is taken along by the same write.
pub(crate) fn oltp(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let threads = options.count("threads", 8, 100_000)?;
    let query = options.count("query_usec", 80, 1_000_000)?;
    let writes = options.number("write_percent", 30, 0, 100)?;
    let runtime = options.seconds("runtime", Nanos::from_secs(1))?;
    let end = End::After(runtime);
    let mut w = WorkloadBuilder::new(description.to_string(), Report::Oltp, end);
    let metric = w.metric(Metric {
        name: "transaction".into(),
        title: "Transactions".into(),
        unit: MetricUnit::LatencyNs,
    });
    let (log, waiting) = (w.futex(), w.list());
    let spec = tcp(256);
    let query = Span::Exponential {
        mean: Nanos::from_micros(query),
    };
    let writer = ProgramBuilder::new("log-writer").process(1).repeat(0, |p| {
        p.op(Op::Wait {
            futex: log,
            latency: None,
        })
        .op(Op::Run(LOG_WRITE))
        .op(Op::Sleep(LOG_DEVICE))
        .op(Op::PostAll(waiting))
    });
    let writer = w.program(writer.build());
    let mut main = ProgramBuilder::new("sh").op(Op::Fork(writer));
    for _ in 0..threads {
        let (request, reply) = (w.pipe(spec), w.pipe(spec));
        let written = w.futex();
        // Of a hundred transactions, `writes` wait for the log.
        let transaction = |p: ProgramBuilder, writes: bool| {
            let p = p.repeat(QUERIES, |p| {
                p.op(Op::Read(request))
                    .op(Op::Run(query))
                    .op(Op::Write(reply))
            });
            let p = p.op(Op::Read(request));
            let p = if writes {
                p.op(Op::Push {
                    list: waiting,
                    futex: written,
                })
                .op(Op::Post(log))
                .op(Op::Wait {
                    futex: written,
                    latency: None,
                })
            } else {
                p
            };
            p.op(Op::Write(reply))
        };
        let server = ProgramBuilder::new("mysqld").process(1).repeat(0, |p| {
            // Spread evenly: the i-th is one when the share of writes passes a whole number there.
            (0..100).fold(p, |p, i| {
                transaction(p, (i + 1) * writes / 100 > i * writes / 100)
            })
        });
        let client = ProgramBuilder::new("sysbench").process(2).repeat(0, |p| {
            p.op(Op::Begin(metric))
                .repeat(QUERIES + 1, |p| {
                    p.op(Op::Run(Span::around(Nanos(3_000), 20)))
                        .op(Op::Write(request))
                        .op(Op::Read(reply))
                })
                .op(Op::End(metric))
        });
        let (server, client) = (w.program(server.build()), w.program(client.build()));
        main = main.op(Op::Fork(server)).op(Op::Fork(client));
    }
    let main = w.program(main.build());
    w.start(main);
    Ok(w.build())
}
