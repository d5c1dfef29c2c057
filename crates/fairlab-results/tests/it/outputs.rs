//! Published samples of tools' outputs: every file is recognised, and the values are those in it.
//! The expected numbers were read from the files by eye.

use fairlab_results::{By, ReadOptions, assemble, check_claims, read_file};

use crate::support::{check, count, kinds, sample, values};

#[test]
fn every_sample_is_recognised_and_nothing_with_numbers_is_lost() {
    let Some(_) = sample("size-sched-core.txt") else {
        return;
    };
    let root = std::env::var_os("FAIRLAB_DATA").map_or_else(
        || std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        std::path::PathBuf::from,
    );
    let mut files = 0;
    for entry in std::fs::read_dir(root.join("data/outputs")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name == "README.md") {
            continue;
        }
        let document = read_file(&path, &ReadOptions::default()).unwrap();
        assert!(count(&document) > 0, "{}", path.display());
        // Headings and remarks are words; a line that begins with a number is a lost figure.
        for leftover in &document.leftovers {
            let first = leftover.text.trim_start().chars().next();
            assert!(
                !first.is_some_and(|c| c.is_ascii_digit()),
                "{}: {leftover:?}",
                path.display()
            );
        }
        files += 1;
    }
    assert!(files >= 20, "{files}");
}

