//! What files become: programs that do what rt-app's threads do.

use fairlab_rtapp::{Host, Loops, Policy, parse};
use fairlab_units::Nanos;
use fairlab_workload::{Class, End, Op, Span, Workload};

fn compile(text: &str, host: &Host) -> Workload {
    let compiled = parse(text).unwrap().compile("test", host, None).unwrap();
    compiled.workload
}

/// The operations of the first task of a file with one task, without barrier and log.
fn ops(body: &str) -> Vec<Op> {
    let text = format!("{{ 'tasks': {{ 't': {{ {body} }} }} }}");
    let workload = compile(&text, &Host::of_cpus(4));
    let log = Op::Run(Span::Fixed(Nanos(8_000)));
    let mut ops = workload.programs[0].ops.clone();
    ops.retain(|op| !matches!(op, Op::Barrier(b) if b.0 == 0) && *op != log);
    ops
}

fn us(n: u64) -> Span {
    Span::Fixed(Nanos::from_micros(n))
}

#[test]
fn repeated_events_are_all_kept_in_order() {
    let expected = [
        Op::LoopBegin { phase: 0 },
        Op::Run(us(1)),
        Op::Sleep(us(2)),
        Op::Run(us(3)),
        Op::Run(us(4)),
        Op::LoopEnd,
        Op::Repeat { to: 1, times: 1 },
        Op::Repeat { to: 1, times: 0 },
    ];
    let got = ops("'run': 1, 'sleep': 2, 'run': 3, 'run1': 4");
    assert_eq!(got[..6], expected[..6]);
}

#[test]
fn without_phases_the_loop_is_that_of_the_only_phase() {
    // Not given: for ever. Given: so many passes, once.
    for (text, thread, phase) in [
        ("'run': 1", Loops::Forever, Loops::Times(1)),
        ("'run': 1, 'loop': -1", Loops::Times(1), Loops::Forever),
        ("'run': 1, 'loop': 5", Loops::Times(1), Loops::Times(5)),
        (
            "'phases': { 'p': { 'run': 1 } }",
            Loops::Forever,
            Loops::Times(1),
        ),
        (
            "'loop': 3, 'phases': { 'p': { 'run': 1, 'loop': 2 } }",
            Loops::Times(3),
            Loops::Times(2),
        ),
    ] {
        let app = parse(&format!("{{ 'tasks': {{ 't': {{ {text} }} }} }}")).unwrap();
        let task = &app.tasks[0];
        assert_eq!(
            (task.loops, task.phases[0].loops),
            (thread, phase),
            "{text}"
        );
    }
}

#[test]
fn suspend_and_resume_are_a_condition_and_a_mutex_of_that_name() {
    let suspend = ops("'suspend': 'x'");
    let Op::Lock(mutex) = suspend[1] else {
        panic!("{suspend:?}")
    };
    assert!(matches!(suspend[2], Op::CondWait { mutex: m, .. } if m == mutex));
    assert_eq!(suspend[3], Op::Unlock(mutex));
    let resume = ops("'resume': 'x'");
    assert!(matches!(resume[2], Op::Broadcast(_)));
}

#[test]
fn suspend_without_a_value_waits_for_the_name_of_the_task() {
    let text = "{ 'tasks': {
        'a': { 'phases': { 'p1': { 'suspend', 'run': 1 } } },
        'b': { 'resume': 'a' } } }";
    let workload = compile(text, &Host::of_cpus(2));
    let find = |program: usize, wanted: fn(&Op) -> Option<u32>| {
        workload.programs[program].ops.iter().find_map(wanted)
    };
    let waits = find(0, |op| match op {
        Op::CondWait { cond, .. } => Some(cond.0),
        _ => None,
    });
    let wakes = find(1, |op| match op {
        Op::Broadcast(cond) => Some(cond.0),
        _ => None,
    });
    assert!(waits.is_some());
    assert_eq!(waits, wakes);
}

#[test]
fn a_run_is_in_microseconds_of_the_calibrated_cpu() {
    let mut host = Host::of_cpus(2);
    host.capacities = vec![512, 1024];
    for (calibration, ns) in [
        ("'CPU0'", 500_000),
        ("'CPU1'", 1_000_000),
        ("120", 1_000_000),
    ] {
        let text = format!(
            "{{ 'tasks': {{ 't': {{ 'run': 1000 }} }}, 'global': {{ 'calibration': {calibration} }} }}"
        );
        let run = Op::Run(Span::Fixed(Nanos(ns)));
        assert!(
            compile(&text, &host).programs[0].ops.contains(&run),
            "{calibration}"
        );
    }
}

