//! UnixBench: copies of a small test side by side, passes per second.

use alloc::string::ToString;

use fairlab_units::Nanos;

use crate::hackbench::pipe_spec;
use crate::options::{OptionError, OptionSpec, Options, WordSpec};
use crate::program::{Op, Program, ProgramBuilder, Span};
use crate::workload::{End, Metric, MetricUnit, Report, Workload, WorkloadBuilder};

pub(crate) const WORD: Option<WordSpec> = Some(WordSpec {
    long: "test",
    value: "context1|spawn|execl|dhry2reg",
    doc: "two processes that pass a number to and fro, processes that only come and go, the same with \
          execve, or computing (default context1)",
});
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        short: 'c',
        long: "copies",
        value: Some("N"),
        doc: "copies of the test (default 1)",
    },
    OptionSpec {
        short: 'r',
        long: "runtime",
        value: Some("SECONDS"),
        doc: "simulated time (default 1; the tool's own is 10 to 60)",
    },
];

/// A thousand rounds of dhrystone, of some 30 ns each.
const DHRYSTONES: Nanos = Nanos(30_000);

pub(crate) fn build(options: &Options, description: &str) -> Result<Workload, OptionError> {
    let tests = ["context1", "spawn", "execl", "dhry2reg"];
    let test = options.one_of("test", &tests, "context1, spawn, execl or dhry2reg")?;
    let copies = options.count("copies", 1, 100_000)?;
    let end = End::After(options.seconds("runtime", Nanos::from_secs(1))?);
    let mut w = WorkloadBuilder::new(description.to_string(), Report::Records, end);
    let metric = w.metric(Metric {
        name: "pass".into(),
        title: "Passes".into(),
        unit: MetricUnit::LatencyNs,
    });
    let own = Program::OWN_PROCESS;
    let exits = w.program(ProgramBuilder::new("spawn").process(own).build());
    let mut main = ProgramBuilder::new("sh");
    for _ in 0..copies {
        let copy = ProgramBuilder::new(test).process(own);
        let copy = match test {
            "context1" => {
                let (to, fro) = (w.pipe(pipe_spec(4)), w.pipe(pipe_spec(4)));
                let other = ProgramBuilder::new(test)
                    .process(own)
                    .repeat(0, |p| p.op(Op::Read(to)).op(Op::Write(fro)));
                let other = w.program(other.build());
                copy.op(Op::Fork(other)).repeat(0, |p| {
                    let p = p.op(Op::Begin(metric)).op(Op::Write(to));
                    p.op(Op::Read(fro)).op(Op::End(metric))
                })
            }
            "spawn" => copy.repeat(0, |p| {
                let p = p.op(Op::Begin(metric)).op(Op::Fork(exits));
                p.op(Op::WaitChildren(0)).op(Op::End(metric))
            }),
            "execl" => copy.repeat(0, |p| {
                let p = p.op(Op::Begin(metric)).op(Op::Exec);
                p.op(Op::End(metric))
            }),
            _ => copy.repeat(0, |p| {
                let p = p.op(Op::Begin(metric));
                p.op(Op::Run(Span::around(DHRYSTONES, 2)))
                    .op(Op::End(metric))
            }),
        };
        let copy = w.program(copy.build());
        main = main.op(Op::Fork(copy));
    }
    let main = w.program(main.build());
    w.start(main);
    Ok(w.build())
}
