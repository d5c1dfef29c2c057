//! `schbench`: message threads wake workers, workers think.
//!
//! Two generations of the tool differ in what a worker does. The present one (`-n`, `-F`) sleeps
//! for the network and then multiplies matrices; the old one (`-c`) spins for a time, and its
//! message thread sleeps between rounds. Giving `-c` selects the old one.
//!
//! ```text
//!   message thread:  PostAll(list), Wait(own futex) [old: Sleep -s]
//!   worker:          Push(list), Post(message thread), Wait(own futex)   <- wakeup latency
//!                    new: Begin, Sleep -s, Run, End                      <- request latency
//!                    old: Run -c
//! ```
//!
//! With `-p` a worker only writes a buffer, and there is no request. With `-R` the message thread wakes
//! workers in turn, at a fixed rate and in batches of up to 8:
//!
//! ```text
//!   message thread:  Sleep(batch / rate), SemPost(worker 1), SemPost(worker 2), ...
//!   worker:          SemTake (request latency begins when it was posted), Run, End
//! ```
//!
//! Not modelled: the lock per CPU around the work (as with `--no-locking`).

use alloc::string::ToString;
use alloc::vec::Vec;

use fairlab_units::Nanos;

use crate::options::{OptionError, OptionSpec, Options};
use crate::program::{MetricId, Op, ProgramBuilder, Span};
use crate::workload::{End, Metric, MetricUnit, Report, Workload, WorkloadBuilder};

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'm',
        long: "message-threads",
        value: Some("N"),
        doc: "message threads (default 1)",
    },
    OptionSpec {
        short: 't',
        long: "threads",
        value: Some("N"),
        doc: "workers per message thread (default 16)",
    },
    OptionSpec {
        short: 'r',
        long: "runtime",
        value: Some("SECONDS"),
        doc: "simulated time (default 1; the tool's own default is 30)",
    },
    OptionSpec {
        short: 'w',
        long: "warmuptime",
        value: Some("SECONDS"),
        doc: "time before measuring starts (default a tenth of the runtime)",
    },
    OptionSpec {
        short: 's',
        long: "sleep_usec",
        value: Some("USEC"),
        doc: "simulated network time per request (default 100); with -c the pause of the message \
              thread (default 30000)",
    },
    OptionSpec {
        short: 'n',
        long: "operations",
        value: Some("N"),
        doc: "matrix operations per request (default 5)",
    },
    OptionSpec {
        short: 'F',
        long: "cache_footprint",
        value: Some("KB"),
        doc: "size of the matrices of a worker (default 256)",
    },
    OptionSpec {
        short: 'p',
        long: "pipe",
        value: Some("BYTES"),
        doc: "pipe test: workers do nothing but pass this many bytes on",
    },
    OptionSpec {
        short: 'R',
        long: "rps",
        value: Some("N"),
        doc: "requests per second in all, which the message threads hand out whether workers are done \
              or not",
    },
    OptionSpec {
        short: 'L',
        long: "no-locking",
        value: None,
        doc: "accepted: the lock per CPU around the work is not modelled",
    },
    OptionSpec {
        short: 'M',
        long: "message-cpus",
        value: Some("CPUS"),
        doc: "accepted: message threads are not bound to CPUs",
    },
    OptionSpec {
        short: 'W',
        long: "worker-cpus",
        value: Some("CPUS"),
        doc: "accepted: workers are not bound to CPUs",
    },
    OptionSpec {
        short: 'i',
        long: "intervaltime",
        value: Some("SECONDS"),
        doc: "accepted: there is one report, at the end",
    },
    OptionSpec {
        short: 'z',
        long: "zerotime",
        value: Some("SECONDS"),
        doc: "accepted, see --warmuptime",
    },
    OptionSpec {
        short: 'c',
        long: "cputime",
        value: Some("USEC"),
        doc: "old generation: think time of a worker (the tool's default was 30000)",
    },
];

/// CPU time of one multiply-add of the matrix product, where [`Op::Arithmetic`] has its usual speed.
const MULTIPLY_ADD_NS: u64 = 1;

/// Default slack of a timer (`prctl(PR_SET_TIMERSLACK)`): a sleep ends up to this much late.
const TIMER_SLACK: u64 = 50_000;

/// CPU time of the bookkeeping around a futex call.
const FUTEX_CALL: Nanos = Nanos(600);

