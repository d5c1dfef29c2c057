//! The forms of `perf stat` and `perf bench`; numbers are made up.

use fairlab_results::{By, Direction, assemble};

use crate::support::{check, figures, one, rows, value, values};

#[test]
fn intervals_of_perf_stat_are_values_of_one_row() {
    let text = "# started on Mon Nov 30 22:50:10 2026\n\n\
         #           time             counts unit events\n\
         \x20    0.100164495               1.16 msec task-clock                       #    0.012 CPUs utilized          \n\
         \x20    0.100164495                  1      context-switches                 #  859.031 /sec                   \n\
         \x20    0.100164495    <not supported>      cycles\n\
         \x20    0.200166464      <not counted> msec task-clock\n\
         \x20    0.200166464                  4      context-switches                 #  759.031 /sec\n\
         \x20    0.200166464    <not supported>      cycles\n\
         #           time             counts unit events\n\
         \x20    0.240161000               0.50 msec task-clock                       #    0.012 CPUs utilized          \n\
         \x20    0.240161000                  3      context-switches                 #  859.031 /sec\n";
    let d = one(text, "perf-stat");
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    assert!(
        d.notes[0].contains("first 0.100 s long") && d.notes[0].contains("only 0.040 s long"),
        "{:?}",
        d.notes
    );
    assert_eq!(d.notes[1], "perf stat did not count cycles");
    let results = assemble(&[d], By::Auto);
    assert_eq!(values(&results, "text", "", "task-clock"), [1.16, 0.5]);
    assert_eq!(
        values(&results, "text", "", "context-switches"),
        [1.0, 4.0, 3.0]
    );
    assert_eq!(results.series[0].rows[0].unit, "ms");
}

#[test]
fn intervals_with_separators_and_as_json_say_the_same() {
    let separated = "     0.100164495,1.16,msec,task-clock,1160000,100.00,0.012,CPUs utilized\n\
         \x20    0.100164495,1,,context-switches,1160000,100.00,859.031,/sec\n\
         \x20    0.200166464,<not counted>,msec,task-clock,0,100.00,,\n\
         \x20    0.200166464,4,,context-switches,1160000,100.00,759.031,/sec\n";
    let json = r#"{"interval" : 0.100164495, "counter-value" : "1.160000", "unit" : "msec", "event" : "task-clock", "event-runtime" : 1160000, "pcnt-running" : 100.00, "metric-value" : 0.012, "metric-unit" : "CPUs utilized"}
{"interval" : 0.100164495, "counter-value" : "1.000000", "unit" : "", "event" : "context-switches", "event-runtime" : 1160000, "pcnt-running" : 100.00, "metric-value" : 859.031, "metric-unit" : "/sec"}
{"interval" : 0.200166464, "counter-value" : "<not counted>", "unit" : "msec", "event" : "task-clock", "event-runtime" : 0, "pcnt-running" : 100.00, "metric-value" : 0.000000, "metric-unit" : ""}
{"interval" : 0.200166464, "counter-value" : "4.000000", "unit" : "", "event" : "context-switches", "event-runtime" : 1160000, "pcnt-running" : 100.00, "metric-value" : 759.031, "metric-unit" : "/sec"}
"#;
    for text in [separated, json] {
        let results = assemble(&[one(text, "perf-stat")], By::Auto);
        assert_eq!(values(&results, "text", "", "task-clock"), [1.16]);
        assert_eq!(values(&results, "text", "", "context-switches"), [1.0, 4.0]);
    }
}

