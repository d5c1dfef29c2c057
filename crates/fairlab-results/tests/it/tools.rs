//! Texts in the form of each tool. The forms are those of the tools' current versions; the numbers
//! are made up.

use fairlab_results::{By, ReadOptions, Results, assemble, read_bytes};

use crate::support::{check, one, read, value, values};

#[test]
fn quoted_coloured_stamped_lines_are_read() {
    let text = "\u{feff}On Monday somebody wrote:\r\n\
        > before:\r\n\
        > > \u{1b}[32mTime: 4.401\u{1b}[0m\r\n\
        > after:\r\n\
        > [   12.345678] Time: 3.782\r\n";
    let results = assemble(&[read(text)], By::Auto);
    assert_eq!(values(&results, "before", "", "Time"), [4.401]);
    assert_eq!(values(&results, "after", "", "Time"), [3.782]);
}

#[test]
fn perf_stat_for_people_with_and_without_runs() {
    let d = one(
        " Performance counter stats for 'sleep 1' (5 runs):\n\n\
         \x20             1.23 msec task-clock                #    0.001 CPUs utilized            ( +-  2.00% )\n\
         \x20        1,234,567      cycles                    #    1.004 GHz                      ( +-  1.00% )\n\
         \x20  <not supported>      stalled-cycles-frontend\n\n\
         \x20          1.00125 +- 0.00050 seconds time elapsed  ( +-  0.05% )\n\n",
        "perf-stat",
    );
    assert_eq!(value(&d, 3, "task-clock"), 1.23);
    assert_eq!(value(&d, 4, "cycles.n"), 5.0);
    assert_eq!(value(&d, 4, "cycles"), 1_234_567.0);
    assert_eq!(value(&d, 7, "time elapsed"), 1.00125);
    // The standard error of five runs: 1 % of the mean, times the root of 5.
    assert!((value(&d, 4, "cycles.stddev") - 12345.67 * 5_f64.sqrt()).abs() < 1e-6);
}

#[test]
fn perf_stat_with_separators_and_with_decimal_commas() {
    let d = one(
        "1.23,msec,task-clock,1230000,100.00,0.001,CPUs utilized\n\
         1234567,,cycles,1230000,100.00,1.004,GHz\n\
         <not supported>,,stalled-cycles-frontend,0,100.00,,\n",
        "perf-stat",
    );
    check(&d, &[(1, "task-clock", 1.23), (2, "cycles", 1_234_567.0)]);
    let d = one(
        " Performance counter stats for 'sleep 1':\n\n\
         \x20             1,23 msec task-clock                #    0,001 CPUs utilized\n\
         \x20        1.234.567      cycles                    #    1,004 GHz\n\
         \x20      1,001234567 seconds time elapsed\n",
        "perf-stat",
    );
    check(
        &d,
        &[
            (3, "task-clock", 1.23),
            (4, "cycles", 1_234_567.0),
            (5, "time elapsed", 1.001_234_567),
        ],
    );
    assert!(
        d.notes[0].contains("decimal signs (first in line 3)"),
        "{:?}",
        d.notes
    );
}

#[test]
fn sysbench_sections() {
    let d = one(
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n\
         Running the test with following options:\nNumber of threads: 4\n\n\
         CPU speed:\n    events per second:  1234.56\n\n\
         General statistics:\n\
         \x20   total time:                          10.0012s\n\
         \x20   total number of events:              12349\n\n\
         Latency (ms):\n\
         \x20        min:                                    0.70\n\
         \x20        avg:                                    0.81\n\
         \x20        max:                                    9.90\n\
         \x20        95th percentile:                        1.10\n\
         \x20        sum:                                39981.11\n\n\
         Threads fairness:\n\
         \x20   events (avg/stddev):           3087.2500/12.50\n",
        "sysbench",
    );
    check(
        &d,
        &[
            (7, "events per second", 1234.56),
            (10, "total time", 10.0012),
            (14, "latency min", 0.7),
            (17, "latency 95th percentile", 1.1),
            (21, "Threads fairness events avg", 3087.25),
        ],
    );
}

