//! The worked examples E1 to E16.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::{Outcome, Reason, Scratch, WakeFlags, select_idle_sibling};
use fairlab_units::CpuId;

use crate::machine::{Probes, Shape, State, context, cpus, kernels, task};

/// One question to `select_idle_sibling`; the fields are the words of the examples.
#[derive(Clone)]
struct Ask {
    prev: u32,
    target: u32,
    recent: u32,
    this: u32,
    idle: &'static [u32],
    sched_idle: &'static [u32],
    allowed: &'static [u32],
    hint: bool,
    nr_idle_scan: u32,
    old_nr_is_four: bool,
    kthread: bool,
}

const ALL: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7];

impl Ask {
    fn new(idle: &'static [u32], hint: bool) -> Self {
        Self {
            prev: 0,
            target: 0,
            recent: 0,
            this: 2,
            idle,
            sched_idle: &[],
            allowed: ALL,
            hint,
            nr_idle_scan: 1000,
            old_nr_is_four: false,
            kthread: false,
        }
    }

    fn at(mut self, prev: u32, target: u32, recent: u32) -> Self {
        (self.prev, self.target, self.recent) = (prev, target, recent);
        self
    }
}

struct Answer {
    outcome: Outcome,
    probes: Vec<u32>,
}

impl Answer {
    fn cpu(&self) -> u32 {
        self.outcome.decision.cpu.0
    }
    fn reason(&self) -> Reason {
        self.outcome.decision.reason
    }
    fn clears_hint(&self) -> bool {
        self.outcome.effects.clear_idle_cores.is_some()
    }
}

fn ask_on(kernel: &Kernel, state: State, ask: &Ask) -> Answer {
    let mut state = state.idle(ask.idle, ask.sched_idle).hint(ask.hint);
    state.nr_idle_scan = ask.nr_idle_scan;
    if ask.old_nr_is_four {
        (state.avg_idle, state.avg_scan_cost) = (0, 1_000_000);
    }
    let (allowed, everywhere) = (cpus(8, ask.allowed), cpus(8, ALL));
    let mut p = task(1, &allowed);
    p.recent_used_cpu = CpuId(ask.recent);
    let mut current = task(2, &everywhere);
    current.is_per_cpu_kthread = ask.kthread;
    let mut probes = Probes::default();
    let outcome = select_idle_sibling(
        &state,
        kernel,
        &context(ask.this, ask.prev, WakeFlags::TTWU),
        &p,
        &current,
        CpuId(ask.target),
        &mut Scratch::new(8),
        &mut probes,
    );
    assert_eq!(outcome.decision.cost.idle_tests as usize, probes.0.len());
    let enters = state.sections.borrow().iter().filter(|s| s.1).count();
    assert_eq!(
        enters * 2,
        state.sections.borrow().len(),
        "sections are balanced"
    );
    Answer {
        outcome,
        probes: probes.0,
    }
}

/// Four cores of two threads, one LLC.
const M8: Shape = Shape::llc(4, 2);

/// Two clusters of four CPUs, no SMT, one LLC.
const C8: Shape = Shape {
    clusters: 2,
    ..Shape::llc(4, 1)
};

fn m8(kernel: &Kernel, ask: &Ask) -> Answer {
    ask_on(kernel, M8.state(kernel), ask)
}

fn c8(kernel: &Kernel, ask: &Ask) -> Answer {
    ask_on(kernel, C8.state(kernel), ask)
}

fn is_old(kernel: &Kernel) -> bool {
    kernel.release <= Release::V5_6
}

#[test]
fn e1_an_idle_core_is_found_and_the_hint_stays() {
    for kernel in kernels() {
        let answer = m8(&kernel, &Ask::new(&[1, 6, 7], true));
        assert_eq!(
            (answer.cpu(), answer.reason()),
            (6, Reason::IdleCore),
            "{kernel}"
        );
        assert!(!answer.clears_hint(), "{kernel}");
        let probes: &[u32] = match kernel.release {
            Release::V5_4 => &[0, 0, 1, 2, 3, 4, 5, 6, 7],
            Release::V5_6 => &[0, 0, 2, 4, 6, 7],
            _ => &[0, 0, 1, 2, 4, 6, 7],
        };
        assert_eq!(answer.probes, probes, "{kernel}");
    }
}

#[test]
fn e2_a_stale_hint_is_cleared_and_an_idle_thread_is_taken() {
    for kernel in kernels() {
        let answer = m8(&kernel, &Ask::new(&[3, 5], true));
        assert_eq!(answer.cpu(), 3, "{kernel}");
        assert!(answer.clears_hint(), "{kernel}");
        let (probes, reason): (&[u32], _) = match kernel.release {
            Release::V5_4 => (&[0, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3], Reason::IdleCpu),
            Release::V5_6 => (&[0, 0, 2, 4, 6, 0, 1, 2, 3], Reason::IdleCpu),
            _ => (&[0, 0, 1, 2, 3, 4, 6], Reason::IdleThread),
        };
        assert_eq!(
            (answer.probes.as_slice(), answer.reason()),
            (probes, reason),
            "{kernel}"
        );
    }
}

