//! A simulated run that was written to a file and read again is asked about as the run itself.

use fairlab_event::{EventKind, SchedEvent};
use fairlab_topology::Machine;
use fairlab_trace::{About, Names, TraceWriter, WriteFormat, from_bytes};
use fairlab_units::{TaskId, Timestamp};

use crate::runs::{Events, all_idle, machines, simulate};
use crate::whatif::ask;

/// The events as a file can have them: task 0 is the idle one there, and the idle CPUs are told first.
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
    all_idle(machine).chain(idle).chain(shifted).collect()
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

#[test]
fn what_was_written_to_a_file_answers_as_the_run_itself() {
    let machine = &machines()[2];
    for kernel in ["5.15", "6.12"] {
        let (run, _) = simulate(machine, kernel, "schbench -m 2 -t 8 -r 0.05");
        let events = for_a_file(machine, &run.events);
        let asked = |events| {
            let allowed = Vec::new();
            let answer = ask(machine, kernel, &Events { events, allowed });
            assert_eq!(answer.contradictions, 0, "{kernel}");
            answer.agreement(|_| true)
        };
        let direct = asked(events.clone());
        assert!(direct.asked > 100, "{direct:?}");
        for format in [WriteFormat::FtraceText, WriteFormat::Perfetto] {
            let read = written_and_read(format, &events, machine.cpus().len() as u32);
            assert_eq!(asked(read), direct, "{kernel}, {format:?}");
        }
    }
}
