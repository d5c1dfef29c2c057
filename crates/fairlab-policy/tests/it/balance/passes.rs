//! Whole passes over a small world.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::balance::{AttemptEnd, BalanceFlags, IdleKind, KickFlags, NewidleResult};
use fairlab_units::{CpuId, CpuMask};

use super::world::{Lab, Task, World, machine};

fn m8(release: Release) -> Lab {
    let kernel = Kernel::of(release);
    Lab::new(kernel, World::new(&machine(1, 4, 2), &kernel))
}

#[test]
fn an_idle_cpu_takes_one_of_two_pairs() {
    let mut lab = m8(Release::V6_12);
    for cpu in [0, 0, 1, 1] {
        let task = lab.world.task();
        lab.world.add(cpu, task);
    }
    let attempt = lab.balance(2, IdleKind::Idle, "MC");
    let found = attempt.found.unwrap();
    // The ring starts with the local group: 2-3, 4-5, 6-7, 0-1.
    assert_eq!((found.group, found.amount), (3, 2));
    assert_eq!(attempt.src_cpu, Some(CpuId(0)));
    assert_eq!((attempt.end, attempt.moved), (AttemptEnd::Moved, 1));
    assert_eq!(lab.world.counts(), [1, 2, 1, 0, 0, 0, 0, 0]);
}

#[test]
fn every_release_spreads_a_pile_by_periodic_and_newidle_balancing() {
    for release in Release::ALL {
        for periodic in [true, false] {
            let mut lab = m8(release);
            for _ in 0..8 {
                let task = lab.world.task();
                lab.world.add(0, task);
            }
            lab.state.overload = true;
            for _ in 0..200 {
                lab.world.jiffies += 1;
                for cpu in (0..8).map(CpuId) {
                    if !lab.world.cpus[cpu.index()].list.is_empty() && !periodic {
                        continue;
                    }
                    lab.run(|b, w| {
                        if !periodic {
                            let _ = b.newidle_balance(w, cpu);
                            return;
                        }
                        let idle = if w.cpus[cpu.index()].list.is_empty() {
                            IdleKind::Idle
                        } else {
                            IdleKind::NotIdle
                        };
                        let _ = b.rebalance_domains(w, cpu, idle);
                    });
                }
            }
            assert_eq!(lab.world.counts(), [1; 8], "{release} periodic {periodic}");
        }
    }
}

#[test]
fn newidle_gives_up_without_overload_or_with_a_short_idle_time() {
    for release in Release::ALL {
        let mut lab = m8(release);
        for _ in 0..4 {
            let task = lab.world.task();
            lab.world.add(0, task);
        }
        let newidle = |lab: &mut Lab| lab.run(|b, w| b.newidle_balance(w, CpuId(3)));
        assert!(newidle(&mut lab).gave_up, "{release}: no overload");
        lab.state.overload = true;
        lab.world.cpus[3].avg_idle = 100;
        let base = lab.domain(3, "SMT");
        lab.state.domain_mut(base).max_newidle_lb_cost = 1_000;
        let outcome = newidle(&mut lab);
        assert!(outcome.gave_up, "{release}: short idle time");
        assert_eq!(outcome.result, NewidleResult::Nothing);
        lab.world.cpus[3].avg_idle = 5_000_000;
        let outcome = newidle(&mut lab);
        assert_eq!(outcome.result, NewidleResult::Pulled(1), "{release}");
    }
}

#[test]
fn a_random_number_beyond_the_ratio_skips_the_domain() {
    for release in [Release::V6_1, Release::V6_12, Release::V7_2] {
        let mut lab = m8(release);
        let task = lab.world.task();
        lab.world.add(0, task.clone());
        lab.world.add(0, task);
        lab.state.overload = true;
        lab.world.random = 600;
        let outcome = lab.run(|b, w| b.newidle_balance(w, CpuId(3)));
        assert_eq!(outcome.cost.attempts, 0, "{release}");
        let id = lab.domain(3, "MC");
        assert_eq!(lab.state.domain(id).newidle_call, 513);
        lab.kernel = lab.kernel.with(Feature::NI_RANDOM, false);
        let outcome = lab.run(|b, w| b.newidle_balance(w, CpuId(3)));
        assert!(outcome.cost.attempts > 0);
        assert_eq!(lab.state.domain(id).newidle_call, 513);
    }
}

#[test]
fn hot_tasks_stay_until_attempts_have_failed() {
    // MC: cache_nice_tries 1.
    let mut lab = m8(Release::V6_12);
    for _ in 0..3 {
        let hot = Task {
            exec_start: lab.world.clock - 1000,
            ..lab.world.task()
        };
        lab.world.add(0, hot);
    }
    let id = lab.domain(2, "MC");
    for failed in 1..=2 {
        let attempt = lab.balance(2, IdleKind::Idle, "MC");
        assert_eq!(attempt.end, AttemptEnd::Failed);
        assert_eq!(lab.state.domain(id).nr_balance_failed, failed);
    }
    let attempt = lab.balance(2, IdleKind::Idle, "MC");
    assert_eq!(
        attempt.end,
        AttemptEnd::Moved,
        "failed more than cache_nice_tries times"
    );
    assert_eq!(lab.state.domain(id).nr_balance_failed, 0);
}