#[test]
fn hyperfine_text_json_and_csv() {
    let text = "Benchmark 1: sleep 0.1\n  Time (mean ± σ):     101.5 ms ±   0.3 ms    [User: 0.7 ms, System: 0.9 ms]\n  Range (min … max):   101.0 ms … 102.3 ms    28 runs\n\nBenchmark 2: sleep 0.2\n  Time (mean ± σ):     1.201 s ±   0.002 s    [User: 0.7 ms, System: 0.9 ms]\n  Range (min … max):   1.198 s … 1.205 s    10 runs\n";
    let d = one(text, "hyperfine");
    check(
        &d,
        &[
            (2, "time.mean@sleep 0.1", 101.5),
            (2, "time.n@sleep 0.1", 28.0),
            (2, "time.max@sleep 0.1", 102.3),
            (6, "time.mean@sleep 0.2", 1201.0),
            (6, "time.stddev@sleep 0.2", 2.0),
        ],
    );
    let json = r#"{"results":[{"command":"a","mean":0.2,"stddev":0.1,"median":0.2,"times":[0.1,0.3]},{"command":"b","mean":0.4,"times":[0.4]}]}"#;
    let results = assemble(&[one(json, "hyperfine-json")], By::Auto);
    assert_eq!(values(&results, "a", "", "time"), [0.1, 0.3]);
    let csv = "command,mean,stddev,median,user,system,min,max\nsleep 1,1.001,0.002,1.0,0.1,0.2,0.99,1.01\nsleep 2,2.001,0.002,2.0,0.1,0.2,1.99,2.01\n";
    let d = one(csv, "hyperfine");
    check(
        &d,
        &[
            (2, "time.mean@sleep 1", 1.001),
            (3, "time.max@sleep 2", 2.01),
        ],
    );
}

#[test]
fn netperf_iperf_and_stress_ng() {
    let d = one(
        "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to localhost\n\
         Local /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.\n\
         Send   Recv   Size     Size    Time     Rate\nbytes  Bytes  bytes    bytes   secs.    per sec\n\n\
         16384  131072 1        1       10.00    45678.90\n16384  131072\n",
        "netperf",
    );
    check(&d, &[(7, "TCP_RR", 45678.9)]);
    let d = one(
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
         [  5]   0.00-1.00   sec  4.10 GBytes  35.2 Gbits/sec    0    639 KBytes\n\
         [  5]   1.00-2.00   sec  4.20 GBytes  36.1 Gbits/sec    0    639 KBytes\n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Retr\n\
         [  5]   0.00-2.00   sec  8.30 GBytes  35.6 Gbits/sec    0             sender\n\
         [  5]   0.00-2.00   sec  8.30 GBytes  35.5 Gbits/sec                  receiver\n",
        "iperf",
    );
    check(
        &d,
        &[
            (6, "bandwidth sender", 35600.0),
            (7, "bandwidth receiver", 35500.0),
        ],
    );
    let d = one(
        "stress-ng: info:  [12] dispatching hogs: 4 cpu\n\
         stress-ng: info:  [12] stressor       bogo ops real time  usr time  sys time   bogo ops/s   bogo ops/s\n\
         stress-ng: info:  [12]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)\n\
         stress-ng: info:  [12] cpu               12345     10.00     39.90      0.01      1234.50       309.30\n",
        "stress-ng",
    );
    check(
        &d,
        &[
            (4, "cpu bogo ops/s (real time)", 1234.5),
            (4, "cpu bogo ops/s (usr+sys time)", 309.3),
        ],
    );
}

#[test]
fn times_of_shells_gnu_and_kernbench() {
    let d = one("real    1m2.345s\nuser    0m1.5s\nsys     0.25\n", "time");
    check(
        &d,
        &[(1, "real", 62.345), (2, "user", 1.5), (3, "sys", 0.25)],
    );
    let d = one(
        "0.01user 0.02system 0:01.50elapsed 98%CPU (0avgtext+0avgdata 1234maxresident)k\n",
        "time",
    );
    check(&d, &[(1, "user", 0.01), (1, "real", 1.5)]);
    let d = one(
        "Average Optimal load -j 8 Run (std deviation):\nElapsed Time 100.1 (1.2)\nUser Time 700.5 (3.4)\n",
        "time",
    );
    check(
        &d,
        &[
            (2, "Elapsed Time.mean", 100.1),
            (3, "User Time.stddev", 3.4),
        ],
    );
}

#[test]
fn tables_with_percentages_beside_the_values() {
    let d = one(
        "Clients:        tip                   tip + patch\n\
         \x20   8    3263.81 (0.00 pct)     3086.81 (-5.42 pct)\n\
         \x20  16    6011.19 (0.00 pct)     5360.28 (-10.82 pct)\n",
        "pct-table",
    );
    check(&d, &[(2, "8@tip", 3263.81), (3, "16@tip + patch", 5360.28)]);
    let d = one(
        "Test:          tip[pct imp](CV)     patch[pct imp](CV)\n\
         \x201-groups     1.00 [ -0.00]( 2.04)     0.97 [  2.57]( 3.87)\n",
        "pct-table",
    );
    check(&d, &[(2, "1-groups@tip", 1.0), (2, "1-groups@patch", 0.97)]);
}

#[test]
fn cyclictest_verbose_and_histogram() {
    let d = one("0:0:12\n0:1:15\n1:0:9\n1:1:10\n", "cyclictest");
    let results = assemble(&[d], By::Auto);
    assert_eq!(values(&results, "text", "", "T0 latency"), [12.0, 15.0]);
    let d = one(
        "# Histogram\n000010 000005 000006\n000011 000007 000001\n# Total: 000000012 000000007\n\
         # Min Latencies: 00010 00010\n# Avg Latencies: 00010 00010\n# Max Latencies: 00011 00011\n",
        "cyclictest",
    );
    check(
        &d,
        &[(1, "T0 latency.n", 12.0), (1, "T1 latency.max", 11.0)],
    );
}