#[test]
fn json_of_perf_stat_stands_between_lines_of_the_command() {
    let d = one(
        "# started on Mon Nov 30 22:50:10 2026\n\n\
         {\"counter-value\" : \"1.418690\", \"unit\" : \"msec\", \"event\" : \"task-clock\", \"event-runtime\" : 1418690, \"pcnt-running\" : 100.00}\n\
         {\"cpu\" : \"1\", \"counter-value\" : \"<not supported>\", \"unit\" : \"\", \"event\" : \"cycles\", \"event-runtime\" : 0, \"pcnt-running\" : 100.00}\n\
         {\"cpu\" : \"1\", \"counter-value\" : \"74.000000\", \"unit\" : \"\", \"event\" : \"page-faults\", \"event-runtime\" : 1418690, \"pcnt-running\" : 100.00}\n",
        "perf-stat",
    );
    check(
        &d,
        &[(3, "task-clock", 1.41869), (5, "CPU1 page-faults", 74.0)],
    );
    assert!(d.leftovers.is_empty());
}

#[test]
fn the_error_of_repeated_runs_is_kept_where_their_number_is_not_said() {
    let separated = "1.20;msec;task-clock;5.00%;1331918;100.00;0.021;CPUs utilized\n\
         74;;page-faults;0.00%;1331918;100.00;58.478;K/sec\n\
         <not supported>;;cycles;0.00%;0;100.00;;\n";
    let json = r#"{"counter-value" : "1.200000", "unit" : "msec", "event" : "task-clock", "variance" : 5.00, "event-runtime" : 1331918, "pcnt-running" : 100.00}
{"counter-value" : "74.000000", "unit" : "", "event" : "page-faults", "variance" : 0.00, "event-runtime" : 1331918, "pcnt-running" : 100.00}
"#;
    for text in [separated, json] {
        let d = one(text, "perf-stat");
        assert!(d.notes[0].contains("N is unknown"), "{:?}", d.notes);
        let clock = figures(&d, "task-clock");
        assert_eq!((clock.n, clock.mean, clock.stddev), (None, Some(1.2), None));
        assert!((clock.sem.unwrap() - 0.06).abs() < 1e-12);
        assert_eq!(figures(&d, "page-faults").sem, Some(0.0));
    }
}

#[test]
fn runs_without_a_printed_spread_were_all_equal_and_their_table_is_read() {
    let d = one(
        " Performance counter stats for 'sleep 0.05' (3 runs):\n\n\
         \x20             1.22 msec task-clock                       #    0.020 CPUs utilized            ( +-  3.00% )\n\
         \x20                1      context-switches                 #  771.227 /sec                   \n\n\
         \x20          # Table of individual measurements:\n\
         \x20          0.07220 (+0.01226) ####\n\
         \x20          0.05430 (-0.00564) ###\n\
         \x20          0.05332 (-0.00662) ###\n\n\
         \x20          # Final result:\n\
         \x20          0.05994 +- 0.00614 seconds time elapsed  ( +- 10.24% )\n",
        "perf-stat",
    );
    check(
        &d,
        &[
            (4, "context-switches.n", 3.0),
            (4, "context-switches.stddev", 0.0),
        ],
    );
    let results = assemble(&[d], By::Auto);
    assert_eq!(
        values(&results, "text", "", "time elapsed"),
        [0.0722, 0.0543, 0.05332]
    );
}

#[test]
fn perf_stat_says_where_it_counted() {
    let d = one(
        " Performance counter stats for 'system wide':\n\n\
         S0        2                 76      context-switches                 #  681.052 /sec\n\
         S0-D0-C1  1             111.59 msec cpu-clock                        #    1.994 CPUs utilized\n\
         \x20           bash-7048                 12      page-faults\n\n\
         \x20      0.055965263 seconds time elapsed\n",
        "perf-stat",
    );
    check(
        &d,
        &[
            (3, "S0 context-switches", 76.0),
            (4, "S0-D0-C1 cpu-clock", 111.59),
            (5, "bash-7048 page-faults", 12.0),
            (7, "time elapsed", 0.055_965_263),
        ],
    );
    let d = one(
        "S0-D0-C0,1,27,,context-switches,61522966,100.00,438.881,/sec\n\
         S0-D0-C1,1,61.54,msec,cpu-clock,61541222,100.00,1.000,CPUs utilized\n",
        "perf-stat",
    );
    check(
        &d,
        &[
            (1, "S0-D0-C0 context-switches", 27.0),
            (2, "S0-D0-C1 cpu-clock", 61.54),
        ],
    );
}