pub(crate) fn build(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let messengers = options.count("message-threads", 1, 10_000)?;
    let workers = options.count("threads", 16, 100_000)?;
    let tasks = messengers * (workers + 1);
    let wanted = "a number that makes a million tasks at most in all";
    options.at_most("threads", tasks, 1_000_000, wanted)?;
    let runtime = options.seconds("runtime", Nanos::from_secs(1))?;
    let warmup = options.seconds("warmuptime", Nanos(runtime.0 / 10))?;
    let old = options.has("cputime");
    let sleep_us = options.number(
        "sleep_usec",
        if old { 30_000 } else { 100 },
        0,
        1_000_000_000,
    )?;
    let footprint = options.count("cache_footprint", 256, 1 << 20)?;
    let think = if old {
        Nanos::from_micros(options.count("cputime", 30_000, 1_000_000_000)?)
    } else {
        let operations = options.number("operations", 5, 0, 1_000_000)?;
        matrix_time(footprint) * operations
    };
    let pipe = match options.number("pipe", 0, 0, 1 << 20)? {
        0 => None,
        // Written on one side and read on the other.
        bytes => Some(Nanos(bytes.div_ceil(PIPE_RATE))),
    };
    let set = (!old && pipe.is_none()).then_some(footprint as u32);
    let rps = options.number("rps", 0, 0, 100_000_000)?;

    let end = End::After(warmup + runtime);
    let mut w = WorkloadBuilder::new(description.to_string(), Report::Schbench, end).warmup(warmup);
    let wakeup = w.metric(Metric {
        name: "wakeup_latency".into(),
        title: "Wakeup Latencies".into(),
        unit: MetricUnit::LatencyNs,
    });
    let request = (!old && pipe.is_none()).then(|| {
        w.metric(Metric {
            name: "request_latency".into(),
            title: "Request Latencies".into(),
            unit: MetricUnit::LatencyNs,
        })
    });
    // An ordinary spread of the work itself, so that workers do not march in step.
    let think = Span::around(think, 2);
    if rps > 0 {
        let (Some(request), gap) = (request, rps / messengers) else {
            return Err(OptionError::BadValue {
                option: "rps".to_string(),
                value: rps.to_string(),
                wanted: "the new generation without the pipe test (no -c, no -p)",
            });
        };
        let rate = Rate {
            messengers,
            workers,
            per_messenger: gap.max(1),
            think,
            set,
        };
        rate.write(&mut w, wakeup, request);
        return Ok(w.build());
    }
    let sleep = Nanos::from_micros(sleep_us);
    // The old message thread adds a jitter of up to a quarter.
    let sleep = if old {
        Span::Uniform {
            low: sleep,
            high: Nanos(sleep.0 + sleep.0 / 4 + TIMER_SLACK),
        }
    } else {
        Span::Uniform {
            low: sleep,
            high: Nanos(sleep.0 + TIMER_SLACK),
        }
    };

    let mut main = ProgramBuilder::new("schbench");
    for _ in 0..messengers {
        let (list, bell) = (w.list(), w.futex());
        let mut messenger = ProgramBuilder::new("schbench-msg");
        for _ in 0..workers {
            let futex = w.futex();
            let worker = worker(set).repeat(0, |p| {
                let p = p
                    .op(Op::Run(Span::Fixed(FUTEX_CALL)))
                    .op(Op::Push { list, futex })
                    .op(Op::Post(bell))
                    .op(Op::Wait {
                        futex,
                        latency: Some(wakeup),
                    });
                match request {
                    Some(request) => p
                        .op(Op::Begin(request))
                        .op(Op::Sleep(sleep))
                        .op(Op::Arithmetic(think))
                        .op(Op::End(request)),
                    None => p.op(Op::Run(pipe.map_or(think, Span::Fixed))),
                }
            });
            let worker = w.program(worker.build());
            messenger = messenger.op(Op::Fork(worker));
        }
        let messenger = messenger.repeat(0, |p| {
            let p = p.op(Op::Run(Span::Fixed(FUTEX_CALL))).op(Op::PostAll(list));
            let p = p.op(Op::Wait {
                futex: bell,
                latency: None,
            });
            if old && sleep_us > 0 {
                p.op(Op::Sleep(sleep))
            } else {
                p
            }
        });
        let messenger = w.program(messenger.build());
        main = main.op(Op::Fork(messenger));
    }
    let main = w.program(main.build());
    w.start(main);
    Ok(w.build())
}

/// Bytes that a core writes to its cache per nanosecond.
const PIPE_RATE: u64 = 16;

/// The mode of fixed rate.
struct Rate {
    messengers: u64,
    workers: u64,
    per_messenger: u64,
    think: Span,
    set: Option<u32>,
}

/// A worker whose matrices have `set` KiB.
fn worker(set: Option<u32>) -> ProgramBuilder {
    let worker = ProgramBuilder::new("schbench-worker");
    match set {
        Some(kib) => worker.working_set_kib(kib),
        None => worker,
    }
}

impl Rate {
    /// Requests that a message thread hands out together.
    const BATCH: u64 = 8;

    fn write(&self, w: &mut WorkloadBuilder, wakeup: MetricId, request: MetricId) {
        let batch = Self::BATCH.min(self.per_messenger.div_ceil(1_000)).max(1);
        let gap = Nanos(1_000_000_000 * batch / self.per_messenger);
        let mut main = ProgramBuilder::new("schbench");
        for _ in 0..self.messengers {
            let mut messenger = ProgramBuilder::new("schbench-msg");
            let mut inboxes = Vec::new();
            for _ in 0..self.workers {
                let inbox = w.semaphore(0);
                let worker = worker(self.set).repeat(0, |p| {
                    p.op(Op::Run(Span::Fixed(FUTEX_CALL)))
                        .op(Op::SemTake {
                            semaphore: inbox,
                            begins: request,
                            latency: Some(wakeup),
                        })
                        .op(Op::Arithmetic(self.think))
                        .op(Op::End(request))
                });
                let worker = w.program(worker.build());
                messenger = messenger.op(Op::Fork(worker));
                inboxes.push(inbox);
            }
            let messenger = messenger.repeat(0, |p| {
                inboxes.iter().enumerate().fold(p, |p, (i, inbox)| {
                    let p = if (i as u64).is_multiple_of(batch) {
                        p.op(Op::Sleep(Span::around(gap, 1)))
                    } else {
                        p
                    };
                    p.op(Op::Run(Span::Fixed(FUTEX_CALL)))
                        .op(Op::SemPost(*inbox))
                })
            });
            let messenger = w.program(messenger.build());
            main = main.op(Op::Fork(messenger));
        }
        let main = w.program(main.build());
        w.start(main);
    }
}

/// CPU time to multiply two square matrices that fill `kb` KiB together with their product.
fn matrix_time(kb: u64) -> Nanos {
    let side = (kb * 1024 / 3 / 8).isqrt();
    Nanos(side * side * side * MULTIPLY_ADD_NS)
}
