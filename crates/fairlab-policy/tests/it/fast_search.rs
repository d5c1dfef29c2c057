//! The word-parallel scans against the kernel's walks, on random states.

use std::collections::BTreeMap;

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::{
    IdleMasks, Reason, Scratch, WakeFlags, fast_task_rq_fair, select_task_rq_fair,
};
use fairlab_topology::Domains;
use fairlab_units::{CpuId, CpuMask, TaskId};

use crate::machine::{Shape, State, context, kernels, task};
use crate::scene::{SEARCHES, STATES, Scene, THREADS};

/// Small numbers from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u32) -> u32 {
        (self.next() % u64::from(n)) as u32
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }
}

const fn shape(
    nodes: u32,
    llcs: u32,
    clusters: u32,
    cores: u32,
    threads: u32,
    spread: bool,
) -> Shape {
    Shape {
        nodes,
        llcs,
        clusters,
        spread,
        ..Shape::llc(cores, threads)
    }
}

const SHAPES: [Shape; 15] = [
    shape(1, 1, 0, 2, 1, false),
    shape(1, 1, 0, 1, 2, false),
    shape(1, 1, 0, 4, 2, false),
    shape(1, 1, 0, 4, 2, true),
    shape(1, 1, 2, 4, 1, false),
    shape(1, 2, 2, 3, 2, true),
    shape(2, 1, 4, 2, 2, false),
    shape(1, 1, 0, 20, 8, false),
    shape(1, 1, 0, 33, 4, true),
    shape(2, 1, 0, 40, 2, true),
    shape(2, 2, 8, 4, 2, false),
    shape(2, 8, 0, 8, 2, true),
    shape(1, 1, 16, 4, 4, true),
    shape(4, 1, 0, 64, 1, false),
    shape(2, 1, 0, 64, 8, true),
];

/// Kernels with switches that change the scans.
fn variants() -> Vec<Kernel> {
    let mut all: Vec<Kernel> = kernels().collect();
    for text in [
        "5.4:IDLE_CORE_EARLY_EXIT",
        "5.4:IDLE_CORE_CLEAR_ONCE",
        "5.4:SIS_SCHED_IDLE",
        "5.6:NO_SIS_SCHED_IDLE",
        "5.6:NO_SIS_PROP",
        "5.15:SIS_AVG_CPU",
        "6.1:SIS_PROP,NO_SIS_UTIL",
        "6.12:NO_SIS_CLUSTER",
        "7.2:NO_SIS_CORE_DOMAIN",
    ] {
        all.push(text.parse().unwrap());
    }
    all
}

/// Fills `state` at random: mostly idle, mostly busy, or whole cores alike.
fn roll(dice: &mut Dice, state: &mut State) {
    let style = dice.below(5);
    let nr = state.cpus.len();
    for cpu in 0..nr {
        let leader = state.domains.smt_mask(CpuId(cpu as u32)).first().unwrap();
        let idle = match style {
            0 => !dice.one_in(4),
            1 => dice.one_in(4),
            2 => dice.one_in(1 + nr as u32),
            3 => state.cpus[leader.index()].idle && cpu != leader.index() || dice.one_in(3),
            _ => dice.one_in(2),
        };
        let sched_idle = !idle && dice.one_in(if style == 4 { 3 } else { 20 });
        let row = &mut state.cpus[cpu];
        (row.idle, row.sched_idle) = (idle, sched_idle);
        row.nr_running = if idle { 0 } else { 1 + dice.below(2) };
        row.h_nr = row.nr_running;
        row.load = u64::from(dice.below(3000));
        row.runnable_load = u64::from(dice.below(3000));
    }
    for hint in &mut state.hint {
        *hint = dice.one_in(2);
    }
    state.nr_idle_scan = match dice.below(4) {
        0 => dice.below(3),
        1 => dice.below(nr as u32 + 2),
        _ => 4096,
    };
    state.avg_idle = u64::from(dice.below(2_000_000));
    state.avg_scan_cost = u64::from(dice.of(&[0u32, 10, 2000, 500_000]));
}

