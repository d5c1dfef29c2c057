//! Further forms of tools: cyclictest, time, lmbench, vmstat, stress-ng, sysbench, JSON.

use fairlab_results::{By, Direction, assemble};

use crate::support::{check, figures, kinds, one, read, rows, values};

#[test]
fn the_histogram_of_cyclictest_is_a_distribution_and_no_csv() {
    let d = one(
        "# /dev/cpu_dma_latency set to 0us\n# Histogram\n\
         000010 000089\t000000\n000011 000001\t000000\n000012 000009\t000003\n000040 000001\t000001\n\
         # Total: 000000100 000000004\n# Min Latencies: 00010 00012\n# Avg Latencies: 00010 00252\n\
         # Max Latencies: 00040 18026\n# Histogram Overflows: 00000 00012\n\
         # Histogram Overflow at cycle number:\n# Thread 0:\n# Thread 1: 00000 00001 # 00007 others\n",
        "cyclictest",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    check(
        &d,
        &[
            (2, "T0 Min", 10.0),
            (2, "T0 Avg", 10.0),
            (2, "T0 Max", 40.0),
            (2, "T0 latency.n", 100.0),
            (2, "T0 latency.median", 10.0),
            (2, "T0 99.0th", 12.0),
            (2, "T0 99.9th", 40.0),
            (2, "T1 Max", 18026.0),
            (2, "T1 latency.n", 16.0),
        ],
    );
    assert!(rows(&d).iter().all(|row| row.unit == "us"));
    // Twelve of sixteen latencies were not kept: the half is not known.
    assert_eq!(figures(&d, "T1 latency").median, None);
    assert!(!rows(&d).iter().any(|row| row.name == "T1 99.0th"));
    assert!(
        d.notes[0].contains("12 of 16 latencies of thread 1"),
        "{:?}",
        d.notes
    );
}

#[test]
fn cyclictest_in_json_and_verbose_lines() {
    let d = one(
        r#"{"file_version": 1, "rt_test_version:": "2.40", "num_threads": 2, "thread": {
            "0": {"histogram": {"58": 3, "60": 1}, "cycles": 4, "min": 58, "max": 60, "avg": 58.5, "cpu": 0},
            "1": {"histogram": {}, "cycles": 642, "min": 43, "max": 5722, "avg": 162.60, "cpu": 1}}}"#,
        "cyclictest",
    );
    check(
        &d,
        &[
            (1, "T0 Min", 58.0),
            (1, "T0 latency.n", 4.0),
            (1, "T0 90.0th", 60.0),
            (1, "T1 Avg", 162.6),
            (1, "T1 Max", 5722.0),
        ],
    );
    let d = one(
        "Max CPUs = 2\nOnline CPUs = 2\n# /dev/cpu_dma_latency set to 0us\nThread 0 Interval: 1500\n\
         \x20      0:       0:    2187\n       0:       1:    3294\n       0:       2:    1462\n",
        "cyclictest",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    assert_eq!(figures(&d, "T0 latency").n, Some(3));
}

#[test]
fn gnu_time_in_both_forms_has_the_same_rows() {
    let verbose = one(
        "\tCommand being timed: \"true\"\n\tUser time (seconds): 0.25\n\tSystem time (seconds): 0.50\n\
         \tPercent of CPU this job got: 98%\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:01.50\n\
         \tAverage shared text size (kbytes): 0\n\tMaximum resident set size (kbytes): 1080\n\
         \tMajor (requiring I/O) page faults: 2\n\tMinor (reclaiming a frame) page faults: 71\n\
         \tVoluntary context switches: 1\n\tPage size (bytes): 4096\n\tExit status: 0\n",
        "time",
    );
    assert!(verbose.leftovers.is_empty());
    let short = one(
        "0.25user 0.50system 0:01.50elapsed 98%CPU (0avgtext+0avgdata 1080maxresident)k\n\
         0inputs+8outputs (2major+71minor)pagefaults 0swaps\n",
        "time",
    );
    assert!(short.leftovers.is_empty());
    for (name, value) in [
        ("user", 0.25),
        ("sys", 0.5),
        ("real", 1.5),
        ("CPU", 98.0),
        ("max resident", 1080.0),
        ("major faults", 2.0),
        ("minor faults", 71.0),
    ] {
        assert_eq!(figures(&verbose, name).mean, Some(value), "{name}");
        assert_eq!(figures(&short, name).mean, Some(value), "{name}");
    }
}

