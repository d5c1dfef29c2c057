//! What placement, balancing and frequency selection read.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_pelt::{
    CapacityInput, Clamp, CpuCapacity, CpuUtil, EffectiveInput, EffectiveUtil, Fit, MisfitInput,
    PeltClock, PeltTime, QueueAvg, SchedAvg, Speed, TaskUtil, ThrottledClock, cpu_util,
    cpu_util_call, cpu_util_cfs, cpu_util_cfs_boost, cpu_util_without, cpu_util_without_call,
    effective_cpu_util, is_overutilized, misfit_load, scale_load_down, task_fits_cpu,
    util_fits_cpu,
};
use fairlab_units::CpuId;
use proptest::prelude::*;

use crate::{MS, kernels, kernels_with, kernels_without};

const HERE: CpuId = CpuId(2);
const ELSEWHERE: CpuId = CpuId(5);

const CPU: CpuUtil = CpuUtil {
    cpu: HERE,
    util_avg: 300,
    runnable_avg: 500,
    util_est: 250,
    capacity_orig: 1024,
};

const TASK: TaskUtil = TaskUtil {
    cpu: ELSEWHERE,
    util_avg: 100,
    runnable_avg: 150,
    util_est: 200,
    is_counted: false,
    is_new: false,
};

#[test]
fn utilization_with_a_task_to_come() {
    for kernel in kernels() {
        let util = |task: &TaskUtil, dst, boost| {
            let inline = cpu_util(&kernel, &CPU, Some(task), dst, boost);
            assert_eq!(inline, cpu_util_call(&kernel, &CPU, Some(task), dst, boost));
            inline
        };
        let boosts = kernel.has(Feature::CPU_UTIL_BOOST);
        // 300 + 100 against 250 + 200.
        assert_eq!(util(&TASK, Some(HERE), false), 450);
        // 500 + 150 with contention.
        assert_eq!(
            util(&TASK, Some(HERE), true),
            if boosts { 650 } else { 450 }
        );
        // It stays elsewhere.
        assert_eq!(util(&TASK, Some(ELSEWHERE), false), 300);
        // It leaves: asleep it is in the averages only.
        let local = TaskUtil { cpu: HERE, ..TASK };
        assert_eq!(util(&local, Some(ELSEWHERE), false), 250);
        // It stays here: its estimate comes back.
        assert_eq!(util(&local, Some(HERE), false), 450);
        // Queued and leaving: the estimate goes too, where the release thinks of it.
        let queued = TaskUtil {
            is_counted: true,
            ..local
        };
        let rest = if kernel.has(Feature::CPU_UTIL_QUEUED) {
            200
        } else {
            250
        };
        assert_eq!(util(&queued, Some(ELSEWHERE), false), rest);

        assert_eq!(cpu_util_cfs(&kernel, &CPU), 300);
        assert_eq!(
            cpu_util_cfs_boost(&kernel, &CPU),
            if boosts { 500 } else { 300 }
        );
        let no_estimates = kernel.with(Feature::UTIL_EST, false);
        assert_eq!(
            cpu_util(&no_estimates, &CPU, Some(&TASK), Some(HERE), false),
            400
        );
        let small = CpuUtil {
            capacity_orig: 280,
            ..CPU
        };
        assert_eq!(cpu_util_cfs(&kernel, &small), 280);
    }
}

#[test]
fn weights_are_scaled_down_to_no_less_than_two() {
    let table = [
        (0, 0),
        (1, 2),
        (1024, 2),
        (3071, 2),
        (3072, 3),
        (3 << 10, 3),
        (1 << 20, 1024),
    ];
    for (weight, scaled) in table {
        assert_eq!(scale_load_down(weight), scaled);
    }
}

