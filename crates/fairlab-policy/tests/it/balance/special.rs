//! Rules that recordings do not reach: preferred LLCs, asymmetric packing, misfit, lost capacity.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::balance::llc::{LlcVerdict, verdict};
use fairlab_policy::balance::{
    AttemptEnd, BalanceCost, CapacityLoss, Env, IdleKind, MigrationType, find_busiest_group,
};
use fairlab_topology::{Cpu, MachineBuilder};
use fairlab_units::{CpuId, CpuMask};

use super::world::{Lab, Row, Task, World, machine};

fn two_llcs(release: Release) -> Lab {
    let kernel = Kernel::of(release);
    Lab::new(kernel, World::new(&machine(2, 2, 2), &kernel))
}

#[test]
fn the_fill_of_both_llcs_decides_about_a_move() {
    let mut lab = two_llcs(Release::V7_2);
    let id = lab.domain(0, "NUMA");
    let shared = |cpu: u32| lab.world.domains.cached(CpuId(cpu)).llc_shared.unwrap();
    let (near, far) = (shared(0), shared(4));
    // Source is CPU 0, destination CPU 4; an LLC of capacity 4096 fits below 2048.
    let rows = [
        // source, destination, task, towards the preferred LLC
        (100, 100, 50, true, LlcVerdict::Allowed),
        (3000, 3000, 50, true, LlcVerdict::Unrestricted),
        (1000, 2040, 50, true, LlcVerdict::Forbidden),
        (2000, 2040, 50, true, LlcVerdict::Allowed),
        (100, 0, 50, false, LlcVerdict::Forbidden),
        (3000, 1000, 50, false, LlcVerdict::Allowed),
        (2300, 2000, 40, false, LlcVerdict::Forbidden),
    ];
    for (src, dst, task, towards, answer) in rows {
        lab.state.shared_mut(near).llc_util = src;
        lab.state.shared_mut(near).llc_capacity = 4096;
        lab.state.shared_mut(far).llc_util = dst;
        lab.state.shared_mut(far).llc_capacity = 4096;
        let cpus = CpuMask::full(8);
        let domains = &lab.world.domains;
        let env = Env::new(&lab.kernel, domains, id, &cpus, CpuId(4), IdleKind::Idle);
        let found = verdict(&env, &lab.state, CpuId(0), CpuId(4), task, towards);
        assert_eq!(found, answer, "{src} {dst} {task} {towards}");
    }
    lab.state.shared_mut(far).llc_capacity = 0;
    let cpus = CpuMask::full(8);
    let domains = &lab.world.domains;
    let env = Env::new(&lab.kernel, domains, id, &cpus, CpuId(4), IdleKind::Idle);
    let found = verdict(&env, &lab.state, CpuId(0), CpuId(4), 50, true);
    assert_eq!(found, LlcVerdict::Unrestricted, "nothing is known");
}

#[test]
fn tasks_go_to_the_llc_that_they_prefer_and_stay_there() {
    let mut lab = two_llcs(Release::V7_2);
    let llc = lab.world.domains.cached(CpuId(4)).llc_id;
    let home = Task {
        util: 100,
        preferred_llc: Some(llc),
        ..lab.world.task()
    };
    // A pass records the fill of the LLCs.
    let attempt = lab.balance(4, IdleKind::Idle, "NUMA");
    assert_eq!(attempt.end, AttemptEnd::NoGroup);
    for cpu in [0, 0, 1] {
        lab.world.add(cpu, home.clone());
    }
    let attempt = lab.balance(4, IdleKind::Idle, "NUMA");
    let found = attempt.found.unwrap();
    assert_eq!((found.migration, found.amount), (MigrationType::LlcTask, 1));
    assert_eq!((attempt.src_cpu, attempt.moved), (Some(CpuId(0)), 1));
    // Back again: the other LLC is empty, but the tasks are where they want to be.
    lab.world.moves.clear();
    for cpu in 4..8 {
        lab.world.cpus[cpu].list.clear();
    }
    for _ in 0..3 {
        lab.world.add(4, home.clone());
    }
    for cpu in 0..4 {
        lab.world.cpus[cpu].list.clear();
    }
    let attempt = lab.balance(0, IdleKind::Idle, "NUMA");
    assert_eq!(attempt.moved, 0, "{attempt:?}");
    let mut without = Lab {
        kernel: lab.kernel.with(Feature::SCHED_CACHE, false),
        ..lab
    };
    let attempt = without.balance(0, IdleKind::Idle, "NUMA");
    assert_eq!(attempt.end, AttemptEnd::Moved);
}

#[test]
fn delayed_and_ineligible_tasks_stay_in_7_2() {
    for (release, moves) in [(Release::V6_12, true), (Release::V7_2, false)] {
        for delayed in [true, false] {
            let kernel = Kernel::of(release);
            let mut lab = Lab::new(kernel, World::new(&machine(1, 4, 2), &kernel));
            let odd = Task {
                is_delayed: delayed,
                is_eligible: delayed,
                ..lab.world.task()
            };
            let plain = lab.world.task();
            lab.world.add(0, plain.clone());
            lab.world.add(0, odd.clone());
            lab.world.add(0, odd);
            if !delayed {
                // Eligibility counts only while the destination's queue has somebody.
                lab.world.add(2, plain);
            }
            let idle = if delayed {
                IdleKind::Idle
            } else {
                IdleKind::NotIdle
            };
            let id = lab.domain(2, "MC");
            let src = CpuId(0);
            let mut pull = fairlab_policy::balance::Pull {
                src_cpu: src,
                migration: MigrationType::Task,
                flags: fairlab_policy::balance::BalanceFlags::NONE,
                new_dst_cpu: None,
            };
            let cpus = CpuMask::full(8);
            let domains = &lab.world.domains;
            let env = Env::new(&lab.kernel, domains, id, &cpus, CpuId(2), idle);
            let task = *lab.world.cpus[0].list.back().unwrap();
            let answer =
                fairlab_policy::balance::can_migrate(&env, &lab.world, &lab.state, &mut pull, task);
            assert_eq!(
                answer.is_yes(),
                moves,
                "{release} delayed {delayed}: {answer:?}"
            );
        }
    }
}