#[test]
fn programs_of_lmbench_without_words() {
    let d = one(
        "\n\"size=0k ovr=3.82\n2 5.99\n4 25.14\n\n\"size=16k ovr=4.77\n2 3.80\n\n\
         \"stride=64\n0.00049 3.643\n1.00000 12.5\n\n\
         3004 MHz, 0.3329 nanosec clock\n0.065536 1234.5 MB/sec\nPipe latency: 10.8380 microseconds\n\
         Simple open/close: 3.8706 microseconds\nAF_UNIX sock stream bandwidth: 2069.74 MB/sec\n\
         Select on 10 fd's: 2.4325 microseconds\nusleep 100 microseconds: 504.3692 microseconds\n\
         0k\t531\t40294\t63106\n1k\t369\t18015\t38037\n4k\t377\t4208\t30361\n10k\t273\t13565\t31880\n",
        "lmbench",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    check(
        &d,
        &[
            (3, "lat_ctx 2p/0K", 5.99),
            (4, "lat_ctx 4p/0K", 25.14),
            (7, "lat_ctx 2p/16K", 3.8),
            (10, "lat_mem_rd stride 64 size 0.00049 MB", 3.643),
            (13, "clock", 3004.0),
            (14, "bandwidth 0.065536 MB", 1234.5),
            (15, "Pipe latency", 10.838),
            (17, "AF_UNIX sock stream bandwidth", 2069.74),
            (19, "usleep 100 microseconds", 504.3692),
            (20, "lat_fs 0k creations", 40294.0),
            (23, "lat_fs 10k deletions", 31880.0),
        ],
    );
    assert_eq!(
        (rows(&d)[0].unit.as_str(), rows(&d)[3].unit.as_str()),
        ("us", "ns")
    );
}

#[test]
fn vmstat_leaves_out_the_mean_since_the_start() {
    let d = one(
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n\
         \x20r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
         \x205  0      0 2382560  94300 21750044    0    0   874  2895  425 1221 79  9 11  0  1\n\
         \x206  0      0 2382561  94300 21750044    0    0     0     0  730  994 94  7  0  0  0\n\
         procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n\
         \x20r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC\n\
         \x204  1      0 2382562  94300 21750044    0    0     0     0  740  996 96  5  0  0  0 2026-11-30 23:04:43\n",
        "vmstat",
    );
    assert!(d.notes[0].contains("left out"), "{:?}", d.notes);
    let results = assemble(&[d], By::Auto);
    assert_eq!(values(&results, "text", "", "r"), [6.0, 4.0]);
    assert_eq!(values(&results, "text", "", "cs"), [994.0, 996.0]);
    assert_eq!(results.series[0].row("", "free").unwrap().unit, "KiB");
}

#[test]
fn stress_ng_says_the_same_in_text_and_yaml() {
    let text = one(
        "stress-ng: metrc: [924] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s CPU used per       RSS Max\n\
         stress-ng: metrc: [924] switch            89571      1.00      0.02      0.69     89492.92      124228.17        72.03          2564\n\
         stress-ng: metrc: [924] miscellaneous metrics:\n\
         stress-ng: metrc: [924] switch             11157.90 nanosecs per context switch (pipe method) (geometic mean of 1 instances)\n\
         stress-ng: metrc: [924] pipe                  40.53 MB per sec pipe write rate (geometic mean of 1 instances)\n",
        "stress-ng",
    );
    check(
        &text,
        &[
            (2, "switch bogo ops/s (real time)", 89492.92),
            (
                4,
                "switch nanosecs per context switch (pipe method)",
                11157.9,
            ),
            (5, "pipe MB per sec pipe write rate", 40.53),
        ],
    );
    let yaml = one(
        "---\nsystem-info:\n      stress-ng-version: 0.15.06\n      date-yyyy-mm-dd: 2026:11:30\n\
         \x20     compiler: 'gcc 12.2.0'\n      uptime: 38955\n\n\
         metrics:\n    - stressor: switch\n      bogo-ops: 89571\n      bogo-ops-per-second-real-time: 89492.928733\n\
         \x20     max-rss: 2564\n      nanosecs-per-context-switch-pipe-method: 11157.904857\n\n...\n",
        "stress-ng",
    );
    assert!(yaml.leftovers.is_empty(), "{:?}", yaml.leftovers);
    check(
        &yaml,
        &[
            (10, "switch bogo ops", 89571.0),
            (11, "switch bogo ops/s (real time)", 89_492.928_733),
            (
                13,
                "switch nanosecs per context switch pipe method",
                11_157.904_857,
            ),
        ],
    );
    let last = rows(&yaml)[3];
    assert_eq!(
        (last.unit.as_str(), last.better),
        ("ns", Some(Direction::LowerIsBetter))
    );
}

#[test]
fn a_value_with_colons_is_no_number_with_a_long_name() {
    assert!(kinds(&read("date-yyyy-mm-dd: 2026:11:30\n")).is_empty());
    let d = one("Latency: avg: 5 us\nwhen 10:30: 7\n", "key-value");
    check(&d, &[(1, "Latency: avg", 5.0), (2, "when 10:30", 7.0)]);
}

#[test]
fn interim_reports_of_sysbench_are_a_series() {
    let d = one(
        "Report intermediate results every 1 second(s)\n\n\
         [ 1s ] thds: 1 eps: 781.84 lat (ms,95%): 9.73\n\
         [ 2s ] thds: 1 eps: 677.92 lat (ms,95%): 10.65\n\
         [ 3s ] thds: 4 tps: 12.50 qps: 250.00 (r/w/o: 175.00/50.00/25.00) lat (ms,95%): 8.43 err/s: 0.00 reconn/s: 0.00\n\
         CPU speed:\n    events per second:   752.75\n",
        "sysbench",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    let results = assemble(&[d], By::Auto);
    let row = |name: &str| values(&results, "text", "", name);
    assert_eq!(row("interval events per second"), [781.84, 677.92]);
    assert_eq!(row("interval latency 95th percentile"), [9.73, 10.65, 8.43]);
    assert_eq!(row("interval queries per second"), [250.0]);
    assert_eq!(row("events per second"), [752.75]);
}

#[test]
fn iperf_and_fio_in_json_give_what_they_are_run_for() {
    let d = one(
        r#"{"start": {"version": "iperf 3.12"},
            "intervals": [{"streams": [], "sum": {"bits_per_second": 1.0e10, "omitted": false}},
                          {"streams": [], "sum": {"bits_per_second": 1.2e10, "omitted": false}}],
            "end": {"streams": [{"sender": {"socket": 5}}],
                    "sum_sent": {"bits_per_second": 1.1e10, "retransmits": 3},
                    "sum_received": {"bits_per_second": 1.09e10},
                    "cpu_utilization_percent": {"host_total": 28.5, "remote_total": 24.25}}}"#,
        "iperf",
    );
    check(
        &d,
        &[
            (1, "bandwidth sender", 11_000.0),
            (1, "bandwidth receiver", 10_900.0),
            (1, "retransmits", 3.0),
            (1, "CPU of this host", 28.5),
        ],
    );
    assert_eq!(figures(&d, "bandwidth of intervals").max, Some(12_000.0));
    assert_eq!(rows(&d).len(), 6);
    let d = one(
        r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "j", "usr_cpu": 1.5, "ctx": 12,
            "read": {"total_ios": 100, "iops": 5000.5, "bw": 20002, "slat_ns": {"mean": 0.0, "N": 0},
                     "clat_ns": {"min": 10, "max": 90, "mean": 50.5, "stddev": 2.5, "N": 100,
                                 "percentile": {"99.000000": 80, "99.900000": 88}}},
            "write": {"total_ios": 0, "iops": 0.0, "bw": 0}}]}"#,
        "fio",
    );
    check(
        &d,
        &[
            (1, "j read iops", 5000.5),
            (1, "j read bandwidth", 20002.0),
            (1, "j read clat.n", 100.0),
            (1, "j read clat 99.0th", 80.0),
            (1, "j read clat 99.9th", 88.0),
        ],
    );
    assert!(!rows(&d).iter().any(|row| row.name.contains("write")));
}