#[test]
fn functions_of_perf_bench_mem_are_rows() {
    let d = one(
        "# Running 'mem/memcpy' benchmark:\n\
         # function 'default' (Default memcpy() provided by glibc)\n\
         # Copying 1MB bytes ...\n\n\
         \x20      4.695012 GB/sec\n\
         # function 'x86-64-movsb' (movsb-based memcpy() in arch/x86/lib/memcpy_64.S)\n\
         # Copying 1MB bytes ...\n\n\
         \x20      6.220143 GB/sec\n",
        "perf-bench",
    );
    check(
        &d,
        &[
            (5, "mem/memcpy default bandwidth", 4.695_012),
            (9, "mem/memcpy x86-64-movsb bandwidth", 6.220_143),
        ],
    );
    assert_eq!(rows(&d)[0].unit, "GB/s");
    assert_eq!(rows(&d)[0].better, Some(Direction::HigherIsBetter));
    // -f simple; 9198035087 bytes are no 9.198 GB/s of 1024 * 1024 * 1024.
    let d = one(
        "# function 'default' (Default memcpy() provided by glibc)\n9198035087.719297\n\
         # function 'x86-64-movsq' (movsq-based memcpy() in arch/x86/lib/memcpy_64.S)\n4387347280.334728\n",
        "perf-bench",
    );
    check(
        &d,
        &[
            (2, "mem default bandwidth", 9_198_035_087.719_297),
            (4, "mem x86-64-movsq bandwidth", 4_387_347_280.334_728),
        ],
    );
    assert_eq!(rows(&d)[0].unit, "B/s");
}