#[test]
fn e3_without_the_hint_a_sibling_of_prev_comes_first() {
    for kernel in kernels() {
        let answer = m8(&kernel, &Ask::new(&[1, 5], false));
        assert_eq!(answer.cpu(), 1, "{kernel}");
        let (probes, reason): (&[u32], _) = match kernel.release {
            Release::V5_4 | Release::V5_6 => (&[0, 0, 1], Reason::IdleCpu),
            Release::V5_15 => (&[0, 0, 1], Reason::PrevSmt),
            _ => (&[0, 1], Reason::PrevSmt),
        };
        assert_eq!(
            (answer.probes.as_slice(), answer.reason()),
            (probes, reason),
            "{kernel}"
        );
    }
}

#[test]
fn e4_a_spent_budget_leaves_the_target() {
    for kernel in kernels() {
        let mut ask = Ask::new(&[7], false).at(2, 2, 2);
        ask.nr_idle_scan = 2;
        ask.old_nr_is_four = true;
        let answer = m8(&kernel, &ask);
        assert_eq!(
            (answer.cpu(), answer.reason()),
            (2, Reason::TargetBudget),
            "{kernel}"
        );
        let probes: &[u32] = match kernel.release {
            Release::V5_4 | Release::V5_6 => &[2, 2, 3, 4, 2, 3],
            Release::V5_15 => &[2, 2, 3, 3, 4, 5],
            _ => &[2, 3, 3, 4],
        };
        assert_eq!(answer.probes, probes, "{kernel}");
        if let Some(account) = answer.outcome.effects.scan {
            assert!(!account.is_timed, "{kernel}");
        }
    }
}

#[test]
fn e5_a_core_is_idle_with_its_forbidden_thread_but_the_answer_is_allowed() {
    for kernel in kernels() {
        let mut ask = Ask::new(&[4, 5, 6, 7], true);
        ask.allowed = &[0, 5, 7];
        let answer = m8(&kernel, &ask);
        assert_eq!(
            (answer.cpu(), answer.reason()),
            (5, Reason::IdleCore),
            "{kernel}"
        );
    }
}

#[test]
fn e6_the_recent_cpu_is_taken_and_the_field_becomes_prev() {
    for kernel in kernels() {
        let answer = m8(&kernel, &Ask::new(&[5, 6, 7], false).at(0, 2, 5));
        assert_eq!(
            (answer.cpu(), answer.reason()),
            (5, Reason::RecentIdle),
            "{kernel}"
        );
        assert_eq!(
            answer.outcome.effects.recent_used_cpu,
            Some(CpuId(0)),
            "{kernel}"
        );
        let answer = m8(&kernel, &Ask::new(&[], false).at(0, 2, 5));
        let after = if is_old(&kernel) {
            None
        } else {
            Some(CpuId(0))
        };
        assert_eq!(answer.outcome.effects.recent_used_cpu, after, "{kernel}");
    }
}

#[test]
fn e7_without_scan_budget_only_the_sibling_is_tested() {
    for kernel in kernels() {
        let mut ask = Ask::new(&[5], false);
        ask.nr_idle_scan = 0;
        let answer = m8(&kernel, &ask);
        if kernel.release <= Release::V5_15 {
            assert_eq!(answer.cpu(), 5, "{kernel}");
        } else {
            assert_eq!(
                (answer.cpu(), answer.reason()),
                (0, Reason::TargetNoScan),
                "{kernel}"
            );
            assert_eq!(answer.probes, [0, 1], "{kernel}");
        }
    }
}

#[test]
fn e8_a_sched_idle_cpu_serves_where_it_counts_as_idle() {
    for kernel in kernels() {
        let mut ask = Ask::new(&[], false);
        ask.sched_idle = &[3];
        let want = if kernel.release == Release::V5_4 {
            0
        } else {
            3
        };
        assert_eq!(m8(&kernel, &ask).cpu(), want, "{kernel}");
        ask.hint = true;
        let answer = m8(&kernel, &ask);
        assert_eq!(answer.cpu(), want, "{kernel}");
        assert!(answer.clears_hint(), "{kernel}");
    }
}

#[test]
fn e9_a_first_idle_thread_beats_a_later_sched_idle_one() {
    for kernel in kernels() {
        let mut ask = Ask::new(&[2], true);
        ask.sched_idle = &[5];
        assert_eq!(m8(&kernel, &ask).cpu(), 2, "{kernel}");
    }
}

#[test]
fn e10_a_per_cpu_kthread_keeps_its_wakee() {
    for kernel in kernels() {
        let mut ask = Ask::new(&[5], false).at(2, 2, 2);
        ask.kthread = true;
        let answer = m8(&kernel, &ask);
        if kernel.release == Release::V5_4 {
            assert_eq!(answer.cpu(), 5);
        } else {
            assert_eq!(
                (answer.cpu(), answer.reason()),
                (2, Reason::KthreadStack),
                "{kernel}"
            );
        }
    }
}

