//! Rows that were counted by hand from a trace of a few lines.

use fairlab_trace::Recording;
use fairlab_units::{CpuId, CpuMask, TaskId, Timestamp};
use fairlab_views::{Filter, LatencyOptions, MapOptions, SortKey, TimehistOptions};

use super::view;

/// Task 7 wakes 8 on CPU 1, which idles, and sleeps 3 ms later; 8 is preempted by 9, and goes on on
/// CPU 0, to which it is moved.
const TRACE: &str = "\
  aa-7     [000] d..2  1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=aa next_pid=7 next_prio=120
  aa-7     [000] d..2  1.001000: sched_waking: comm=bb pid=8 prio=120 target_cpu=001
  <idle>-0 [001] d..2  1.001500: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=bb next_pid=8 next_prio=120
  bb-8     [001] d..2  1.002000: sched_waking: comm=cc pid=9 prio=120 target_cpu=001
  bb-8     [001] d..2  1.002250: sched_switch: prev_comm=bb prev_pid=8 prev_prio=120 prev_state=R+ ==> next_comm=cc next_pid=9 next_prio=120
  aa-7     [000] d..2  1.003000: sched_switch: prev_comm=aa prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
  <idle>-0 [000] d..2  1.003010: sched_migrate_task: comm=bb pid=8 prio=120 orig_cpu=1 dest_cpu=0
  <idle>-0 [000] d..2  1.003250: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=bb next_pid=8 next_prio=120
  cc-9     [001] d..2  1.004250: sched_switch: prev_comm=cc prev_pid=9 prev_prio=120 prev_state=D ==> next_comm=swapper/1 next_pid=0 next_prio=120
  bb-8     [000] d..2  1.004500: sched_switch: prev_comm=bb prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

fn recording() -> Recording {
    fairlab_trace::from_bytes("counted.txt", TRACE.into()).unwrap()
}

#[test]
fn a_switch_tells_how_long_its_task_was_away_and_how_long_it_ran() {
    let (text, _) = view::timehist(&mut recording(), TimehistOptions::default(), |columns| {
        columns.state = true;
    });
    let rows = Vec::from_iter(text.lines().skip(3).map(|line| {
        let words = Vec::from_iter(line.split_whitespace());
        words[1..].join(" ")
    }));
    assert_eq!(
        rows,
        [
            "[0000] <idle> 0.000 0.000 0.000 I",
            // CPU 1 was never seen to switch before.
            "[0001] <idle> 0.000 0.000 0.000 I",
            "[0001] bb[8] 0.000 0.500 0.750 R",
            "[0000] aa[7] 0.000 0.000 3.000 S",
            "[0000] <idle> 3.000 0.000 0.250 I",
            "[0001] cc[9] 0.000 0.250 2.000 D",
            // Away from 2.250 to 3.250.
            "[0000] bb[8] 1.000 0.000 1.250 S",
        ]
    );
}

#[test]
fn wakeups_and_migrations_have_rows_when_asked_for() {
    let options = TimehistOptions {
        wakeups: true,
        migrations: true,
        ..TimehistOptions::default()
    };
    let (text, _) = view::timehist(&mut recording(), options, |columns| columns.cpus = true);
    assert!(
        text.contains(
            "aa[7]                                                            awakened: bb[8]\n"
        ),
        "{text}"
    );
    assert!(text.contains("migrated: bb[8] cpu 1 => 0\n"), "{text}");
    assert!(
        text.lines()
            .nth(3)
            .unwrap()
            .starts_with("       1.000000 [0000]  i "),
        "{text}"
    );
}

#[test]
fn the_summary_adds_up() {
    let (_, summary) = view::timehist(&mut recording(), TimehistOptions::default(), |_| ());
    let tasks = Vec::from_iter(summary.tasks.iter().map(|task| {
        let (run, _, longest) = task.run_times();
        (task.task().0, task.runs(), run.0 / 1000, longest.0 / 1000)
    }));
    assert_eq!(
        tasks,
        [(7, 1, 3000, 3000), (8, 2, 2000, 1250), (9, 1, 2000, 2000)]
    );
    let [_, _, preempted, delay] = summary.tasks[1].waits();
    assert_eq!((preempted.0, delay.0), (1_000_000, 500_000));
    assert_eq!(summary.tasks[1].migrations(), 1);
    assert_eq!((summary.elapsed.0, summary.switches), (4_500_000, 7));
}

#[test]
fn a_filter_keeps_what_is_asked_for() {
    let count = |filter| {
        let options = TimehistOptions {
            filter,
            ..TimehistOptions::default()
        };
        let (text, _) = view::timehist(&mut recording(), options, |_| ());
        text.lines().count() - 3
    };
    let all = Filter::default();
    assert_eq!(
        count(Filter {
            cpus: CpuMask::parse_list("1", 8).ok(),
            ..all.clone()
        }),
        3
    );
    assert_eq!(
        count(Filter {
            tasks: vec![TaskId(8)],
            ..all.clone()
        }),
        2
    );
    assert_eq!(
        count(Filter {
            names: vec!["aa".into()],
            ..all.clone()
        }),
        1
    );
    // The run that goes on over the end is cut off there.
    let window = Filter {
        from: Some(Timestamp(1_002_000_000)),
        to: Some(Timestamp(1_003_000_000)),
        ..all
    };
    assert_eq!(count(window), 4);
}

#[test]
fn delays_are_counted_as_perf_6_1_does_or_all_of_them() {
    let table = view::latency(&mut recording(), LatencyOptions::default());
    assert_eq!(table.total_switches, 3);
    assert!(table.rows.iter().all(|row| row.total_delay.0 == 0));
    assert_eq!(table.left_aside, 3);
    let options = LatencyOptions {
        all_waits: true,
        sort: vec![SortKey::Longest],
        ..LatencyOptions::default()
    };
    let table = view::latency(&mut recording(), options);
    let rows = Vec::from_iter(table.rows.iter().map(|row| {
        (
            row.name.as_str(),
            row.switches,
            row.total_delay.0 / 1000,
            row.max_delay.0 / 1000,
        )
    }));
    assert_eq!(
        rows,
        [("bb", 2, 1500, 1000), ("cc", 1, 250, 250), ("aa", 1, 0, 0)]
    );
    let mut text = Vec::new();
    table.write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains(
            "  bb:8                  |      0.000 ms |        2 | avg:   0.750 ms | max:   1.000 ms | \
             max start:     1.002250 s | max end:     1.003250 s\n"
        ),
        "{text}"
    );
}

#[test]
fn the_map_shows_who_runs_where_after_each_switch() {
    let options = MapOptions {
        nr_cpus: 2,
        ..MapOptions::default()
    };
    let text = view::map(&mut recording(), options);
    assert_eq!(
        text,
        "  *A0           1.000000 secs A0 => aa:7\n   \
           A0 *B0       1.001500 secs B0 => bb:8\n   \
           A0 *C0       1.002250 secs C0 => cc:9\n  \
          *.   C0       1.003000 secs .  => swapper:0\n  \
          *B0  C0       1.003250 secs \n   \
           B0 *.        1.004250 secs \n  \
          *.   .        1.004500 secs \n"
    );
    let compact = MapOptions {
        filter: Filter {
            cpus: Some(CpuMask::from_cpus(8, [CpuId(1)])),
            ..Filter::default()
        },
        is_compact: true,
        nr_cpus: 2,
    };
    let text = view::map(&mut recording(), compact);
    assert!(
        text.starts_with("  *B0       1.001500 secs B0 => bb:8 (CPU 1)\n"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 3);
}
