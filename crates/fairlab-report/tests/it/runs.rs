//! Runs that are made up for tests.

use std::collections::BTreeMap;

use fairlab_audit::{Audit, AuditOptions, Auditor};
use fairlab_event::{EventKind, SchedEvent, SwitchState};
use fairlab_report::{Page, Run};
use fairlab_rng::Rng;
use fairlab_topology::{Cpu, Machine, MachineBuilder};
use fairlab_units::{CpuId, TaskId, Timestamp};

/// `llcs` LLCs of `cores` cores with two threads.
pub fn machine(llcs: u32, cores: u32) -> Machine {
    let cpus = (0..llcs * cores * 2).map(|id| Cpu {
        core: id / 2,
        llc: Some(id / (2 * cores)),
        package: Some(0),
        ..Cpu::new(CpuId(id))
    });
    MachineBuilder {
        name: "made for a test".into(),
        cpus: cpus.collect(),
        ..MachineBuilder::default()
    }
    .build()
    .unwrap()
}

/// An audit that keeps everything.
pub fn audit(machine: &Machine, events: impl IntoIterator<Item = SchedEvent>) -> Audit {
    let options = AuditOptions {
        keep: 100,
        every_placement: true,
        history: usize::MAX,
        ..AuditOptions::default()
    };
    let mut auditor = Auditor::new(machine, options);
    for event in events {
        auditor.event(&event);
    }
    auditor.finish()
}

/// At least `count` events on all CPUs of `machine`: tasks that are woken, run and sleep, some of
/// them preempted or moved. No kernel would do it so, but every kind of thing happens.
pub fn events(machine: &Machine, count: usize, seed: u64) -> Vec<SchedEvent> {
    let mut rng = Rng::new(seed);
    let cpus = machine.nr_cpu_ids() as u64;
    let mut events = Vec::with_capacity(count + 16);
    let mut time = 5_000_000_000;
    let mut running: Vec<Option<TaskId>> = vec![None; machine.nr_cpu_ids()];
    for cpu in 0..cpus as u32 {
        events.push(SchedEvent {
            time: Timestamp(time),
            cpu: CpuId(cpu),
            kind: EventKind::Running { task: None },
        });
    }
    while events.len() < count {
        time += rng.below(4_000);
        let cpu = CpuId(rng.below(cpus) as u32);
        let mut push = |time, kind| {
            events.push(SchedEvent {
                time: Timestamp(time),
                cpu,
                kind,
            });
        };
        let switch = |prev, prev_state, next| EventKind::Switch {
            prev,
            prev_state,
            next,
        };
        match running[cpu.index()] {
            // Each CPU has tasks of its own, eight of them.
            None => {
                let task = TaskId(1000 + cpu.0 * 8 + rng.below(8) as u32);
                push(
                    time,
                    EventKind::Waking {
                        task,
                        prev_cpu: cpu,
                    },
                );
                time += 300;
                push(time, EventKind::Wakeup { task, target: cpu });
                time += rng.exponential(3_000);
                push(time, switch(None, SwitchState::Runnable, Some(task)));
                running[cpu.index()] = Some(task);
            }
            Some(task) => {
                push(time, switch(Some(task), SwitchState::Sleeping, None));
                running[cpu.index()] = None;
            }
        }
    }
    events
}

/// A page with one run.
pub fn page<'a>(title: &str, runs: &[(&str, &'a Machine, &'a Audit)]) -> Page<'a> {
    Page {
        title: title.to_owned(),
        origin: "made by a test".to_owned(),
        sections: Vec::new(),
        runs: runs
            .iter()
            .map(|&(name, machine, audit)| Run {
                name: name.to_owned(),
                facts: vec![("machine".to_owned(), machine.name().to_owned())],
                notes: Vec::new(),
                machine,
                audit,
                names: names(audit),
            })
            .collect(),
    }
}

/// Names for all tasks, with signs that must not end up as markup.
fn names(audit: &Audit) -> BTreeMap<TaskId, String> {
    let name = |task: TaskId| format!("</script><b>&{}", task.0 % 8);
    audit.tasks.iter().map(|t| (t.task, name(t.task))).collect()
}

/// The bytes of a page.
pub fn written(page: &Page<'_>) -> String {
    let mut bytes = Vec::new();
    page.write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}