#[test]
fn signals_are_read_from_queue_and_task() {
    for kernel in kernels() {
        let mut task = SchedAvg {
            util_avg: 41,
            runnable_avg: 51,
            ..SchedAvg::default()
        };
        task.update_util_est(&kernel, 1024);
        let view = TaskUtil::of(&kernel, HERE, &task, true);
        assert_eq!(
            (view.util_avg, view.runnable_avg, view.util_est),
            (41, 51, 41)
        );
        assert!(view.is_new && view.is_counted);
        let mut queue = QueueAvg::default();
        queue.add_util_est(&kernel, &task);
        queue.avg.util_avg = 9;
        assert_eq!(cpu_util_cfs(&kernel, &CpuUtil::of(HERE, &queue, 1024)), 41);
    }
}

fn any_cpu() -> impl Strategy<Value = CpuUtil> {
    (0..2000_u64, 0..4000_u64, 0..3000_u64, 1..=1024_u64).prop_map(
        |(util_avg, runnable_avg, util_est, capacity_orig)| CpuUtil {
            cpu: HERE,
            util_avg,
            runnable_avg,
            util_est,
            capacity_orig,
        },
    )
}

fn any_task() -> impl Strategy<Value = TaskUtil> {
    (any::<[bool; 3]>(), 0..1100_u64, 0..1100_u64, 0..1100_u64).prop_map(
        |([is_here, is_counted, is_new], util_avg, runnable_avg, util_est)| TaskUtil {
            cpu: if is_here { HERE } else { ELSEWHERE },
            util_avg,
            runnable_avg,
            util_est,
            is_counted,
            is_new,
        },
    )
}

proptest! {
    #[test]
    fn inlining_changes_no_result(
        release in prop::sample::select(Release::ALL.to_vec()),
        cpu in any_cpu(),
        task in any_task(),
        dst in prop::sample::select(vec![None, Some(HERE), Some(ELSEWHERE)]),
        [has_task, boost] in any::<[bool; 2]>(),
    ) {
        let kernel = Kernel::of(release);
        let given = has_task.then_some(&task);
        prop_assert_eq!(
            cpu_util(&kernel, &cpu, given, dst, boost),
            cpu_util_call(&kernel, &cpu, given, dst, boost)
        );
        prop_assert_eq!(
            cpu_util_without(&kernel, &cpu, &task),
            cpu_util_without_call::<0>(&kernel, &cpu, &task)
        );
    }

    #[test]
    fn all_releases_agree_on_utilization_without_a_task(cpu in any_cpu(), task in any_task()) {
        let last = cpu_util_without(&Kernel::of(Release::V7_2), &cpu, &task);
        for kernel in kernels() {
            prop_assert_eq!(cpu_util_without(&kernel, &cpu, &task), last);
        }
        prop_assert!(last <= cpu.capacity_orig);
    }

    #[test]
    fn without_is_a_task_that_goes_nowhere(cpu in any_cpu(), task in any_task()) {
        for kernel in kernels_with(Feature::CPU_UTIL_QUEUED) {
            if task.cpu == HERE && !task.is_new {
                prop_assert_eq!(
                    cpu_util_without(&kernel, &cpu, &task),
                    cpu_util(&kernel, &cpu, Some(&task), None, false)
                );
            }
        }
    }
}

#[test]
fn capacity_is_what_others_leave() {
    let input = CapacityInput {
        capacity_orig: 1024,
        irq: 100,
        rt: 50,
        dl: 30,
        pressure: 124,
        cpufreq_pressure: 200,
    };
    for kernel in kernels() {
        let (left, actual) = if kernel.has(Feature::HW_PRESSURE) {
            // The larger of both pressures: 824 - 80 = 744, of which interrupts leave 724 / 824.
            (744 * 724 / 824, 824)
        } else if kernel.has(Feature::THERMAL_PRESSURE) {
            // 1024 - 80 - 124.
            (820 * 924 / 1024, 900)
        } else {
            (944 * 924 / 1024, 1024)
        };
        assert_eq!(input.left_for_fair(&kernel), left, "{}", kernel.release);
        assert_eq!(input.actual(&kernel), actual);
        // Never nothing.
        for full in [
            CapacityInput { irq: 1024, ..input },
            CapacityInput { rt: 1000, ..input },
            CapacityInput {
                capacity_orig: 300,
                irq: 299,
                rt: 0,
                dl: 0,
                pressure: 0,
                cpufreq_pressure: 0,
            },
        ] {
            assert!(full.left_for_fair(&kernel) >= 1);
        }
        let used_up = CapacityInput { rt: 1024, ..input };
        assert_eq!(used_up.left_for_fair(&kernel), 1);
    }
}