#[test]
fn futex_and_epoll_of_perf_bench_give_means_over_threads_and_times_of_runs() {
    let d = one(
        "# Running 'futex/hash' benchmark:\n\
         Run summary [PID 28146]: 2 threads, each operating on 1024 [private] futexes for 1 secs.\n\n\
         [thread  0] futexes: 0x55fa345163b0 ... 0x55fa345173ac [ 331776 ops/sec ]\n\
         [thread  1] futexes: 0x55fa34517650 ... 0x55fa3451864c [ 313344 ops/sec ]\n\n\
         Averaged 322560 operations/sec (+- 2.86%), total secs = 1\n\n\
         # Running 'futex/wake' benchmark:\n\
         Run summary [PID 28239]: blocking on 2 threads (at [private] futex 0x5646e5fa0b58), waking up 1 at a time.\n\n\
         [Run 1]: Wokeup 2 of 2 threads in 0.3160 ms\n\
         [Run 2]: Wokeup 2 of 2 threads in 0.0180 ms\n\
         [Run 3]: Wokeup 2 of 2 threads in 0.1240 ms\n\
         Wokeup 2 of 2 threads in 0.1527 ms (+-57.00%)\n\n\
         # Running 'futex/wake-parallel' benchmark:\n\
         Run summary [PID 11139]: blocking on 4 threads (at [private] futex 0x559fada52cf8), 2 threads waking up 2 at a time.\n\n\
         [Run 1]: Avg per-thread latency (waking 2/4 threads) in 0.2565 ms (+-65.69%)\n\
         [Run 2]: Avg per-thread latency (waking 2/4 threads) in 0.1580 ms (+-25.32%)\n\
         Avg per-thread latency (waking 2/4 threads) in 0.2072 ms (+-23.76%)\n\n\
         # Running 'epoll/ctl' benchmark:\n\
         Run summary [PID 11429]: 1 threads doing epoll_ctl ops 64 file-descriptors for 1 secs.\n\n\
         [thread  0] fdmap: 0x55ef0e4583b0 ... 0x55ef0e4584ac [ add: 104128 ops; mod: 104128 ops; del: 104128 ops ]\n\n\
         Averaged 104128 ADD operations (+- 0.00%)\n\
         Averaged 104127 MOD operations (+- 0.00%)\n\
         Averaged 104126 DEL operations (+- 0.00%)\n",
        "perf-bench",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    check(
        &d,
        &[
            (7, "futex/hash ops/sec per thread", 322_560.0),
            (29, "epoll/ctl ADD operations per thread", 104_128.0),
            (31, "epoll/ctl DEL operations per thread", 104_126.0),
        ],
    );
    let results = assemble(&[d], By::Auto);
    assert_eq!(
        values(&results, "text", "", "futex/wake time"),
        [0.316, 0.018, 0.124]
    );
    assert_eq!(
        values(&results, "text", "", "futex/wake-parallel time"),
        [0.2565, 0.158]
    );
    // Without the runs (-s), the mean and its error are left.
    let d = one(
        "# Running 'futex/requeue' benchmark:\nRequeued 2 of 2 threads in 0.0100 ms (+-20.00%)\n",
        "perf-bench",
    );
    let time = figures(&d, "futex/requeue time");
    assert_eq!((time.n, time.mean), (None, Some(0.01)));
    assert!((time.sem.unwrap() - 0.002).abs() < 1e-12);
}

#[test]
fn internals_numa_and_breakpoints_of_perf_bench() {
    let d = one(
        "# Running 'internals/synthesize' benchmark:\n\
         Computing performance of single threaded perf event synthesis by\n\
         synthesizing events on the perf process itself:\n\
         \x20 Average synthesis took: 375.850 usec (+- 21.721 usec)\n\
         \x20 Average num. events: 31.000 (+- 0.000)\n\
         \x20 Average time per event 12.124 usec\n\
         \x20 Average data synthesis took: 366.200 usec (+- 5.939 usec)\n\
         \x20 Average num. events: 175.000 (+- 0.000)\n\n\
         # Running 'internals/evlist-open-close' benchmark:\n\
         \x20 Number of cpus:\t2\n\
         \x20 Number of events:\t1 (2 fds)\n\
         \x20 Average open-close took: 6792.000 usec (+- 3960.000 usec)\n\n\
         # Running 'numa/mem' benchmark:\n\n\
         \x20# Running main, \"perf bench numa numa-mem -p 1 -t 1 -P 8 -l 1 -s 1\"\n\
         #\n\
         #\n\n\
         \x20###\n\
         \x20# 1 task will execute (on 1 nodes, 2 CPUs):\n\
         \x20###\n\n\
         \x20main,                                    0.007, secs,           runtime-max/thread\n\
         \x20main,                                    0.755, nsecs,          runtime/byte/thread\n\
         \x20main,                                    1.324, GB/sec,         thread-speed\n\n\
         # Running 'breakpoint/thread' benchmark:\n\
         # Created/joined 10 threads with 1 breakpoints and 1 parallelism\n\
         \x20    Total time: 0.005 [sec]\n\n\
         \x20    545.600000 usecs/op\n\
         \x20    545.700000 usecs/op/cpu\n",
        "perf-bench",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    check(
        &d,
        &[
            (4, "internals/synthesize synthesis time", 375.85),
            (5, "internals/synthesize synthesis num. events", 31.0),
            (8, "internals/synthesize data synthesis num. events", 175.0),
            (13, "internals/evlist-open-close open-close time", 6792.0),
            (25, "numa/mem main, runtime-max/thread", 0.007),
            (27, "numa/mem main, thread-speed", 1.324),
            (33, "breakpoint/thread usecs/op", 545.6),
            (34, "breakpoint/thread usecs/op/cpu", 545.7),
        ],
    );
    let time = figures(&d, "internals/synthesize synthesis time");
    assert_eq!((time.n, time.sem), (None, Some(21.721)));
    assert_eq!(value(&d, 26, "numa/mem main, runtime/byte/thread"), 0.755);
}
