//! Loads with a rhythm: periodic tasks, services whose requests arrive by chance, frames of a game.

use alloc::string::ToString;

use fairlab_units::Nanos;

use crate::options::{OptionError, OptionSpec, Options};
use crate::program::{Op, ProgramBuilder, Span, TimerOrigin, TimerSpec};
use crate::workload::{End, Metric, MetricUnit, Report, Workload, WorkloadBuilder};

const RUNTIME: OptionSpec = OptionSpec {
    short: 'r',
    long: "runtime",
    value: Some("SECONDS"),
    doc: "simulated time (default 1)",
};

/// Slack of the timers of ordinary tasks.
const TIMER_SLACK: Nanos = Nanos(50_000);

pub(crate) const PERIODIC_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'n',
        long: "tasks",
        value: Some("N"),
        doc: "tasks (default 4)",
    },
    OptionSpec {
        short: 'p',
        long: "period_usec",
        value: Some("USEC"),
        doc: "from one activation to the next (default 10000)",
    },
    OptionSpec {
        short: 'c',
        long: "run_usec",
        value: Some("USEC"),
        doc: "CPU time of an activation (default 2000)",
    },
    OptionSpec {
        short: 'N',
        long: "nice",
        value: Some("NICE"),
        doc: "nice value of the tasks, -20 to 19 (default 0)",
    },
    RUNTIME,
];

pub(crate) fn periodic(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let tasks = options.count("tasks", 4, 1_000_000)?;
    let period = Nanos::from_micros(options.count("period_usec", 10_000, 100_000_000)?);
    let run = Nanos::from_micros(options.count("run_usec", 2_000, 100_000_000)?);
    let nice = options.nice("nice")?;
    let end = End::After(options.seconds("runtime", Nanos::from_secs(1))?);
    let mut w = WorkloadBuilder::new(description.to_string(), Report::Plain, end);
    let metric = w.metric(Metric {
        name: "activation".into(),
        title: "Activations".into(),
        unit: MetricUnit::LatencyNs,
    });
    let timer = w.timer(TimerSpec {
        is_unique: true,
        is_absolute: true,
        origin: TimerOrigin::FirstUse,
    });
    let task = ProgramBuilder::new("periodic")
        .nice(nice)
        .timer_slack(TIMER_SLACK)
        // They do not all begin at once.
        .op(Op::Sleep(Span::Uniform {
            low: Nanos::ZERO,
            high: period,
        }))
        .repeat(0, |p| {
            p.op(Op::Begin(metric))
                .op(Op::Run(Span::around(run, 2)))
                .op(Op::End(metric))
                .op(Op::Timer { timer, period })
        });
    let task = w.program(task.build());
    let main = (0..tasks).fold(ProgramBuilder::new("sh"), |p, _| p.op(Op::Fork(task)));
    let main = w.program(main.build());
    w.start(main);
    Ok(w.build())
}

pub(crate) const SERVICE_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'w',
        long: "workers",
        value: Some("N"),
        doc: "threads that serve requests (default 16)",
    },
    OptionSpec {
        short: 'R',
        long: "rps",
        value: Some("N"),
        doc: "requests per second on average, at random times (default 1000)",
    },
    OptionSpec {
        short: 'c',
        long: "run_usec",
        value: Some("USEC"),
        doc: "mean CPU time of a request (default 500)",
    },
    OptionSpec {
        short: 'b',
        long: "burst",
        value: Some("N"),
        doc: "requests that arrive together (default 1)",
    },
    OptionSpec {
        short: 'e',
        long: "even",
        value: None,
        doc: "requests of equal length at equal distances, instead of exponential ones",
    },
    RUNTIME,
];