#[test]
fn the_log_of_rt_app_gives_a_value_per_loop() {
    let d = one(
        "# Policy : SCHED_OTHER priority : 0\n\
         #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat\n\
         \x20  0    10000     1273    10074     39851035332     39851045406             312       8691       1000      10000        104\n\
         \x20  0    10000      354     9988     39851045431     39851055419           10411       9515       1000      10000        116\n",
        "rt-app",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    let results = assemble(&[d], By::Auto);
    assert_eq!(values(&results, "text", "", "run"), [1273.0, 354.0]);
    assert_eq!(values(&results, "text", "", "slack"), [8691.0, 9515.0]);
    assert_eq!(values(&results, "text", "", "wu_lat"), [104.0, 116.0]);
    let slack = results.series[0].row("", "slack").unwrap();
    assert_eq!(
        (slack.unit.as_str(), slack.better),
        ("us", Some(Direction::HigherIsBetter))
    );
}

#[test]
fn reports_of_schbench_on_the_way_are_no_further_runs() {
    let block = |seconds: u32, value: u32| {
        format!(
            "Wakeup Latencies percentiles (usec) runtime {seconds} (s) (100 total samples)\n\
             \t  50.0th: {value}          (50 samples)\n\t* 99.0th: 40         (9 samples)\n\t  min=1, max=731\n\
             RPS percentiles (requests) runtime {seconds} (s) (11 total samples)\n\
             \t  20.0th: {}       (3 samples)\n\t  min=1, max=900\n",
            800 + value
        )
    };
    let text = format!(
        "{}current rps: 850.10\n{}sched delay: message 12 (usec) worker 34 (usec)\naverage rps: 842.50\n",
        block(10, 7),
        block(20, 8)
    );
    let d = one(&text, "schbench");
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    let results = assemble(&[d], By::Auto);
    let row = |name: &str| values(&results, "text", "", name);
    assert_eq!(row("wakeup 50.0th"), [8.0]);
    assert_eq!(row("rps 20.0th"), [808.0]);
    assert_eq!(row("sched delay worker"), [34.0]);
    assert_eq!(row("average rps"), [842.5]);
    // Two runs of the same length are two values.
    let d = one(&(block(10, 7) + &block(10, 9)), "schbench");
    let results = assemble(&[d], By::Auto);
    assert_eq!(values(&results, "text", "", "wakeup 50.0th"), [7.0, 9.0]);
}

#[test]
fn several_runs_of_hackbench_in_one_file_are_values_of_one_row() {
    let run = "Running in process mode with 1 groups using 40 file descriptors each (== 40 tasks)\n\
               Each sender will pass 20 messages of 100 bytes\nTime: ";
    let d = one(
        &format!("{run}0.027\n{run}0.031\n{run}0.029\n"),
        "hackbench",
    );
    let results = assemble(&[d], By::Auto);
    assert_eq!(values(&results, "text", "", "Time"), [0.027, 0.031, 0.029]);
}

#[test]
fn pgbench_wrk_redis_and_unixbench() {
    let d = one(
        "pgbench (15.3)\nstarting vacuum...end.\nprogress: 5.0 s, 1234.5 tps, lat 8.100 ms stddev 3.200, 0 failed\n\
         transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\nnumber of clients: 10\n\
         number of threads: 2\nmaximum number of tries: 1\nduration: 10 s\n\
         number of transactions actually processed: 12345\nnumber of failed transactions: 0 (0.000%)\n\
         latency average = 8.100 ms\nlatency stddev = 3.200 ms\ninitial connection time = 12.300 ms\n\
         tps = 1234.567890 (without initial connection time)\n",
        "pgbench",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    check(
        &d,
        &[
            (3, "interval tps", 1234.5),
            (13, "latency average", 8.1),
            (16, "tps", 1_234.567_89),
        ],
    );
    let d = one(
        "Running 30s test @ http://127.0.0.1:8080/index.html\n  12 threads and 400 connections\n\
         \x20 Thread Stats   Avg      Stdev     Max   +/- Stdev\n\
         \x20   Latency   625.00us    0.89ms  12.92ms   93.69%\n    Req/Sec    56.20k     8.07k   62.00k    86.54%\n\
         \x20 Latency Distribution\n     50%  250.00us\n     99%    5.80ms\n\
         \x20 22464657 requests in 30.00s, 17.76GB read\nRequests/sec: 748868.53\nTransfer/sec:    606.33MB\n",
        "wrk",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    check(
        &d,
        &[
            (4, "latency.mean", 0.625),
            (4, "latency.max", 12.92),
            (7, "latency 50.0th", 0.25),
            (8, "latency 99.0th", 5.8),
            (10, "requests", 748_868.53),
            (11, "transfer", 606.33),
        ],
    );
    let d = one(
        "PING_INLINE: 108695.65 requests per second, p50=0.231 msec\n\
         ====== SET ======\n  100000 requests completed in 0.91 seconds\n  50 parallel clients\n\n\
         Summary:\n  throughput summary: 109890.11 requests per second\n  latency summary (msec):\n\
         \x20         avg       min       p50       p95       p99       max\n\
         \x20       0.240     0.080     0.232     0.351     0.487     1.727\n",
        "redis-benchmark",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    check(
        &d,
        &[
            (1, "PING_INLINE requests", 108_695.65),
            (1, "PING_INLINE latency p50", 0.231),
            (7, "SET requests", 109_890.11),
            (10, "SET latency p99", 0.487),
        ],
    );
    let d = one(
        "Dhrystone 2 using register variables       34872897.7 lps   (10.0 s, 7 samples)\n\
         Execl Throughput                               3456.7 lps   (29.9 s, 2 samples)\n\n\
         System Benchmarks Index Values               BASELINE       RESULT    INDEX\n\
         Dhrystone 2 using register variables         116700.0   34872897.7   2988.3\n\
         \x20                                                                  ========\n\
         System Benchmarks Index Score                                        1234.5\n",
        "unixbench",
    );
    assert!(d.leftovers.is_empty(), "{:?}", d.leftovers);
    check(
        &d,
        &[
            (1, "Dhrystone 2 using register variables", 34_872_897.7),
            (2, "Execl Throughput", 3456.7),
            (5, "Dhrystone 2 using register variables index", 2988.3),
            (7, "System Benchmarks Index Score", 1234.5),
        ],
    );
}