#[test]
fn separated_values_with_names_and_without() {
    let rows = |text: &str| assemble(&[read(text)], By::Auto);
    let results = rows("before,after\n1.5,2.5\n1.6,2.6\n");
    assert_eq!(values(&results, "after", "", "value"), [2.5, 2.6]);
    let results = rows("kernel;clients;MB/s\n6.6;8;1,5\n6.6;16;2,5\n6.12;8;1,75\n6.12;16;2,75\n");
    assert_eq!(values(&results, "6.12", "", "clients 8 MB/s"), [1.75]);
    let results = rows("\"a, b\",1\n\"c\",2\n\"a, b\",3\n");
    assert_eq!(values(&results, "text", "", "a, b"), [1.0, 3.0]);
}

#[test]
fn numbers_in_json_lead_back_to_their_path() {
    let results = assemble(
        &[read(
            r#"{"p50": [1, 2], "deep": {"x": 3}, "list": [{"name": "r", "v": 4}]}"#,
        )],
        By::Auto,
    );
    assert_eq!(values(&results, "text", "", "p50"), [1.0, 2.0]);
    assert_eq!(values(&results, "text", "", "deep.x"), [3.0]);
    assert_eq!(values(&results, "text", "", "list.r.v"), [4.0]);
    let lines = assemble(&[read("{\"v\": 1}\n{\"v\": 2}\n")], By::Auto);
    assert_eq!(values(&lines, "text", "", "v"), [1.0, 2.0]);
}

#[test]
fn plain_numbers_in_columns() {
    let results = assemble(&[read("# comment\n1\n2\n\n3.5\n")], By::Auto);
    assert_eq!(values(&results, "text", "", "value"), [1.0, 2.0, 3.5]);
    let results = assemble(&[read("1 10\n2 20\n")], By::Auto);
    assert_eq!(values(&results, "text", "", "column 2"), [10.0, 20.0]);
    let options = ReadOptions {
        column: Some(2),
        ..ReadOptions::default()
    };
    let d = read_bytes(b"a 10 x\nb 20 y\n", "text", &options).unwrap();
    assert_eq!(
        values(&assemble(&[d], By::Auto), "text", "", "value"),
        [10.0, 20.0]
    );
    let results = assemble(
        &[read("fork+exit 317 318 316\nfork+execve 1482 1483 1480\n")],
        By::Auto,
    );
    assert_eq!(
        values(&results, "text", "", "fork+execve"),
        [1482.0, 1483.0, 1480.0]
    );
}

#[test]
fn sizes_in_hexadecimal_are_read_as_such() {
    let d = one(
        "   text\t   data\t    bss\t    dec\t    hex\tfilename\n\
         0x1264a\t 0x1506\t   0xb0\t  80896\t  13c00\tbefore.o\n\
         0x12672\t 0x14fe\t   0xb0\t  80928\t  13c20\tafter.o\n",
        "size",
    );
    check(
        &d,
        &[
            (2, "text@before.o", 75338.0),
            (2, "dec@before.o", 80896.0),
            (3, "dec@after.o", 80928.0),
        ],
    );
}

#[test]
fn our_own_results_are_read_like_any_other_file() {
    let results = Results {
        series: vec![fairlab_results::Series::new(
            "a",
            [fairlab_results::Row::new("r", "us", None, [1.0, 2.0])],
        )],
        ..Results::default()
    };
    let d = one(&fairlab_results::to_json(&results), "fairlab");
    assert_eq!(values(&assemble(&[d], By::Auto), "a", "", "r"), [1.0, 2.0]);
}

#[test]
fn files_are_series_and_labels_that_say_nothing_are_left_out() {
    let file = |name: &str, text: &str| {
        read_bytes(text.as_bytes(), name, &ReadOptions::default()).unwrap()
    };
    let results = assemble(
        &[
            file("x/a.txt", "before:\nTime: 1.0\nTime: 2.0\n"),
            file("x/b.txt", "after:\nTime: 3.0\n"),
        ],
        By::Auto,
    );
    assert_eq!(values(&results, "a.txt", "", "Time"), [1.0, 2.0]);
    assert_eq!(values(&results, "b.txt", "", "Time"), [3.0]);
}

#[test]
fn what_nobody_knows_is_told_and_not_lost() {
    let d = read("Time: 1.0\n\nAs you can see, 5 of the 7 runs failed.\nSo it is.\n\nTime: 2.0\n");
    assert_eq!(d.leftovers.len(), 1);
    assert_eq!(d.leftovers[0].lines, 3..=4);
    assert!(d.leftovers[0].has_numbers);
}