const LITTLE: CpuCapacity = CpuCapacity {
    capacity: 400,
    capacity_orig: 400,
    actual: 400,
};

const BIG: CpuCapacity = CpuCapacity {
    capacity: 1024,
    capacity_orig: 1024,
    actual: 1024,
};

#[test]
fn fitting_honours_clamps_where_the_release_does() {
    let clamp = |min, max| Clamp { min, max };
    for kernel in kernels_with(Feature::UCLAMP_FIT) {
        let fit = |util, clamp, cpu| util_fits_cpu(&kernel, util, clamp, true, cpu);
        // The example of the placement specification.
        assert_eq!(fit(100, clamp(600, 1024), &LITTLE), Fit::BelowMin);
        assert_eq!(fit(100, clamp(600, 1024), &BIG), Fit::Yes);
        // 319 * 1.25 < 400.
        assert_eq!(fit(319, Clamp::NONE, &LITTLE), Fit::Yes);
        assert_eq!(fit(320, Clamp::NONE, &LITTLE), Fit::No);
        // Capped to what the CPU has.
        assert_eq!(fit(900, clamp(0, 400), &LITTLE), Fit::Yes);
        assert_eq!(fit(900, clamp(0, 401), &LITTLE), Fit::No);
        // On the biggest CPU 1024 is no cap.
        assert_eq!(fit(900, clamp(0, 1024), &BIG), Fit::No);
        assert_eq!(fit(900, clamp(0, 1023), &BIG), Fit::Yes);
        // Crossed bounds: the maximum wins.
        assert_eq!(fit(10, clamp(900, 300), &LITTLE), Fit::Yes);
        // Pressure takes from what a minimum can get.
        let hot = CpuCapacity { actual: 900, ..BIG };
        assert_eq!(fit(100, clamp(950, 1024), &hot), Fit::BelowMin);
        assert_eq!(fit(100, clamp(900, 1024), &hot), Fit::Yes);
        // A task that uses the minimum anyway needs no boost.
        assert_eq!(
            fit(100, clamp(100, 1024), &CpuCapacity { actual: 50, ..BIG }),
            Fit::Yes
        );
        assert_eq!(
            util_fits_cpu(&kernel, 100, clamp(600, 1024), false, &LITTLE),
            Fit::Yes
        );

        assert!(!task_fits_cpu(
            &kernel,
            100,
            clamp(600, 1024),
            true,
            &LITTLE
        ));
        assert!(task_fits_cpu(&kernel, 100, clamp(600, 1024), true, &BIG));
        assert_eq!(
            [Fit::No, Fit::BelowMin, Fit::Yes].map(Fit::number),
            [0, -1, 1]
        );
    }
    for kernel in kernels_without(Feature::UCLAMP_FIT) {
        // The clamped estimate against the capacity, from v5.6 on.
        let clamps = kernel.has(Feature::UCLAMP_TASK_UTIL);
        assert_eq!(
            task_fits_cpu(&kernel, 100, clamp(600, 1024), true, &LITTLE),
            !clamps
        );
        assert_eq!(
            task_fits_cpu(&kernel, 900, clamp(0, 300), true, &LITTLE),
            clamps
        );
        assert!(task_fits_cpu(
            &kernel,
            100,
            clamp(600, 1024),
            false,
            &LITTLE
        ));
    }
}