fn mask(dice: &mut Dice, domains: &Domains) -> CpuMask {
    let nr = domains.nr_cpu_ids() as u32;
    let all = (0..nr).map(CpuId);
    let mut mask = match dice.below(6) {
        // Whole cores, or all but one thread.
        4 => {
            let mut mask = CpuMask::new(nr as usize);
            for cpu in all.filter(|_| dice.one_in(3)) {
                mask.or_with(domains.smt_mask(cpu));
            }
            mask
        }
        5 => {
            let mut mask = CpuMask::full(nr as usize);
            mask.clear(CpuId(dice.below(nr)));
            mask
        }
        0 => CpuMask::from_cpus(nr as usize, all.filter(|_| dice.one_in(2))),
        1 => CpuMask::from_cpus(nr as usize, all.filter(|_| dice.one_in(6))),
        _ => CpuMask::full(nr as usize),
    };
    if mask.is_empty() {
        mask.set(CpuId(dice.below(nr)));
    }
    mask
}

fn compare(
    shape: &Shape,
    kernel: &Kernel,
    dice: &mut Dice,
    rounds: u32,
    seen: &mut BTreeMap<Reason, u32>,
) {
    let nr = shape.nr();
    let mut state = shape.state(kernel);
    let mut masks = IdleMasks::new(&state.domains);
    let (mut slow, mut fast) = (Scratch::new(nr as usize), Scratch::new(nr as usize));
    for round in 0..rounds {
        roll(dice, &mut state);
        for (cpu, row) in state.cpus.iter().enumerate() {
            let id = CpuId(cpu as u32);
            if row.idle {
                masks.on_idle_enter(id);
            } else {
                masks.on_idle_exit(id);
            }
            masks.set_sched_idle(id, row.sched_idle);
        }
        for _ in 0..4 {
            let allowed = mask(dice, &state.domains);
            let everywhere = CpuMask::full(nr as usize);
            let mut p = task(1, &allowed);
            p.is_sched_idle = dice.one_in(4);
            p.recent_used_cpu = CpuId(dice.below(nr));
            p.wakee_flips = dice.below(4);
            let mut current = task(2, &everywhere);
            current.wakee_flips = dice.below(100);
            current.last_wakee = dice.one_in(2).then_some(TaskId(1));
            let this = dice.below(nr);
            let prev = if dice.one_in(3) { this } else { dice.below(nr) };
            let sync = if dice.one_in(3) { WakeFlags::SYNC } else { 0 };
            let context = context(this, prev, WakeFlags::TTWU | sync);
            let want = select_task_rq_fair(&state, kernel, &context, &p, &current, &mut slow);
            let got = fast_task_rq_fair(&state, &masks, kernel, &context, &p, &current, &mut fast);
            assert_eq!(
                got, want,
                "{kernel}, {nr} CPUs, {} threads, spread {}, round {round}",
                shape.threads, shape.spread
            );
            *seen.entry(want.decision.reason).or_default() += 1;
        }
    }
}

#[test]
fn scans_over_masks_answer_and_count_as_the_kernel_does() {
    let mut dice = Dice(20_261_130);
    let mut seen = BTreeMap::new();
    for shape in &SHAPES {
        let rounds = if shape.nr() > 200 { 100 } else { 900 };
        for kernel in variants() {
            compare(shape, &kernel, &mut dice, rounds, &mut seen);
        }
    }
    // The states have to reach every end of a scan often enough to mean something.
    let ends = [
        Reason::IdleCore,
        Reason::IdleCpu,
        Reason::ScanSchedIdle,
        Reason::IdleThread,
        Reason::TargetSmt,
        Reason::PrevSmt,
        Reason::ClusterIdleCore,
        Reason::ClusterIdleCpu,
        Reason::PrevFallback,
        Reason::RecentFallback,
        Reason::TargetNoScan,
        Reason::TargetBudget,
        Reason::Target,
    ];
    for reason in ends {
        let times = seen.get(&reason).copied().unwrap_or(0);
        assert!(times >= 40, "{reason}: {times} times");
    }
}