#[test]
fn a_barrier_waits_for_every_thread_that_names_it() {
    let text = "{ 'tasks': {
        'a': { 'instance': 3, 'barrier': 'x', 'barrier': 'y' },
        'b': { 'barrier': 'x' } } }";
    let workload = compile(text, &Host::of_cpus(2));
    // The first is the one at the start of all four threads.
    assert_eq!(workload.barriers, [4, 4, 3]);
}

#[test]
fn timers_called_unique_belong_to_a_thread_and_others_are_shared() {
    let text = "{ 'tasks': {
        'a': { 'run': 1, 'timer': { 'ref': 'unique', 'period': 5 },
               'timer1': { 'ref': 'tick', 'period': 5, 'mode': 'absolute' } },
        'b': { 'run': 1, 'timer': { 'ref': 'tick', 'period': 5 },
               'timer2': { 'ref': 'uniqueB', 'period': 5 } } } }";
    let workload = compile(text, &Host::of_cpus(2));
    let kinds: Vec<(bool, bool)> = workload
        .timers
        .iter()
        .map(|t| (t.is_unique, t.is_absolute))
        .collect();
    assert_eq!(kinds, [(false, true), (true, false), (true, false)]);
}

#[test]
fn policies_and_attributes_change_with_the_phases() {
    let got = ops("'phases': {
            'a': { 'run': 1, 'policy': 'SCHED_FIFO' },
            'b': { 'run': 1, 'policy': 'SCHED_OTHER', 'priority': -5, 'cpus': [1] },
            'c': { 'run': 1, 'util_max': 512 } }");
    let classes: Vec<Class> = got
        .iter()
        .filter_map(|op| match op {
            Op::SetClass(class) => Some(*class),
            _ => None,
        })
        .collect();
    assert_eq!(classes, [Class::Fifo(10), Class::Fair, Class::Fair]);
    assert!(got.contains(&Op::SetClamp { min: 0, max: 512 }));
    let affinities = got
        .iter()
        .filter(|op| matches!(op, Op::SetAffinity { .. }))
        .count();
    // To CPU 1, and back to all of them.
    assert_eq!(affinities, 2);
}

#[test]
fn a_slice_for_a_fair_task_is_its_dl_runtime() {
    let got = ops("'run': 1, 'dl-runtime': 3000");
    assert_eq!(got[0], Op::SetSlice(Nanos::from_millis(3)));
}

#[test]
fn the_default_policy_holds_wherever_global_stands() {
    let text = "{ 'tasks': { 't': { 'run': 1 } }, 'global': { 'default_policy': 'SCHED_FIFO' } }";
    let app = parse(text).unwrap();
    assert_eq!(app.tasks[0].sched.policy, Policy::Fifo);
    assert_eq!(app.tasks[0].sched.priority, 10);
}

#[test]
fn a_file_ends_by_its_duration_or_by_itself_or_is_stopped() {
    let with = |global: &str| {
        let text = format!("{{ 'tasks': {{ 't': {{ 'run': 1 }} }}, 'global': {{ {global} }} }}");
        parse(&text).unwrap()
    };
    let host = Host::of_cpus(1);
    let compiled = with("'duration': 3").compile("t", &host, None).unwrap();
    assert_eq!(compiled.workload.end, End::After(Nanos::from_secs(3)));
    let compiled = with("'duration': -1").compile("t", &host, None).unwrap();
    assert_eq!(
        compiled.workload.end,
        End::AllExitedBy(Nanos::from_secs(10))
    );
    assert_eq!(compiled.notes.len(), 1);
    let own = Some(Nanos::from_secs(1));
    let compiled = with("'duration': 3").compile("t", &host, own).unwrap();
    assert_eq!(compiled.workload.end, End::After(Nanos::from_secs(1)));
}

#[test]
fn forked_threads_do_not_wait_for_those_of_the_start() {
    let text = "{ 'tasks': {
        'a': { 'loop': 1, 'fork': 'b', 'fork': 'b' },
        'b': { 'instance': 0, 'loop': 1, 'run': 1 } } }";
    let workload = compile(text, &Host::of_cpus(2));
    let has_barrier = |p: usize| {
        let ops = &workload.programs[p].ops;
        ops.iter().any(|op| matches!(op, Op::Barrier(_)))
    };
    assert!(has_barrier(0) && has_barrier(1) && !has_barrier(2));
    let forks = workload.programs[0]
        .ops
        .iter()
        .filter(|op| matches!(op, Op::Fork(p) if p.0 == 2))
        .count();
    assert_eq!(forks, 2);
}