#[test]
fn active_balance_pushes_the_running_task_after_failures() {
    for release in Release::ALL {
        let mut lab = m8(release);
        // One core with two running tasks, the others idle.
        let task = lab.world.task();
        lab.world.add(0, task.clone());
        lab.world.add(1, task);
        let id = lab.domain(2, "MC");
        let mut attempts = 0;
        while lab.world.started.is_empty() {
            attempts += 1;
            assert!(attempts < 10, "{release}");
            let attempt = lab.balance(2, IdleKind::Idle, "MC");
            assert_eq!(attempt.end, AttemptEnd::Failed, "{release}");
        }
        // cache_nice_tries 1: more than 1 + 2 failures.
        assert_eq!(attempts, 4, "{release}");
        assert_eq!(lab.world.started, [(CpuId(0), CpuId(2))], "{release}");
        assert_eq!(lab.state.cpus[CpuId(0)].push_to, Some(CpuId(2)));
        lab.world.running = false;
        let outcome = lab.run(|b, w| b.active_balance(w, CpuId(0)));
        assert!(outcome.moved.is_some(), "{release}");
        assert_eq!(lab.world.counts(), [0, 1, 1, 0, 0, 0, 0, 0], "{release}");
        assert_eq!(lab.state.domain(id).nr_balance_failed, 0, "{release}");
        assert_eq!(lab.state.cpus[CpuId(0)].push_to, None);
    }
}

#[test]
fn pinned_tasks_raise_the_flag_of_the_group_above() {
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        let mut lab = Lab::new(kernel, World::new(&machine(2, 2, 2), &kernel));
        for _ in 0..4 {
            let pinned = Task {
                allowed: CpuMask::from_cpus(8, [CpuId(0)]),
                ..lab.world.task()
            };
            lab.world.add(0, pinned);
        }
        let attempt = lab.balance(2, IdleKind::Idle, "MC");
        // Tried again without the source; then there is nothing left.
        assert_eq!(attempt.end, AttemptEnd::NoGroup, "{release}");
        assert!(attempt.flags.has(BalanceFlags::ALL_PINNED), "{release}");
        let above = lab.domain(2, "NUMA");
        let object = lab.world.domains.groups(above)[0].capacity;
        assert!(lab.state.group(object).imbalance, "{release}");
        let id = lab.domain(2, "MC");
        assert_eq!(
            lab.state.domain(id).balance_interval,
            8,
            "{release}: doubled from 4"
        );
        // The next balanced attempt that is not pinned takes it back.
        lab.world.cpus[0].list.clear();
        let attempt = lab.balance(2, IdleKind::Idle, "MC");
        assert_eq!(attempt.end, AttemptEnd::NoGroup, "{release}");
        assert!(!lab.state.group(object).imbalance, "{release}");
    }
}

#[test]
fn a_pinned_task_goes_to_another_cpu_of_the_group() {
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        let mut lab = Lab::new(kernel, World::new(&machine(2, 2, 2), &kernel));
        let plain = lab.world.task();
        for _ in 0..2 {
            lab.world.add(0, plain.clone());
        }
        for _ in 0..6 {
            let only_five = Task {
                allowed: CpuMask::from_cpus(8, [CpuId(0), CpuId(5)]),
                ..plain.clone()
            };
            lab.world.add(0, only_five);
        }
        let attempt = lab.balance(4, IdleKind::Idle, "NUMA");
        assert_eq!(attempt.end, AttemptEnd::Moved, "{release}");
        assert!(!lab.world.cpus[5].list.is_empty(), "{release}");
        for (task, _, dst) in &lab.world.moves {
            assert!(
                lab.world.tasks[task.index()].allowed.test(*dst),
                "{release}"
            );
        }
    }
}

#[test]
fn a_tick_kicks_an_idle_cpu_which_balances_for_all() {
    for release in Release::ALL {
        let mut lab = m8(release);
        for _ in 0..4 {
            let task = lab.world.task();
            lab.world.add(0, task);
        }
        lab.run(|b, w| {
            for cpu in (1..8).map(CpuId) {
                b.nohz_enter_idle(w, cpu);
            }
        });
        lab.world.jiffies += 100;
        let kick = lab.run(|b, w| b.nohz_kick(w, CpuId(0))).unwrap();
        assert_eq!(kick.target, CpuId(1), "{release}");
        assert!(kick.flags.has(KickFlags::BALANCE.with(KickFlags::STATS)));
        let outcome = lab.run(|b, w| b.nohz_idle_balance(w, CpuId(1)));
        assert!(outcome.moved >= 2, "{release}: {outcome:?}");
        assert!(
            lab.run(|b, w| b.nohz_kick(w, CpuId(0)))
                .is_none_or(|k| k.target != CpuId(0))
        );
        let idle = lab.run(|b, w| b.nohz_kick(w, CpuId(7)));
        assert_eq!(idle, None, "an idle CPU kicks nobody");
    }
}

#[test]
fn a_load_that_failures_halve_passes_in_the_end() {
    use fairlab_policy::balance::detach::charge;
    use fairlab_policy::balance::{Env, MigrationType, Pull};
    let mut lab = m8(Release::V6_12);
    let big = Task {
        load: 3000,
        ..lab.world.task()
    };
    let task = lab.world.add(0, big);
    let id = lab.domain(2, "MC");
    let cpus = CpuMask::full(8);
    let pull = Pull {
        src_cpu: CpuId(0),
        migration: MigrationType::Load,
        flags: BalanceFlags::NONE,
        new_dst_cpu: None,
    };
    for (failed, charged) in [(0, None), (1, None), (2, Some(3000))] {
        lab.state.domain_mut(id).nr_balance_failed = failed;
        let domains = &lab.world.domains;
        let env = Env::new(&lab.kernel, domains, id, &cpus, CpuId(2), IdleKind::Idle);
        let found = charge(&env, &lab.world, &lab.state, &pull, task, 800);
        assert_eq!(found, charged, "failed {failed}");
    }
}