#[test]
fn without_counting_the_answers_stay() {
    let shape = shape(1, 1, 2, 8, 2, true);
    let kernel = Kernel::of(Release::V6_12);
    let mut dice = Dice(7);
    let mut state = shape.state(&kernel);
    let mut scratch = Scratch::new(32);
    for _ in 0..200 {
        roll(&mut dice, &mut state);
        let mut masks = IdleMasks::new(&state.domains).counting_cores(false);
        for (cpu, row) in state.cpus.iter().enumerate() {
            if row.idle {
                masks.on_idle_enter(CpuId(cpu as u32));
            }
            masks.set_sched_idle(CpuId(cpu as u32), row.sched_idle);
        }
        let allowed = mask(&mut dice, &state.domains);
        let (p, current) = (task(1, &allowed), task(2, &allowed));
        let context = context(dice.below(32), dice.below(32), WakeFlags::TTWU);
        let want = select_task_rq_fair(&state, &kernel, &context, &p, &current, &mut scratch);
        let got = fast_task_rq_fair(
            &state,
            &masks,
            &kernel,
            &context,
            &p,
            &current,
            &mut scratch,
        );
        assert_eq!(got.decision.cpu, want.decision.cpu);
        assert_eq!(got.decision.reason, want.decision.reason);
        assert_eq!(got.effects, want.effects);
    }
    assert!(kernel.has(Feature::SIS_CLUSTER));
}

#[test]
fn the_states_that_are_measured_have_equal_answers() {
    for kernel in kernels() {
        for (search, state) in SEARCHES.iter().flat_map(|s| STATES.map(|state| (s, state))) {
            for (nr, threads) in [8, 64].into_iter().flat_map(|nr| THREADS.map(|t| (nr, t))) {
                let mut scene = Scene::new(&kernel, search, state, nr, threads).unwrap();
                let want = scene.scan()();
                assert_eq!(
                    scene.masks()(),
                    want,
                    "{kernel} {search} {state} {nr} {threads}"
                );
            }
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A machine of 2 to 8192 CPUs, big ones seldom.
fn any_shape(dice: &mut Dice) -> Shape {
    loop {
        let threads = dice.of(&[1, 2, 2, 2, 3, 4, 8]);
        let nodes = dice.of(&[1, 1, 1, 2, 4]);
        let llcs = dice.of(&[1, 1, 2, 5]);
        let clusters = dice.of(&[0, 0, 0, 2, 3, 8]);
        let cores = 1 + match dice.below(60) {
            0 => dice.below(2048),
            1..=6 => dice.below(200),
            _ => dice.below(24),
        };
        let shape = shape(nodes, llcs, clusters, cores, threads, dice.one_in(2));
        let limit = match dice.below(40) {
            0 => 8192,
            1..=10 => 512,
            _ => 96,
        };
        if (2..=limit).contains(&shape.nr()) {
            return shape;
        }
    }
}

/// Draws `FAIRLAB_SEARCH_STATES` states, each asked four times, with a seed that differs each run; it
/// is printed, and taken from `FAIRLAB_SEARCH_SEED` if given.
#[test]
fn scans_over_masks_answer_alike_on_machines_of_any_size() {
    let seed = number("FAIRLAB_SEARCH_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |since| since.as_nanos() as u64)
    });
    let wanted = number("FAIRLAB_SEARCH_STATES").unwrap_or(4_000);
    println!("FAIRLAB_SEARCH_SEED={seed} FAIRLAB_SEARCH_STATES={wanted}");
    let mut dice = Dice(seed);
    let (mut done, mut machines, mut biggest) = (0, 0, 0);
    let mut seen = BTreeMap::new();
    let kernels = variants();
    while done < wanted {
        let shape = any_shape(&mut dice);
        let kernel = &kernels[dice.below(kernels.len() as u32) as usize];
        // As much work for a small machine as for a big one.
        let rounds = (4_000 / shape.nr()).clamp(4, 400);
        compare(&shape, kernel, &mut dice, rounds, &mut seen);
        done += u64::from(rounds);
        machines += 1;
        biggest = biggest.max(shape.nr());
    }
    println!("{done} states of {machines} machines, the biggest of {biggest} CPUs: {seen:?}");
}
