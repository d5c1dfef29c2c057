//! A simulated run that was written to a file and read again is asked about as the run itself.

use fairlab_audit::{Agreement, WhatIf, WhatIfOptions};
use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::Kernel;
use fairlab_machines::{LoadOptions, load};
use fairlab_sim::{Observer, SimOptions, run};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_topology::{Domains, Machine};
use fairlab_trace::{About, Names, TraceWriter, WriteFormat, from_bytes};
use fairlab_units::{TaskId, Timestamp};
use fairlab_workload::parse;

#[derive(Default)]
struct Events(Vec<SchedEvent>);

impl Observer for Events {
    fn event(&mut self, event: &SchedEvent) {
        self.0.push(*event);
    }
}

/// The events of a run as a file can have them: task 0 is the idle one there, and the idle CPUs are told
/// first.
fn for_a_file(machine: &Machine, events: &[SchedEvent]) -> Vec<SchedEvent> {
    let idle = machine.cpus().iter().map(|cpu| SchedEvent {
        time: Timestamp(0),
        cpu: cpu.id,
        kind: EventKind::CpuIdle { state: Some(0) },
    });
    let shifted = events.iter().map(|event| SchedEvent {
        time: Timestamp(event.time.0.max(1)),
        cpu: event.cpu,
        kind: event.kind.with_tasks(|task| TaskId(task.0 + 1)),
    });
    idle.chain(shifted).collect()
}

fn written_and_read(format: WriteFormat, events: &[SchedEvent], nr_cpus: u32) -> Vec<SchedEvent> {
    let about = About {
        nr_cpus,
        release: "6.12.0-simulated".into(),
        machine: "x86_64".into(),
        title: "a test".into(),
    };
    let names = Names::default();
    let mut writer = TraceWriter::new(format, &about, Vec::new());
    for event in events {
        writer.event(event, &names).unwrap();
    }
    let (bytes, _) = writer.finish(&names).unwrap();
    from_bytes("a test", bytes).unwrap().collect()
}

fn ask(machine: &Machine, domains: &Domains, kernel: Kernel, events: &[SchedEvent]) -> Agreement {
    let mut what_if = WhatIf::new(machine, domains, kernel, WhatIfOptions::default());
    for event in events {
        what_if.event(event);
    }
    let answer = what_if.finish();
    assert_eq!(answer.contradictions, 0, "{kernel}");
    answer.agreement(|_| true)
}

#[test]
fn what_was_written_to_a_file_answers_as_the_run_itself() {
    let machine = load("2s:2l:4c:2t", &LoadOptions::default()).unwrap();
    let workload = parse("schbench -m 2 -t 8 -r 0.05").unwrap();
    for kernel in ["5.15", "6.12"] {
        let kernel: Kernel = kernel.parse().unwrap();
        let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
        let mut told = Events::default();
        let options = SimOptions::new(kernel, 5);
        run(&machine, &domains, &workload, &options, &mut told, None).unwrap();
        let events = for_a_file(&machine, &told.0);
        let direct = ask(&machine, &domains, kernel, &events);
        assert!(direct.asked > 100, "{direct:?}");
        for format in [WriteFormat::FtraceText, WriteFormat::Perfetto] {
            let read = written_and_read(format, &events, machine.cpus().len() as u32);
            let asked = ask(&machine, &domains, kernel, &read);
            assert_eq!(asked, direct, "{kernel}, {format:?}");
        }
    }
}
