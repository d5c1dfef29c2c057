//! What is written is what is read.

use fairlab_trace::{
    About, DelayCause, EventKind, Names, Recording, SchedEvent, SwitchState, TraceWriter,
    WriteFormat,
};
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};
use proptest::prelude::*;

const CPUS: u32 = 5;

/// Names that would trip up a careless reader.
const COMMS: [&str; 6] = [
    "a",
    "worker 1",
    "x ==> y",
    "pid=3 prio=1",
    "b:2 [7]",
    "(z)-9",
];

fn state() -> impl Strategy<Value = SwitchState> {
    prop::sample::select(vec![
        SwitchState::Runnable,
        SwitchState::Sleeping,
        SwitchState::Dead,
        SwitchState::Uninterruptible,
        SwitchState::Stopped,
        SwitchState::Traced,
        SwitchState::Zombie,
        SwitchState::Parked,
        SwitchState::Idle,
    ])
}

fn kind() -> impl Strategy<Value = EventKind> {
    let task = || (1u32..=COMMS.len() as u32).prop_map(TaskId);
    let cpu = || (0..CPUS).prop_map(CpuId);
    prop_oneof![
        4 => (prop::option::of(task()), state(), prop::option::of(task()))
            .prop_map(|(prev, prev_state, next)| EventKind::Switch { prev, prev_state, next }),
        2 => (task(), cpu()).prop_map(|(task, prev_cpu)| EventKind::Waking { task, prev_cpu }),
        2 => (task(), cpu()).prop_map(|(task, target)| EventKind::Wakeup { task, target }),
        1 => (task(), cpu()).prop_map(|(task, target)| EventKind::WakeupNew { task, target }),
        1 => (task(), cpu(), cpu()).prop_map(|(task, from, to)| EventKind::Migrate { task, from, to }),
        1 => (task(), task()).prop_map(|(parent, child)| EventKind::Fork { parent, child }),
        1 => task().prop_map(|task| EventKind::Exec { task }),
        1 => task().prop_map(|task| EventKind::Exit { task }),
        1 => (task(), 1u64..1 << 40).prop_map(|(task, ns)| EventKind::StatRuntime { task, runtime: Nanos(ns) }),
        1 => (task(), 1u64..1 << 40).prop_map(|(task, ns)| EventKind::StatDelay {
            task, cause: DelayCause::Wait, delay: Nanos(ns) }),
        1 => prop::option::of(0u32..9).prop_map(|state| EventKind::CpuIdle { state }),
        1 => (cpu(), 1u32..6_000_000).prop_map(|(target, khz)| EventKind::CpuFrequency { target, khz }),
    ]
}

/// A run of events in time order, on CPUs whose tasks follow each other.
fn events() -> impl Strategy<Value = Vec<SchedEvent>> {
    let step = (0u64..3_000, 0..CPUS, kind());
    prop::collection::vec(step, 1..200).prop_map(|steps| {
        let mut time = 7_000_000_123;
        let mut running = [None; CPUS as usize];
        steps
            .into_iter()
            .map(|(gap, cpu, mut kind)| {
                time += gap;
                if let EventKind::Switch { prev, next, .. } = &mut kind {
                    *prev = running[cpu as usize];
                    running[cpu as usize] = *next;
                }
                SchedEvent {
                    time: Timestamp(time),
                    cpu: CpuId(cpu),
                    kind,
                }
            })
            .collect()
    })
}

fn prio(task: TaskId) -> i16 {
    [120, 100, 139, 0, -1, 110][task.index() - 1]
}

fn write(format: WriteFormat, events: &[SchedEvent]) -> Vec<u8> {
    let about = About {
        nr_cpus: CPUS,
        release: "6.12.0".into(),
        machine: "x86_64".into(),
        title: "made for a test".into(),
    };
    let mut names = Names::default();
    let mut writer = TraceWriter::new(format, &about, Vec::new());
    for (index, comm) in COMMS.iter().enumerate() {
        let task = TaskId(index as u32 + 1);
        let name = names.intern(comm.as_bytes());
        let (time, cpu) = (Timestamp(0), CpuId(0));
        for kind in [
            EventKind::Named { task, name },
            EventKind::Priority {
                task,
                prio: prio(task),
            },
        ] {
            writer
                .event(&SchedEvent { time, cpu, kind }, &names)
                .unwrap();
        }
    }
    for event in events {
        writer.event(event, &names).unwrap();
    }
    let (bytes, unsaid) = writer.finish(&names).unwrap();
    assert_eq!(unsaid.events, 0);
    bytes
}