#[test]
fn e11_the_scan_wraps() {
    for kernel in kernels() {
        let answer = m8(&kernel, &Ask::new(&[1], false).at(7, 7, 7));
        assert_eq!(
            (answer.cpu(), answer.reason()),
            (1, Reason::IdleCpu),
            "{kernel}"
        );
        match kernel.release {
            Release::V5_4 | Release::V5_6 => assert_eq!(answer.probes, [7, 7, 0, 1]),
            Release::V5_15 => {}
            _ => assert_eq!(answer.probes, [7, 6, 0, 1], "{kernel}"),
        }
    }
}

#[test]
fn e12_the_affinity_defect_lets_a_forbidden_recent_cpu_through() {
    for kernel in kernels() {
        let mut ask = Ask::new(&[5], false).at(0, 2, 5);
        ask.allowed = &[0, 1, 2, 3];
        let want = if kernel.release == Release::V5_15 {
            5
        } else {
            2
        };
        assert_eq!(m8(&kernel, &ask).cpu(), want, "{kernel}");
    }
}

#[test]
fn e13_an_idle_prev_in_another_cluster_is_only_remembered() {
    for kernel in kernels() {
        let answer = c8(&kernel, &Ask::new(&[3, 4], false).at(4, 1, 1));
        if kernel.has(Feature::SIS_CLUSTER) {
            assert_eq!(
                (answer.cpu(), answer.reason()),
                (3, Reason::ClusterIdleCpu),
                "{kernel}"
            );
            assert_eq!(answer.probes, [1, 4, 2, 3], "{kernel}");
        } else {
            assert_eq!(
                (answer.cpu(), answer.reason()),
                (4, Reason::PrevIdle),
                "{kernel}"
            );
        }
    }
}

#[test]
fn e14_the_rest_of_the_llc_follows_the_cluster() {
    for kernel in kernels() {
        let answer = c8(&kernel, &Ask::new(&[4, 6], false).at(4, 1, 1));
        assert_eq!(answer.cpu(), 4, "{kernel}");
        if kernel.has(Feature::SIS_CLUSTER) {
            assert_eq!(answer.probes, [1, 4, 2, 3, 0, 1, 4], "{kernel}");
        }
    }
}

#[test]
fn e15_a_recent_cpu_in_another_cluster_is_only_remembered() {
    for kernel in kernels() {
        let answer = c8(&kernel, &Ask::new(&[6, 7], false).at(5, 1, 7));
        if kernel.has(Feature::SIS_CLUSTER) {
            assert_eq!(answer.cpu(), 6, "{kernel}");
            assert_eq!(answer.probes, [1, 5, 7, 2, 3, 0, 1, 4, 5, 6], "{kernel}");
        } else {
            assert_eq!(
                (answer.cpu(), answer.reason()),
                (7, Reason::RecentIdle),
                "{kernel}"
            );
        }
    }
}

#[test]
fn e16_the_cluster_consumes_the_budget() {
    for kernel in kernels().filter(|k| k.has(Feature::SIS_UTIL)) {
        let mut ask = Ask::new(&[5], false).at(1, 1, 1);
        ask.nr_idle_scan = 4;
        let answer = c8(&kernel, &ask);
        if kernel.has(Feature::SIS_CLUSTER) {
            assert_eq!(
                (answer.cpu(), answer.reason()),
                (1, Reason::TargetBudget),
                "{kernel}"
            );
            assert_eq!(answer.probes, [1, 2, 3, 0, 1], "{kernel}");
        } else {
            assert_eq!(answer.cpu(), 5, "{kernel}");
            assert_eq!(answer.probes, [1, 2, 3, 4, 5], "{kernel}");
        }
    }
}

#[test]
fn the_two_forms_of_select_idle_core_answer_alike_and_work_differently() {
    let before: Kernel = "5.6:NO_IDLE_CORE_EARLY_EXIT,NO_IDLE_CORE_CLEAR_ONCE"
        .parse()
        .unwrap();
    let after: Kernel = "5.4:IDLE_CORE_EARLY_EXIT,IDLE_CORE_CLEAR_ONCE"
        .parse()
        .unwrap();
    for (idle, tests) in [(&[1u32, 6, 7] as &'static [u32], [8, 5]), (&[3, 5], [8, 4])] {
        let ask = Ask::new(idle, true);
        let (b, a) = (m8(&before, &ask), m8(&after, &ask));
        assert_eq!((b.cpu(), b.reason()), (a.cpu(), a.reason()));
        let core_tests = |answer: &Answer| {
            // The target is tested before; a failed core search is followed by a scan up to the answer.
            let scan = if answer.clears_hint() {
                answer.cpu() + 1
            } else {
                0
            };
            answer.outcome.decision.cost.idle_tests - 1 - scan
        };
        assert_eq!([core_tests(&b), core_tests(&a)], tests);
        let (b, a) = (b.outcome.decision.cost, a.outcome.decision.cost);
        assert_eq!((b.bit_clears, a.bit_clears), (8, 0));
    }
}
