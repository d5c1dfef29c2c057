//! `hogs`: tasks that only compute. With `--stacked` they all start on one CPU, and it is the
//! balancer's business to spread them.

use alloc::string::ToString;

use fairlab_units::Nanos;

use crate::options::{OptionError, OptionSpec, Options};
use crate::program::{Class, Op, Program, ProgramBuilder, Span};
use crate::workload::{End, Report, Workload, WorkloadBuilder};

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'n',
        long: "tasks",
        value: Some("N"),
        doc: "tasks (default 10)",
    },
    OptionSpec {
        short: 'r',
        long: "runtime",
        value: Some("SECONDS"),
        doc: "simulated time (default 1)",
    },
    OptionSpec {
        short: 'f',
        long: "fifo",
        value: Some("N"),
        doc: "beside them, SCHED_FIFO tasks that run 5 ms of every 10 (default 0)",
    },
    OptionSpec {
        short: 'N',
        long: "nice",
        value: Some("NICE"),
        doc: "nice value of the tasks, -20 to 19 (default 0)",
    },
    OptionSpec {
        short: 's',
        long: "stacked",
        value: None,
        doc: "all start on the first CPU, instead of being forked one by one",
    },
];

pub(crate) fn build(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let tasks = options.count("tasks", 10, 1_000_000)?;
    let runtime = options.seconds("runtime", Nanos::from_secs(1))?;
    let nice = options.nice("nice")?;
    let stacked = options.has("stacked");
    let fifo = options.number("fifo", 0, 0, 100_000)?;
    let end = End::After(runtime);
    let mut w = WorkloadBuilder::new(description.to_string(), Report::Plain, end).stacked(stacked);
    // A stretch of a second, of slightly different length for each: they never sleep.
    let stretch = Span::around(Nanos::from_secs(1), 5);
    let own = Program::OWN_PROCESS;
    let hog = ProgramBuilder::new("hog")
        .nice(nice)
        .process(own)
        .repeat(0, |p| p.op(Op::Run(stretch)));
    let hog = w.program(hog.build());
    let half = Span::Fixed(Nanos::from_millis(5));
    let realtime = ProgramBuilder::new("fifo")
        .class(Class::Fifo(50))
        .repeat(0, |p| p.op(Op::Run(half)).op(Op::Sleep(half)));
    let realtime = w.program(realtime.build());
    (0..fifo).for_each(|_| w.start(realtime));
    if stacked {
        (0..tasks).for_each(|_| w.start(hog));
    } else {
        let main = (0..tasks).fold(ProgramBuilder::new("hogs"), |p, _| p.op(Op::Fork(hog)));
        let main = w.program(main.build());
        w.start(main);
    }
    Ok(w.build())
}