pub(crate) fn service(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let workers = options.count("workers", 16, 1_000_000)?;
    let rps = options.count("rps", 1_000, 100_000_000)?;
    let run = Nanos::from_micros(options.count("run_usec", 500, 100_000_000)?);
    let burst = options.count("burst", 1, 1_000_000)?;
    let end = End::After(options.seconds("runtime", Nanos::from_secs(1))?);
    let mut w = WorkloadBuilder::new(description.to_string(), Report::Schbench, end);
    let wakeup = w.metric(Metric {
        name: "wakeup_latency".into(),
        title: "Wakeup Latencies".into(),
        unit: MetricUnit::LatencyNs,
    });
    let request = w.metric(Metric {
        name: "request_latency".into(),
        title: "Request Latencies".into(),
        unit: MetricUnit::LatencyNs,
    });
    let queue = w.semaphore(0);
    let span = |mean: Nanos| {
        if options.has("even") {
            Span::around(mean, 2)
        } else {
            Span::Exponential { mean }
        }
    };
    let worker = ProgramBuilder::new("worker").repeat(0, |p| {
        p.op(Op::SemTake {
            semaphore: queue,
            begins: request,
            latency: Some(wakeup),
        })
        .op(Op::Run(span(run)))
        .op(Op::End(request))
    });
    let worker = w.program(worker.build());
    let gap = Nanos(1_000_000_000 * burst / rps);
    let main = (0..workers).fold(ProgramBuilder::new("acceptor"), |p, _| {
        p.op(Op::Fork(worker))
    });
    let main = main.repeat(0, |p| {
        p.op(Op::Sleep(span(gap)))
            .op(Op::Run(Span::Fixed(Nanos(1_000))))
            .repeat(burst as u32, |p| p.op(Op::SemPost(queue)))
    });
    let main = w.program(main.build());
    w.start(main);
    Ok(w.build())
}

pub(crate) const FRAMES_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'f',
        long: "fps",
        value: Some("N"),
        doc: "frames per second (default 60)",
    },
    OptionSpec {
        short: 'w',
        long: "workers",
        value: Some("N"),
        doc: "threads that share the jobs of a frame (default 4)",
    },
    OptionSpec {
        short: 'l',
        long: "load_percent",
        value: Some("PCT"),
        doc: "part of a frame's time that its longest chain computes (default 60)",
    },
    RUNTIME,
];

/// A game: per frame the game thread computes, its workers share jobs, the render thread draws; audio
/// beside it.
pub(crate) fn frames(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let fps = options.count("fps", 60, 10_000)?;
    let workers = options.count("workers", 4, 10_000)?;
    let load = options.count("load_percent", 60, 1_000)?;
    let end = End::After(options.seconds("runtime", Nanos::from_secs(1))?);
    let mut w = WorkloadBuilder::new(description.to_string(), Report::Schbench, end);
    let frame = w.metric(Metric {
        name: "frame_time".into(),
        title: "Frame Times".into(),
        unit: MetricUnit::LatencyNs,
    });
    let period = Nanos(1_000_000_000 / fps);
    let part = |percent: u64| Span::around(Nanos(period.0 * load / 100 * percent / 100), 20);
    let (jobs, done, draw) = (w.semaphore(0), w.semaphore(0), w.semaphore(0));
    let timer = w.timer(TimerSpec {
        is_unique: true,
        is_absolute: false,
        origin: TimerOrigin::FirstUse,
    });
    let worker = ProgramBuilder::new("job-worker").repeat(0, |p| {
        p.op(Op::SemWait(jobs))
            .op(Op::Run(part(25)))
            .op(Op::SemPost(done))
    });
    let render = ProgramBuilder::new("render").repeat(0, |p| {
        p.op(Op::SemTake {
            semaphore: draw,
            begins: frame,
            latency: None,
        })
        .op(Op::Run(part(35)))
        .op(Op::End(frame))
    });
    let audio = ProgramBuilder::new("audio").nice(-10).repeat(0, |p| {
        p.op(Op::Run(Span::around(Nanos::from_micros(300), 10)))
            .op(Op::Timer {
                timer,
                period: Nanos::from_millis(10),
            })
    });
    let (worker, render, audio) = (
        w.program(worker.build()),
        w.program(render.build()),
        w.program(audio.build()),
    );
    let game = ProgramBuilder::new("game")
        .op(Op::Fork(render))
        .op(Op::Fork(audio));
    let game = (0..workers).fold(game, |p, _| p.op(Op::Fork(worker)));
    let game = game.repeat(0, |p| {
        p.op(Op::Run(part(40)))
            .repeat(workers as u32, |p| p.op(Op::SemPost(jobs)))
            .repeat(workers as u32, |p| p.op(Op::SemWait(done)))
            .op(Op::SemPost(draw))
            .op(Op::Timer { timer, period })
    });
    let game = w.program(game.build());
    w.start(game);
    Ok(w.build())
}