#[test]
fn a_misfit_task_asks_with_its_load() {
    let task = MisfitInput {
        is_asymmetric: true,
        is_bound: false,
        max_allowed_capacity: 1024,
        task_util_est: 500,
        clamp: Clamp::NONE,
        uclamp_used: false,
        task_h_load: 333,
    };
    for kernel in kernels() {
        let load = |task: MisfitInput, cpu| misfit_load(&kernel, Some(&task), cpu);
        assert_eq!(load(task, &LITTLE), 333);
        assert_eq!(
            load(
                MisfitInput {
                    task_h_load: 0,
                    ..task
                },
                &LITTLE
            ),
            1
        );
        assert_eq!(load(task, &BIG), 0);
        assert_eq!(
            load(
                MisfitInput {
                    is_asymmetric: false,
                    ..task
                },
                &LITTLE
            ),
            0
        );
        assert_eq!(
            load(
                MisfitInput {
                    is_bound: true,
                    ..task
                },
                &LITTLE
            ),
            0
        );
        assert_eq!(misfit_load(&kernel, None, &LITTLE), 0);
        let confined = MisfitInput {
            max_allowed_capacity: 400,
            ..task
        };
        let gives_up = kernel.has(Feature::MISFIT_AFFINITY);
        assert_eq!(load(confined, &LITTLE), if gives_up { 0 } else { 333 });
    }
}

#[test]
fn a_cpu_is_overutilized_when_its_utilization_does_not_fit() {
    for kernel in kernels() {
        let check = |util, clamp, energy| is_overutilized(&kernel, util, clamp, true, energy, &BIG);
        assert!(!check(819, Clamp::NONE, true));
        assert!(check(820, Clamp::NONE, true));
        let always = !kernel.has(Feature::OVERUTIL_EAS_ONLY);
        assert_eq!(check(820, Clamp::NONE, false), always, "{}", kernel.release);
        // A minimum that cannot be given is no overutilization.
        let hot = CpuCapacity { actual: 500, ..BIG };
        let clamp = Clamp {
            min: 600,
            max: 1024,
        };
        assert!(!is_overutilized(&kernel, 100, clamp, true, true, &hot));
    }
}

#[test]
fn effective_utilization_adds_all_classes() {
    let input = EffectiveInput {
        capacity_orig: 1024,
        cfs: 300,
        rt: 80,
        dl: 20,
        dl_bandwidth: 60,
        irq: 124,
        clamp: Clamp::NONE,
        uclamp_used: false,
        has_rt: false,
    };
    let util = 400 * 900 / 1024 + 124;
    let result = effective_cpu_util(&input);
    assert_eq!(
        result,
        EffectiveUtil {
            util,
            min: 184,
            max: 1024
        }
    );
    assert_eq!(result.performance(), util + util / 4);

    let rt = effective_cpu_util(&EffectiveInput {
        has_rt: true,
        ..input
    });
    assert_eq!((rt.min, rt.performance()), (1024, 1024));
    let clamped = EffectiveInput {
        clamp: Clamp { min: 700, max: 800 },
        uclamp_used: true,
        has_rt: true,
        ..input
    };
    let clamped = effective_cpu_util(&clamped);
    assert_eq!(
        (clamped.min, clamped.max, clamped.performance()),
        (700, 800, 700)
    );
    assert_eq!(
        effective_cpu_util(&EffectiveInput { cfs: 924, ..input }).util,
        1024
    );
    let drowned = effective_cpu_util(&EffectiveInput { irq: 1024, ..input });
    assert_eq!(
        drowned,
        EffectiveUtil {
            util: 1024,
            min: 1024,
            max: 1024
        }
    );
}

#[test]
fn classes_and_pressure_follow_their_input() {
    for kernel in kernels() {
        let (mut rt, mut irq, mut heat) = Default::default();
        let signals: [&mut SchedAvg; 3] = [&mut rt, &mut irq, &mut heat];
        let [rt, irq, heat] = signals;
        for ms in 1..=1000 {
            rt.update_class(&kernel, PeltTime(ms * MS), ms % 2 == 0);
            irq.update_irq(&kernel, ms * MS, MS / 4, &Speed::FULL);
            heat.update_pressure(&kernel, PeltTime(ms * MS), 200);
        }
        assert!(rt.util_avg.abs_diff(512) < 12, "{rt:?}");
        assert!(irq.util_avg.abs_diff(256) < 12, "{irq:?}");
        assert!(heat.load_avg.abs_diff(200) <= 1, "{heat:?}");

        // Interrupts that are not counted leave the signal alone.
        let off = kernel.with(Feature::NONTASK_CAPACITY, false);
        let before = *irq;
        assert!(!irq.update_irq(&off, 2000 * MS, MS, &Speed::FULL));
        assert_eq!(*irq, before);
    }
}