#[test]
fn bloat_o_meter() {
    let Some(d) = sample("bloat-o-meter-context-switch.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["bloat-o-meter"]);
    assert_eq!(count(&d), 2 * 8);
    check(
        &d,
        &[
            (5, "finish_task_switch@old", 884.0),
            (5, "finish_task_switch@new", 852.0),
            (11, "finish_task_switch.isra@new", 820.0),
            (17, "rt_mutex_schedule@old", 120.0),
            (18, "finish_task_switch@new", 772.0),
            (26, "get_nohz_timer_target@new", 356.0),
            (29, "finish_task_switch.isra@old", 592.0),
        ],
    );
    let claims = check_claims(&d);
    assert_eq!((claims.checked, claims.contradictions.len()), (12, 0));
}

#[test]
fn cyclictest() {
    let Some(d) = sample("cyclictest-two-threads.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["cyclictest"]);
    check(
        &d,
        &[
            (4, "T0 Min", 0.0),
            (4, "T0 Avg", 22.0),
            (4, "T0 Max", 128.0),
            (5, "T1 Avg", 23.0),
            (5, "T1 Max", 70.0),
            (12, "T0 Max", 108.0),
            (13, "T1 Max", 79.0),
        ],
    );
    let results = assemble(&[d], By::Auto);
    assert_eq!(results.series.len(), 2);
    assert_eq!(
        results.series[1].name,
        "The results after the change to dmtimer 15 and 16"
    );
}

#[test]
fn hackbench_and_schbench_under_two_settings() {
    let Some(d) = sample("hackbench-and-schbench-new-parity.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["hackbench", "schbench"]);
    check(
        &d,
        &[
            (5, "Time", 117.487),
            (11, "Time", 101.285),
            (16, "wakeup 50.0th", 4.0),
            (17, "wakeup 90.0th", 3772.0),
            (18, "wakeup 99.0th", 7448.0),
            (19, "wakeup 99.9th", 7976.0),
            (20, "wakeup min", 1.0),
            (20, "wakeup max", 15186.0),
            (24, "request 99.0th", 52288.0),
            (26, "request max", 241_201.0),
            (29, "rps 50.0th", 9392.0),
            (31, "rps max", 10176.0),
            (32, "average rps", 9415.98),
            (40, "wakeup 99.9th", 9296.0),
            (53, "average rps", 9432.06),
        ],
    );
    let results = assemble(&[d], By::Auto);
    let names: Vec<&str> = results.series.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["NO_RUN_TO_PARITY", "RUN_TO_PARITY"]);
    assert_eq!(
        values(&results, "RUN_TO_PARITY", "hackbench", "Time"),
        [101.285]
    );
}

#[test]
fn hackbench_with_wrapped_lines() {
    let Some(d) = sample("hackbench-process-before-after.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["hackbench"]);
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    let results = assemble(&[d], By::Auto);
    assert_eq!(
        values(&results, "Without this change", "", "Time"),
        [4.401, 4.47]
    );
    assert_eq!(
        values(&results, "With this change", "", "Time"),
        [3.782, 3.827]
    );
}

#[test]
fn lmbench_lines() {
    let Some(d) = sample("lmbench-raw-lat-proc.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["lmbench"]);
    let results = assemble(&[d], By::Auto);
    assert_eq!(
        values(&results, "before", "", "fork+exit"),
        [
            294.4118, 279.15, 280.0, 280.0, 277.2222, 286.0, 277.6231, 307.1176, 295.4706, 294.3529
        ]
    );
}

#[test]
fn lmbench_summary_tables() {
    let Some(d) = sample("lmbench-summary-2.0.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["lmbench-summary"]);
    // 4 hosts of 1 + 11 + 7 + 5 figures; RPC was not measured.
    assert_eq!(count(&d), 4 * (1 + 11 + 7 + 5));
    check(
        &d,
        &[
            (10, "Basic system parameters: Mhz@800", 3597.0),
            (20, "Processor, Processes: fork proc@800", 105.0),
            (21, "Processor, Processes: fork proc@disabled", 96.1),
            (20, "Processor, Processes: sh proc@800", 6351.0),
            (22, "Processor, Processes: open clos@enabled", 2.15),
            (22, "Processor, Processes: selct TCP@enabled", 5.587),
            (30, "Context switching: 16p/16K ctxsw@800", 9.1),
            (33, "Context switching: 16p/64K ctxsw@unlimited", 17.9),
            (40, "Local Communication latencies: AF UNIX@800", 15.9),
            (42, "Local Communication latencies: TCP conn@enabled", 48.7),
            (43, "Local Communication latencies: TCP@unlimited", 27.1),
        ],
    );
}

#[test]
fn lscpu_ebizzy_and_lparstat() {
    let Some(d) = sample("lscpu-and-ebizzy-power10-lpar.txt") else {
        return;
    };
    for kind in ["key-value", "lscpu", "ministat", "lparstat"] {
        assert!(kinds(&d).contains(&kind), "{kind}");
    }
    check(
        &d,
        &[
            (2, "smt", 8.0),
            (2, "lcpu", 96.0),
            (2, "mem", 1_066_409_344.0),
            (2, "ent", 64.0),
            (8, "CPU(s)", 768.0),
            (12, "Thread(s) per core", 8.0),
            (17, "L1d cache", 6.0),
            (29, "value.min@6.6.0-rc3", 3_840_178.0),
            (29, "value.mean@6.6.0-rc3", 3_973_936.6),
            (29, "value.stddev@6.6.0-rc3", 84264.456),
            (30, "value.mean@+patch", 3_854_046.0),
            (34, "vcsw@6.6.0-rc3", 276_906_989.0),
            (35, "physc@+patch", 17.7),
            (35, "phint@+patch", 119.0),
            (50, "value.mean@+patch", 19_832_017.0),
            // The poster shifted this line: the label has taken a digit of the first figure.
            (54, "user@66.6.0-rc3", 6.44),
            (54, "%entc@66.6.0-rc3", 147.09),
            (55, "phint@6+patch", 309.0),
        ],
    );
    let claims = check_claims(&d);
    assert!(
        claims.checked >= 6 && claims.contradictions.iter().all(|c| c.may_be_rounding),
        "{claims:?}"
    );
}

#[test]
fn ministat_with_plot_and_without() {
    let Some(d) = sample("ministat-plot-compile-time.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["ministat"]);
    check(
        &d,
        &[
            (9, "value.n@time_before.txt", 10.0),
            (9, "value.min@time_before.txt", 3.657_838_5),
            (9, "value.median@time_before.txt", 3.728_575_8),
            (9, "value.stddev@time_before.txt", 0.045_107_315),
            (10, "value.max@time_after.txt", 3.517_388_9),
            (10, "value.mean@time_after.txt", 3.454_335_4),
        ],
    );
    let claims = check_claims(&d);
    assert_eq!(
        (claims.checked, claims.contradictions.len()),
        (2, 0),
        "{claims:?}"
    );
    let d = sample("ministat-rows-power9.txt").unwrap();
    check(
        &d,
        &[
            (3, "value.mean@x", 46.6766),
            (5, "value.mean@x (2)", 47.9649),
            (9, "value.stddev@x", 2.418_685),
            (11, "value.max@x (2)", 79.24),
        ],
    );
}

#[test]
fn mmtests_tables() {
    let Some(d) = sample("mmtests-dbench-compare.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["mmtests"]);
    assert_eq!(count(&d), 2 * (10 + 16));
    check(
        &d,
        &[
            (4, "Amean 1@tipsched-20200124", 22.63),
            (4, "Amean 1@kworkerstack", 20.54),
            (8, "Amean 64@kworkerstack", 468.26),
            (12, "Stddev 8@kworkerstack", 5.2),
            (18, "Amean 1@kworkerstack-v1r2", 30.21),
            (25, "Amean 128@tipsched-20200124", 1345.26),
            (33, "Stddev 128@kworkerstack-v1r2", 160.34),
        ],
    );
    let claims = check_claims(&d);
    assert_eq!(claims.checked, 26);
    assert!(
        claims.contradictions.iter().all(|c| c.may_be_rounding),
        "{claims:?}"
    );
    let d = sample("mmtests-three-columns-netperf.txt").unwrap();
    assert_eq!(count(&d), 27);
    check(
        &d,
        &[
            (3, "Hmean send-64@vanilla", 251.49),
            (3, "Hmean send-64@localwakelist-v1r2", 305.59),
            (9, "Hmean send-4096@optttwu-v1r1", 13614.09),
            (11, "Hmean send-16384@localwakelist-v1r2", 35986.21),
        ],
    );
}

#[test]
fn pahole_excerpts() {
    let Some(d) = sample("pahole-task-struct-hole.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["pahole"]);
    check(
        &d,
        &[
            (3, "rt_priority offset", 120.0),
            (10, "hole after sched_class", 56.0),
            (13, "se offset", 192.0),
            (13, "se size", 448.0),
            (16, "dl offset", 688.0),
            (26, "se offset", 128.0),
            (29, "dl offset", 624.0),
            (33, "size@before", 7040.0),
            (33, "cachelines@before", 110.0),
            (34, "size@after", 6976.0),
            (34, "members@after", 188.0),
        ],
    );
}

#[test]
fn perf_bench() {
    let Some(d) = sample("perf-bench-pipe-cgroups.txt") else {
        return;
    };
    check(
        &d,
        &[
            (7, "sched/pipe total time", 0.901),
            (9, "sched/pipe usecs/op", 90.1287),
            (10, "sched/pipe ops/sec", 11095.0),
            (20, "sched/pipe usecs/op", 6.5601),
            (21, "sched/pipe ops/sec", 152_436.0),
        ],
    );
    let d = sample("perf-bench-sched-all.txt").unwrap();
    assert_eq!(kinds(&d), ["perf-bench"]);
    check(
        &d,
        &[
            (8, "sched/messaging total time", 0.034),
            (13, "sched/pipe total time", 8.21),
            (15, "sched/pipe usecs/op", 8.2106),
            (16, "sched/pipe ops/sec", 121_793.0),
            (25, "sched/messaging total time", 0.032),
            (33, "sched/pipe ops/sec", 123_798.0),
        ],
    );
    let results = assemble(&[d], By::Auto);
    let names: Vec<&str> = results.series.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["before the patch", "after the patch"]);
}

#[test]
fn perf_sched_latency() {
    let Some(d) = sample("perf-sched-latency.txt") else {
        return;
    };
    check(
        &d,
        &[
            (6, "netperf runtime", 21709.193),
            (6, "netperf switches", 2932.0),
            (7, "netserver max delay", 1615.864),
            (10, "netperf max delay", 0.059),
            (11, "netserver switches", 7_279_005.0),
            (11, "netserver max delay", 0.362),
        ],
    );
    let results = assemble(&[d], By::Auto);
    let names: Vec<&str> = results.series.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["vanilla", "localwakelist-v1r2"]);
}

#[test]
fn schbench_new_with_remarks_and_mpstat() {
    let Some(d) = sample("schbench-new-power-5-cores.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["schbench", "mpstat", "schbench", "mpstat"]);
    check(
        &d,
        &[
            (6, "wakeup 99.0th", 36.0),
            (8, "wakeup max", 731.0),
            (10, "rps 20.0th", 1_443_840.0),
            (14, "average rps", 1_442_889.23),
            (17, "all %usr", 3.24),
            (18, "all %idle", 48.23),
            (24, "wakeup 99.0th", 182.0),
            (32, "average rps", 907_530.1),
            (36, "all %soft", 0.05),
            (36, "all %idle", 76.9),
        ],
    );
}

#[test]
fn schbench_old_with_five_runs_each() {
    let Some(d) = sample("schbench-old-repeated-runs.txt") else {
        return;
    };
    let results = assemble(&[d], By::Auto);
    assert_eq!(
        values(&results, "Baseline (5 runs)", "", "latency 99.0th"),
        [981.0, 495.0, 1326.0, 55.0, 711.0]
    );
    assert_eq!(
        values(&results, "SIS_CACHE (5 runs)", "", "latency 99.0th"),
        [1894.0, 2396.0, 2132.0, 1090.0, 1786.0]
    );
    assert_eq!(
        values(&results, "SIS_CACHE (5 runs)", "", "latency max"),
        [19157.0, 24029.0, 25313.0, 27264.0, 24754.0]
    );
}

#[test]
fn two_columns_side_by_side() {
    let Some(d) = sample("schbench-old-two-columns-power.txt") else {
        return;
    };
    for kind in ["ministat", "schbench", "perf-bench"] {
        assert!(kinds(&d).contains(&kind), "{kind}");
    }
    check(
        &d,
        &[
            (5, "value.mean@column 1", 1_165_914.0),
            (5, "value.stddev@column 2", 67363.28),
            (9, "latency 50.0th@column 1", 455.0),
            (9, "latency 50.0th@column 2", 454.0),
            (13, "latency 99.0th@column 2", 805.0),
            (16, "latency max@column 2", 2833.0),
            (24, "sched/pipe usecs/op@column 1", 6.083_576),
            (25, "sched/pipe ops/sec@column 2", 158_646.0),
            (32, "value.median@column 2", 1_180_522.0),
            (43, "latency max@column 1", 8405.0),
            (52, "sched/pipe ops/sec@column 2", 191_658.0),
            (58, "value.mean@column 1", 1_689_137.6),
            (69, "latency max@column 2", 27031.0),
            (78, "sched/pipe ops/sec@column 1", 166_279.0),
        ],
    );
}

#[test]
fn schedstat() {
    let Some(d) = sample("schedstat-domains-sapphire-rapids.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["schedstat"]);
    check(
        &d,
        &[
            (12, "cpu0 run time", 15_968_391_465.0),
            (12, "cpu0 run delay", 3_630_455_022.0),
            (12, "cpu0 timeslices", 18084.0),
            (13, "cpu0 domain0 CPUs", 2.0),
            (14, "cpu0 domain1 CPUs", 28.0),
            (15, "cpu0 domain2 CPUs", 112.0),
            (16, "cpu0 domain3 CPUs", 224.0),
            (16, "cpu0 domain3 field 36", 0.0),
        ],
    );
}

#[test]
fn size_of_object_files() {
    let Some(d) = sample("size-sched-core.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["size"]);
    check(
        &d,
        &[
            (3, "text@before", 66446.0),
            (3, "dec@before", 86079.0),
            (4, "text@after", 66398.0),
            (4, "data@after", 18957.0),
            (4, "bss@after", 676.0),
            (4, "dec@after", 86031.0),
        ],
    );
    let claims = check_claims(&d);
    assert_eq!(
        (claims.checked, claims.contradictions.len()),
        (4, 0),
        "{claims:?}"
    );
}

#[test]
fn system_maps() {
    let Some(d) = sample("system-map-percpu-layout.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["system-map"]);
    check(
        &d,
        &[
            (5, "sd_asym_cpucapacity", f64::from(0x20518)),
            (12, "sd_llc", f64::from(0x20540)),
            (19, "sd_cluster", f64::from(0x20530)),
            (25, "sd_llc", f64::from(0x20550)),
            (38, "sd_share_id", f64::from(0x20548)),
            (39, "sd_cluster", f64::from(0x20550)),
        ],
    );
    let results = assemble(&[d], By::Auto);
    assert_eq!(results.series.len(), 3);
}

#[test]
fn tbench_and_turbostat() {
    let Some(d) = sample("tbench-throughput-line.txt") else {
        return;
    };
    assert_eq!(kinds(&d), ["tbench", "turbostat"]);
    check(
        &d,
        &[
            (2, "Throughput 1 clients", 225.554),
            (2, "max_latency 1 clients", 9.904),
            (4, "all %c0", 36.78),
            (5, "cr 0 CPU 0 %c0", 24.47),
            (7, "cr 1 CPU 2 %c6", 0.09),
            (7, "cr 1 CPU 2 %c7", 25.99),
        ],
    );
}
