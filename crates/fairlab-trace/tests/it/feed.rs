//! Reading beside using sees what reading alone sees.

use fairlab_trace::{
    About, EventKind, Names, Recording, SchedEvent, SwitchState, TraceWriter, WriteFormat,
};
use fairlab_units::{CpuId, TaskId, Timestamp};

/// A recording of this many switches, whose tasks have new names now and then.
fn recording(switches: u32) -> Recording {
    let about = About {
        nr_cpus: 1,
        release: "6.12.0".into(),
        machine: "x86_64".into(),
        title: "made for a test".into(),
    };
    let mut names = Names::default();
    let mut writer = TraceWriter::new(WriteFormat::FtraceText, &about, Vec::new());
    let task = |number: u32| TaskId(1 + number % 7);
    for number in 0..switches {
        let (time, cpu) = (Timestamp(1_000 * u64::from(number)), CpuId(0));
        if number % 1_000 < 7 {
            let name = names.intern(format!("t{number}").as_bytes());
            let kind = EventKind::Named {
                task: task(number),
                name,
            };
            writer
                .event(&SchedEvent { time, cpu, kind }, &names)
                .unwrap();
        }
        let kind = EventKind::Switch {
            prev: Some(task(number)),
            prev_state: SwitchState::Sleeping,
            next: Some(task(number + 1)),
        };
        writer
            .event(&SchedEvent { time, cpu, kind }, &names)
            .unwrap();
    }
    let (bytes, _) = writer.finish(&names).unwrap();
    fairlab_trace::from_bytes("written", bytes).unwrap()
}

#[test]
fn what_is_fed_is_what_the_iterator_gives() {
    for switches in [0, 1, 5, 30_000] {
        let alone = Vec::from_iter(recording(switches));
        let mut beside = Vec::new();
        let mut recording = recording(switches);
        // Some of them are taken before.
        beside.extend(recording.by_ref().take(3));
        let mut calls = 0;
        recording.feed(
            |_, events| events.len(),
            |events, length| {
                assert_eq!(events.len(), length);
                calls += 1;
                beside.extend_from_slice(events);
            },
        );
        assert_eq!(beside, alone);
        assert_eq!(recording.counts().get("sched_switch"), u64::from(switches));
        assert!(calls > 1 || switches < 30_000, "{calls} batches");
    }
}

#[test]
fn a_name_is_known_to_the_note_of_the_events_that_use_it() {
    let mut told = Vec::new();
    recording(30_000).feed(
        |recording, events| {
            for event in events {
                if let EventKind::Named { name, .. } = event.kind {
                    told.push(recording.names().get(name).to_owned());
                }
            }
        },
        |_, ()| (),
    );
    // Seven tasks get names of their own every thousand switches.
    for number in (0..30_000).filter(|number| number % 1_000 < 7) {
        assert!(told.contains(&format!("t{number}")), "t{number}");
    }
}

#[test]
#[should_panic = "a scoped thread panicked"]
fn who_takes_may_panic_and_nobody_waits_for_ever() {
    let batches = std::cell::Cell::new(0);
    recording(60_000).feed(
        |_, _| batches.set(batches.get() + 1),
        |_, ()| panic!("a scoped thread panicked"),
    );
}