/// All events but those that a reader adds, and what the tasks were called.
fn read(bytes: Vec<u8>) -> (Vec<SchedEvent>, Recording) {
    let mut recording = fairlab_trace::from_bytes("written", bytes).unwrap();
    let mut events = Vec::new();
    while let Some(event) = recording.next() {
        match event.kind {
            EventKind::Named { task, name } => {
                assert_eq!(recording.names().get(name), COMMS[task.index() - 1]);
            }
            EventKind::Priority { task, prio: told } => assert_eq!(told, prio(task)),
            EventKind::Running { .. } => {}
            _ => events.push(event),
        }
    }
    (events, recording)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ftrace_text_comes_back_to_the_nanosecond(events in events()) {
        let (back, recording) = read(write(WriteFormat::FtraceText, &events));
        prop_assert_eq!(back, events);
        prop_assert!(recording.ledger().is_clean(), "{:?}", recording.ledger());
    }
}

#[test]
fn ftrace_text_looks_as_tracefs_prints_it() {
    let event = |time, kind| SchedEvent {
        time: Timestamp(time),
        cpu: CpuId(2),
        kind,
    };
    let events = [
        event(
            3_000_000_007,
            EventKind::Waking {
                task: TaskId(1),
                prev_cpu: CpuId(4),
            },
        ),
        event(
            3_000_001_000,
            EventKind::Switch {
                prev: None,
                prev_state: SwitchState::Runnable,
                next: Some(TaskId(2)),
            },
        ),
    ];
    let text = String::from_utf8(write(WriteFormat::FtraceText, &events)).unwrap();
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        lines,
        [
            "          <idle>-0       [002] d..2. 3.000000007: sched_waking: comm=a pid=1 prio=120 target_cpu=004",
            "          <idle>-0       [002] d..2. 3.000001000: sched_switch: prev_comm=swapper/2 prev_pid=0 \
             prev_prio=120 prev_state=R ==> next_comm=worker 1 next_pid=2 next_prio=100",
        ]
    );
}

#[test]
fn a_loss_is_written_and_read() {
    let lost = |count| SchedEvent {
        time: Timestamp(5_000),
        cpu: CpuId(1),
        kind: EventKind::Lost { count },
    };
    let exec = SchedEvent {
        time: Timestamp(5_000),
        cpu: CpuId(1),
        kind: EventKind::Exec { task: TaskId(1) },
    };
    for count in [None, Some(12)] {
        let (_, recording) = read(write(WriteFormat::FtraceText, &[exec, lost(count), exec]));
        assert_eq!(recording.ledger().losses().len(), 1);
        assert_eq!(recording.ledger().losses()[0].count, count);
    }
}

#[test]
fn trace_event_json_is_json_with_a_slice_for_every_stretch() {
    let switch = |time, prev: Option<u32>, next: Option<u32>| SchedEvent {
        time: Timestamp(time),
        cpu: CpuId(0),
        kind: EventKind::Switch {
            prev: prev.map(TaskId),
            prev_state: SwitchState::Sleeping,
            next: next.map(TaskId),
        },
    };
    let events = [
        switch(1_000, None, Some(2)),
        switch(3_500, Some(2), Some(3)),
    ];
    let bytes = write(WriteFormat::Json, &events);
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let slices: Vec<_> = json["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["ph"] == "X")
        .map(|event| {
            (
                event["name"].as_str().unwrap().to_owned(),
                event["ts"].as_f64().unwrap(),
                event["dur"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        slices,
        [
            ("worker 1".to_owned(), 1.0, 2.5),
            ("x ==> y".to_owned(), 3.5, 0.0)
        ]
    );
}
