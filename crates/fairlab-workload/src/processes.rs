//! Processes that come and go: lmbench's `lat_proc`, and a build.

use alloc::string::ToString;

use fairlab_units::Nanos;

use crate::options::{OptionError, OptionSpec, Options, WordSpec};
use crate::program::{Op, ProgramBuilder, ProgramId, Span};
use crate::workload::{End, Metric, MetricUnit, Report, Workload, WorkloadBuilder};

pub(crate) const LAT_PROC_WORD: Option<WordSpec> = Some(WordSpec {
    long: "what",
    value: "fork|exec|shell",
    doc: "fork+exit, fork+execve, or fork+/bin/sh (default fork)",
});
pub(crate) const LAT_PROC_OPTIONS: &[OptionSpec] = &[OptionSpec {
    short: 'N',
    long: "repetitions",
    value: Some("N"),
    doc: "processes one after another (default 1000)",
}];

/// First page faults and dynamic linking of a small program. `strace -c` and `perf stat` of
/// `/bin/true`: 300 to 500 us from fork to exit, the calls included.
const START_SMALL: Nanos = Nanos(120_000);
/// The same of a shell, which also reads its command.
const START_SHELL: Nanos = Nanos(350_000);

pub(crate) fn lat_proc(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let what = options.one_of("what", &["fork", "exec", "shell"], "fork, exec or shell")?;
    let repetitions = options.count("repetitions", 1_000, 10_000_000)?;
    let title = match what {
        "fork" => "Process fork+exit",
        "exec" => "Process fork+execve",
        _ => "Process fork+/bin/sh -c",
    };
    let report = Report::LatProc { title };
    let mut w = WorkloadBuilder::new(description.to_string(), report, End::AllExited);
    let metric = w.metric(Metric {
        name: "process".into(),
        title: title.into(),
        unit: MetricUnit::LatencyNs,
    });
    let start = |span| Op::Run(Span::around(span, 5));
    let hello = |process| {
        ProgramBuilder::new("hello")
            .process(process)
            .op(Op::Exec)
            .op(start(START_SMALL))
    };
    let child = match what {
        "fork" => ProgramBuilder::new("lat_proc").process(1),
        "exec" => hello(1),
        _ => {
            let command = w.program(hello(2).build());
            ProgramBuilder::new("sh")
                .process(1)
                .op(Op::Exec)
                .op(start(START_SHELL))
                .op(Op::Fork(command))
                .op(Op::WaitChildren(0))
        }
    };
    let child = w.program(child.build());
    let main = ProgramBuilder::new("lat_proc").repeat(repetitions as u32, |p| {
        p.op(Op::Begin(metric))
            .op(Op::Fork(child))
            .op(Op::WaitChildren(0))
            .op(Op::End(metric))
    });
    let main = w.program(main.build());
    w.start(main);
    Ok(w.build())
}

pub(crate) const KERNBENCH_OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'j',
        long: "jobs",
        value: Some("N"),
        doc: "compilations at a time (default 8)",
    },
    OptionSpec {
        short: 'n',
        long: "files",
        value: Some("N"),
        doc: "files to compile (default 200)",
    },
    OptionSpec {
        short: 'c',
        long: "compile_ms",
        value: Some("MS"),
        doc: "mean CPU time of a compilation (default 100)",
    },
];

/// `make -jN`: each job is a shell that runs a compiler driver, which runs a compiler and an assembler.
pub(crate) fn kernbench(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let jobs = options.count("jobs", 8, 100_000)?;
    let files = options.count("files", 200, 1_000_000)?;
    let compile = options.count("compile_ms", 100, 100_000)?;
    let end = End::AllExited;
    let mut w = WorkloadBuilder::new(description.to_string(), Report::Kernbench, end);
    let metric = w.metric(Metric {
        name: "job".into(),
        title: "Compilations".into(),
        unit: MetricUnit::LatencyNs,
    });
    let program = |name: &str, process: u32, work: Span| {
        ProgramBuilder::new(name)
            .process(process)
            .op(Op::Exec)
            .op(Op::Run(Span::around(START_SMALL, 10)))
            .op(Op::Run(work))
    };
    let assembler = w.program(program("as", 4, Span::around(Nanos::from_millis(4), 50)).build());
    let mean = Nanos::from_millis(compile);
    let compiler =
        program("cc1", 3, Span::around(Nanos(mean.0 / 2), 50)).op(Op::Run(Span::Exponential {
            mean: Nanos(mean.0 / 2),
        }));
    let compiler = w.program(compiler.build());
    let then = |p: ProgramBuilder, child: ProgramId| p.op(Op::Fork(child)).op(Op::WaitChildren(0));
    let driver = program("gcc", 2, Span::around(Nanos::from_micros(500), 20));
    let driver = w.program(then(then(driver, compiler), assembler).build());
    let shell = ProgramBuilder::new("sh")
        .process(1)
        .op(Op::Begin(metric))
        .op(Op::Exec)
        .op(Op::Run(Span::around(START_SHELL, 10)));
    let shell = w.program(then(shell, driver).op(Op::End(metric)).build());
    let make = ProgramBuilder::new("make")
        .repeat(files as u32, |p| {
            p.op(Op::Run(Span::around(Nanos::from_micros(300), 30)))
                .op(Op::Fork(shell))
                .op(Op::WaitChildren(jobs as u32 - 1))
        })
        .op(Op::WaitChildren(0));
    let make = w.program(make.build());
    w.start(make);
    Ok(w.build())
}