/// Two cores of two threads; the second core has the higher priority.
fn packing(release: Release) -> Lab {
    let kernel = Kernel::of(release);
    let cpus = (0..4).map(|n| Cpu {
        core: n / 2,
        llc: Some(n / 2),
        package: Some(0),
        priority: Some(if n < 2 { 10 } else { 20 }),
        ..Cpu::new(CpuId(n))
    });
    let machine = MachineBuilder {
        cpus: cpus.collect(),
        ..MachineBuilder::default()
    }
    .build()
    .unwrap();
    let mut world = World::new(&machine, &kernel);
    world.priorities = vec![10, 10, 20, 20];
    Lab::new(kernel, world)
}

#[test]
fn a_task_moves_to_the_core_of_higher_priority() {
    for release in Release::ALL {
        let mut lab = packing(release);
        let domains = &lab.world.domains;
        let has = |id| {
            domains
                .domain(id)
                .flags
                .has(fairlab_topology::DomainFlags::ASYM_PACKING)
        };
        let Some(id) = domains.chain(CpuId(2)).filter(|id| has(*id)).last() else {
            continue;
        };
        let name = domains.domain(id).name;
        if name == "SMT" {
            // Before v6.6 the level with the flag is the core itself, whose threads are equal here.
            continue;
        }
        let task = lab.world.task();
        lab.world.add(0, task);
        let cpus = CpuMask::full(4);
        let env = Env::new(
            &lab.kernel,
            &lab.world.domains,
            id,
            &cpus,
            CpuId(2),
            IdleKind::Idle,
        );
        let mut state = lab.state.clone();
        let found = find_busiest_group(&env, &lab.world, &mut state, &mut BalanceCost::default());
        let found = found.unwrap();
        assert_eq!(
            (found.migration, found.amount),
            (MigrationType::Task, 1),
            "{release}"
        );
        let attempt = lab.balance(2, IdleKind::Idle, name);
        assert_eq!(attempt.active_started, Some(CpuId(0)), "{release}");
        // The other way there is no reason.
        let mut lab = packing(release);
        let task = lab.world.task();
        lab.world.add(2, task);
        let attempt = lab.balance(0, IdleKind::Idle, name);
        assert_eq!(attempt.active_started, None, "{release}");
        assert_eq!(attempt.end, AttemptEnd::NoGroup, "{release}");
    }
}

/// Two small CPUs and two big ones.
fn big_little(release: Release) -> Lab {
    let kernel = Kernel::of(release);
    let cpus = (0..4).map(|n| Cpu {
        llc: Some(n / 2),
        package: Some(0),
        capacity: if n < 2 { 400 } else { 1024 },
        ..Cpu::new(CpuId(n))
    });
    let machine = MachineBuilder {
        cpus: cpus.collect(),
        arch: fairlab_topology::Arch::Arm64,
        ..MachineBuilder::default()
    }
    .build()
    .unwrap();
    Lab::new(kernel, World::new(&machine, &kernel))
}

#[test]
fn a_misfit_task_is_pushed_to_a_bigger_cpu_at_once() {
    for release in Release::ALL {
        let mut lab = big_little(release);
        let heavy = Task {
            util: 390,
            ..lab.world.task()
        };
        lab.world.add(0, heavy);
        lab.world.cpus[0].row = Some(Row {
            nr: 1,
            load: 1024,
            runnable: 1024,
            util: 390,
            misfit: 1024,
        });
        let top = lab.world.domains.chain(CpuId(2)).last().unwrap();
        let name = lab.world.domains.domain(top).name;
        let attempt = lab.balance(2, IdleKind::Idle, name);
        let found = attempt.found.unwrap();
        assert_eq!(found.migration, MigrationType::Misfit, "{release}");
        assert_eq!(attempt.active_started, Some(CpuId(0)), "{release}");
        assert_eq!(
            lab.state.overload,
            lab.world.domains.domain(top).parent.is_none()
        );
        // To a small CPU it is not.
        let mut lab = big_little(release);
        let row = Row {
            nr: 1,
            load: 1024,
            runnable: 1024,
            util: 390,
            misfit: 1024,
        };
        lab.world.cpus[2].row = Some(row);
        let attempt = lab.balance(0, IdleKind::Idle, name);
        assert_eq!(attempt.active_started, None, "{release}");
    }
}

#[test]
fn a_single_task_leaves_a_cpu_that_lost_its_capacity() {
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        let mut lab = Lab::new(kernel, World::new(&machine(1, 4, 1), &kernel));
        let task = lab.world.task();
        lab.world.add(0, task);
        lab.world.cpus[0].loss = CapacityLoss {
            rt: 700,
            ..CapacityLoss::default()
        };
        // Each CPU refreshes its own capacity when it balances.
        let _ = lab.balance(0, IdleKind::NotIdle, "MC");
        assert_eq!(lab.state.capacity_of(CpuId(0)), 324, "{release}");
        let attempt = lab.balance(2, IdleKind::Idle, "MC");
        let expected = kernel.has(Feature::LB_REDUCED_CAPACITY);
        assert_eq!(
            attempt.active_started.is_some(),
            expected,
            "{release}: {attempt:?}"
        );
        if expected {
            assert_eq!(attempt.found.unwrap().migration, MigrationType::Load);
        }
    }
}
