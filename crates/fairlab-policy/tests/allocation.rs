//! Neither a decision nor a balancing pass allocates, in any release.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

// The whole machine module serves other tests.
#[allow(dead_code, reason = "written for the other tests")]
#[path = "it/machine.rs"]
mod machine;

#[allow(dead_code, reason = "written for the other tests")]
#[path = "it/balance/world.rs"]
mod world;

use std::alloc::System;

use fairlab_kernel::Kernel;
use fairlab_policy::balance::{BalanceScratch, BalanceState, Balancer, IdleKind};
use fairlab_policy::{IdleMasks, Scratch, WakeFlags, fast_task_rq_fair, select_task_rq_fair};
use fairlab_units::{CpuId, CpuMask};
use machine::{Shape, context, kernels, task};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The tests, for runners such as nextest that ask for their names and run one at a time.
const TESTS: [(&str, fn()); 2] = [
    ("no_decision_allocates", no_decision_allocates),
    ("no_balancing_pass_allocates", no_balancing_pass_allocates),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let asked = |option: &str| args.iter().any(|arg| arg == option);
    if asked("--list") {
        if !asked("--ignored") {
            TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return;
    }
    let wanted: Vec<&String> = args.iter().filter(|a| !a.starts_with('-')).collect();
    for (name, test) in TESTS {
        if wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())) {
            test();
            println!("{name}: ok");
        }
    }
}

fn no_decision_allocates() {
    let shape = Shape {
        nodes: 2,
        clusters: 4,
        ..Shape::llc(4, 2)
    };
    let nr = shape.nr();
    let allowed = CpuMask::full(nr as usize);
    for kernel in kernels() {
        for (idle, hint) in [(&[][..], false), (&[9, 20], true), (&[9, 20, 21], true)] {
            let mut state = shape.state(&kernel).idle(idle, &[]).hint(hint);
            state.watches_sections = false;
            let mut masks = IdleMasks::new(&state.domains);
            for cpu in idle {
                masks.on_idle_enter(CpuId(*cpu));
            }
            let mut scratch = Scratch::new(nr as usize);
            let (p, current) = (task(1, &allowed), task(2, &allowed));
            let region = Region::new(GLOBAL);
            for flags in [WakeFlags::TTWU, WakeFlags::FORK, WakeFlags::EXEC] {
                for prev in 0..nr {
                    let context = context(3, prev, flags);
                    let slow =
                        select_task_rq_fair(&state, &kernel, &context, &p, &current, &mut scratch);
                    let fast = fast_task_rq_fair(
                        &state,
                        &masks,
                        &kernel,
                        &context,
                        &p,
                        &current,
                        &mut scratch,
                    );
                    assert!(slow == fast);
                }
            }
            let change = region.change();
            assert_eq!(change.allocations + change.reallocations, 0, "{kernel}");
        }
    }
}

/// A pile of tasks on the first CPU of each node, pinned, hot and SCHED_IDLE ones among them.
fn pile(machine: &fairlab_topology::Machine, kernel: &Kernel) -> world::World {
    let mut world = world::World::new(machine, kernel);
    let nr = world.nr() as u32;
    for n in 0..6 * nr {
        let cpu = if n % 3 == 0 { nr / 2 } else { 0 };
        let mut task = world.task();
        task.load = 200 + u64::from(n);
        task.is_sched_idle = n % 11 == 0;
        if n % 5 == 0 {
            let own = [CpuId(cpu), CpuId((cpu + 1 + n / 5) % nr)];
            task.allowed = CpuMask::from_cpus(nr as usize, own);
        }
        if n % 7 == 0 {
            task.exec_start = world.clock - 1_000;
        }
        world.add(cpu, task);
    }
    // What the world of the test keeps must not grow under the eyes of the counter.
    for cpu in &mut world.cpus {
        cpu.list.reserve(6 * nr as usize);
    }
    world.moves.reserve(100_000);
    world.attempts.reserve(1_000_000);
    world.started.reserve(10_000);
    world
}

/// A kind of pass, let loose on the pile.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pass {
    Periodic,
    Newidle,
    Nohz,
    Active,
}

fn no_balancing_pass_allocates() {
    let machines = [
        world::machine(1, 4, 2),
        world::machine(2, 4, 2),
        // Overlapping groups.
        world::ring(4, 2, 2),
    ];
    for machine in &machines {
        for kernel in kernels() {
            for pass in [Pass::Periodic, Pass::Newidle, Pass::Nohz, Pass::Active] {
                check_pass(machine, &kernel, pass);
            }
        }
    }
}

fn check_pass(machine: &fairlab_topology::Machine, kernel: &Kernel, pass: Pass) {
    let mut world = pile(machine, kernel);
    let domains = world.domains.clone();
    let nr = world.nr();
    let mut state = BalanceState::new(&domains, kernel, world.jiffies, nr);
    let mut scratch = BalanceScratch::new(nr);
    let mut balancer = Balancer {
        kernel,
        domains: &domains,
        state: &mut state,
        scratch: &mut scratch,
    };
    let mut moved = 0;
    // No warm-up: the memory is all there after construction.
    let region = Region::new(GLOBAL);
    for round in 0..300 {
        world.jiffies += 1;
        world.clock += 4_000_000;
        world.random = round * 61 % 1024;
        for cpu in (0..nr as u32).map(CpuId) {
            let is_empty = world.cpus[cpu.index()].list.is_empty();
            moved += match pass {
                Pass::Periodic => {
                    let idle = if is_empty {
                        IdleKind::Idle
                    } else {
                        IdleKind::NotIdle
                    };
                    balancer.rebalance_domains(&mut world, cpu, idle).moved
                }
                Pass::Newidle => {
                    balancer.state.overload = true;
                    let outcome =
                        is_empty.then(|| balancer.newidle_balance(&mut world, cpu).result);
                    u32::from(outcome.is_some_and(|result| result.has_task()))
                }
                Pass::Nohz if is_empty => {
                    balancer.nohz_enter_idle(&world, cpu);
                    0
                }
                Pass::Nohz => match balancer.nohz_kick(&world, cpu) {
                    Some(kick) => balancer.nohz_idle_balance(&mut world, kick.target).moved,
                    None => 0,
                },
                Pass::Active if world.cpus[cpu.index()].list.len() > 1 => {
                    let next = CpuId((cpu.0 + 1) % nr as u32);
                    balancer.state.cpus[cpu].push_to = Some(next);
                    world.running = false;
                    let outcome = balancer.active_balance(&mut world, cpu);
                    world.running = true;
                    u32::from(outcome.moved.is_some())
                }
                Pass::Active => 0,
            };
        }
    }
    let change = region.change();
    let count = change.allocations + change.reallocations;
    assert_eq!(count, 0, "{kernel}, {pass:?}");
    assert!(moved > 0, "{kernel}: {pass:?} moves tasks");
}