#[test]
fn interrupt_time_is_scaled_by_frequency_and_capacity() {
    let kernel = Kernel::of(Release::V7_2);
    let speed = Speed {
        cpu_scale: 512,
        freq_scale: 768,
    };
    let (mut slow, mut full) = (SchedAvg::default(), SchedAvg::default());
    slow.update_irq(&kernel, 64 * MS, 8 * MS, &speed);
    full.update_irq(&kernel, 64 * MS, 3 * MS, &Speed::FULL);
    assert_eq!(slow, full);
    assert!(slow.util_avg > 0);
}

#[test]
fn pelt_time_jumps_while_idle_and_slows_with_the_cpu() {
    let speed = Speed {
        cpu_scale: 512,
        freq_scale: 512,
    };
    let mut clock = PeltClock::default();
    clock.advance(8 * MS, 9 * MS, &speed, false);
    assert_eq!(clock.now(), PeltTime(2 * MS));
    let none = SchedAvg::default();
    clock.enter_idle(9 * MS, &none, &none, &none);
    assert_eq!(clock.now(), PeltTime(8 * MS));
    clock.advance(20 * MS, 21 * MS, &speed, true);
    assert_eq!(clock.now(), PeltTime(20 * MS));
    assert_eq!(
        (clock.idle_wall, clock.idle_pelt),
        (21 * MS, PeltTime(20 * MS))
    );
    // A clock that goes back is ignored.
    clock.advance(19 * MS, 22 * MS, &speed, false);
    assert_eq!(
        (clock.clock_task, clock.now()),
        (20 * MS, PeltTime(20 * MS))
    );
    // Rounds down after each factor.
    assert_eq!(
        Speed {
            cpu_scale: 1023,
            freq_scale: 1023
        }
        .scale(1000),
        998
    );
}

#[test]
fn a_sleeper_leaving_an_idle_cpu_ages_with_the_wall_clock() {
    let clock = PeltClock {
        idle_pelt: PeltTime(100 * MS),
        idle_wall: 130 * MS,
        ..PeltClock::default()
    };
    for kernel in kernels() {
        let on = kernel.has(Feature::PELT_MIGRATE_DECAY);
        let time = |is_idle, queue_ms, throttled| {
            clock.sleeper_time(
                &kernel,
                is_idle,
                PeltTime(queue_ms * MS),
                throttled,
                150 * MS,
            )
        };
        let expect = |ms: u64| on.then_some(PeltTime(ms * MS));
        assert_eq!(time(false, 90, 0), None, "a running CPU's clock is right");
        assert_eq!(time(true, 90, 0), expect(120));
        assert_eq!(time(true, 100, 0), expect(120));
        assert_eq!(time(true, 101, 0), expect(101));
        assert_eq!(time(true, 90, 5 * MS), expect(115));
        assert_eq!(time(true, 98, 5 * MS), expect(98));
    }
}

#[test]
fn a_throttled_queue_stands_still() {
    let at = |ms: u64| PeltTime(ms * MS);
    let mut clock = ThrottledClock::default();
    assert_eq!(clock.now(at(5)), at(5));
    clock.throttle(at(10));
    clock.throttle(at(12));
    assert_eq!(clock.now(at(25)), at(10));
    clock.unthrottle(at(30));
    assert_eq!(clock.now(at(31)), at(11));
    assert_eq!(clock.throttled_ns(), 20 * MS);
    clock.throttle(at(40));
    assert_eq!(clock.now(at(45)), at(20));
    clock.unthrottle(at(50));
    clock.unthrottle(at(55));
    assert_eq!(clock.now(at(60)), at(30));
}
