//! What must hold for every state.

use fairlab_kernel::{Kernel, Release};
use fairlab_policy::balance::idle_scan::nr_idle_scan;
use fairlab_policy::balance::{BalanceCost, Env, IdleKind, should_we_balance};
use fairlab_units::{CpuId, CpuMask};
use proptest::prelude::*;

use super::world::{Lab, Task, World, machine, ring};

#[derive(Clone, Debug)]
struct Plan {
    release: usize,
    shape: (u32, u32, u32),
    /// Nodes in a ring.
    ring: bool,
    /// CPU, mask bits, load, utilization, hot.
    tasks: Vec<(u32, u32, u64, u64, bool)>,
    failed: u32,
    dst: u32,
    idle: u8,
}

fn plans() -> impl Strategy<Value = Plan> {
    let shapes = prop_oneof![
        Just((1, 4, 2)),
        Just((2, 4, 2)),
        Just((2, 2, 1)),
        Just((4, 2, 2))
    ];
    let task = (
        0..64u32,
        any::<u32>(),
        1..4096u64,
        0..1024u64,
        any::<bool>(),
    );
    let tasks = proptest::collection::vec(task, 0..24);
    (
        0..7usize,
        (shapes, any::<bool>()),
        tasks,
        0..6u32,
        0..64u32,
        0..3u8,
    )
        .prop_map(|(release, (shape, ring), tasks, failed, dst, idle)| Plan {
            release,
            shape,
            ring,
            tasks,
            failed,
            dst,
            idle,
        })
}

fn lab(plan: &Plan) -> Lab {
    let kernel = Kernel::of(Release::ALL[plan.release]);
    let (nodes, cores, threads) = plan.shape;
    let machine = if plan.ring {
        ring(nodes, cores, threads)
    } else {
        machine(nodes, cores, threads)
    };
    let mut lab = Lab::new(kernel, World::new(&machine, &kernel));
    let nr = lab.world.nr() as u32;
    for (cpu, bits, load, util, hot) in &plan.tasks {
        let cpu = cpu % nr;
        let mut allowed = CpuMask::from_words(&[u64::from(*bits)]);
        allowed.and_with(&CpuMask::full(nr as usize));
        allowed.set(CpuId(cpu));
        let exec_start = if *hot { lab.world.clock } else { 0 };
        let task = Task {
            allowed,
            load: *load,
            util: *util,
            exec_start,
            ..lab.world.task()
        };
        lab.world.add(cpu, task);
    }
    for id in 0..lab.world.domains.domains().len() {
        let id = fairlab_topology::domains::DomainId(id as u32);
        lab.state.domain_mut(id).nr_balance_failed = plan.failed;
    }
    lab
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn tasks_move_only_toward_the_destination_and_only_where_allowed(plan in plans()) {
        let mut lab = lab(&plan);
        let nr = lab.world.nr() as u32;
        let dst = CpuId(plan.dst % nr);
        let idle = if !lab.world.cpus[dst.index()].list.is_empty() {
            IdleKind::NotIdle
        } else if plan.idle == 0 {
            IdleKind::NewlyIdle
        } else {
            IdleKind::Idle
        };
        let chain: Vec<_> = lab.world.domains.chain(dst).collect();
        for id in chain {
            lab.world.moves.clear();
            let running: Vec<_> = (0..nr).map(|c| lab.world.cpus[c as usize].list.front().copied()).collect();
            let before = lab.world.counts();
            let attempt = lab.run(|b, w| b.load_balance(w, dst, idle, id));
            prop_assert_eq!(attempt.moved as usize, lab.world.moves.len());
            let local = lab.world.domains.groups(id)[0].span;
            for (task, src, to) in &lab.world.moves {
                prop_assert!(lab.world.tasks[task.index()].allowed.test(*to));
                prop_assert!(lab.world.domains.mask(local).test(*to));
                prop_assert_ne!(src, to);
                // Groups of a ring of nodes overlap, so the source can be in the local one too.
                let inside = lab.world.domains.mask(local).test(*src);
                prop_assert!(plan.ring || !inside);
                prop_assert_ne!(running[src.index()], Some(*task), "the running task stays");
            }
            if idle.is_idle() {
                for (before, cpu) in before.iter().zip(&lab.world.cpus) {
                    prop_assert!(*before == 0 || !cpu.list.is_empty());
                }
            }
            prop_assert_eq!(lab.world.counts().iter().sum::<usize>(), plan.tasks.len());
            if attempt.moved > 0 {
                break;
            }
        }
    }

    #[test]
    fn at_most_one_cpu_of_the_balance_mask_balances_periodically(plan in plans()) {
        let lab = lab(&plan);
        let nr = lab.world.nr();
        let cpus = CpuMask::full(nr);
        let mut skip = CpuMask::new(nr);
        for index in 0..lab.world.domains.chain(CpuId(0)).count() {
            let domains = &lab.world.domains;
            let first = domains.chain(CpuId(0)).nth(index).unwrap();
            let mask = domains.mask(domains.groups(first)[0].balance_mask);
            let mut yes = 0;
            for cpu in mask {
                let Some(id) = domains.chain(cpu).nth(index) else { continue };
                let busy = !lab.world.cpus[cpu.index()].list.is_empty();
                let idle = if busy { IdleKind::NotIdle } else { IdleKind::Idle };
                let env = Env::new(&lab.kernel, domains, id, &cpus, cpu, idle);
                yes += u32::from(should_we_balance(
                    &env,
                    &lab.world,
                    &mut skip,
                    &mut BalanceCost::default(),
                ));
            }
            // v6.6 lets the first CPU of the mask balance too when only busy cores have idle CPUs.
            let most = if lab.kernel.release == Release::V6_6 { 2 } else { 1 };
            prop_assert!(yes <= most, "{} of {:?}", yes, mask);
        }
    }

    #[test]
    fn the_scan_budget_never_grows_with_utilization(weight in 1..512u32, util in 0..600_000u64, more in 0..1000u64) {
        let budget = nr_idle_scan(util, weight, 117);
        prop_assert!(budget <= weight);
        prop_assert!(nr_idle_scan(util + more, weight, 117) <= budget);
    }

    #[test]
    fn a_periodic_run_is_the_same_twice(plan in plans()) {
        let run = || {
            let mut lab = lab(&plan);
            for _ in 0..20 {
                lab.world.jiffies += 4;
                for cpu in (0..lab.world.nr() as u32).map(CpuId) {
                    let busy = !lab.world.cpus[cpu.index()].list.is_empty();
                    let idle = if busy { IdleKind::NotIdle } else { IdleKind::Idle };
                    lab.run(|b, w| b.rebalance_domains(w, cpu, idle));
                }
            }
            lab.world.moves
        };
        prop_assert_eq!(run(), run());
    }
}
