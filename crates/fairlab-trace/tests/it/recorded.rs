//! Recordings that others made: the events by kind are those that other tools count.
//!
//! The files are no part of this repository: `FAIRLAB_DATA` says where they are.

use std::path::PathBuf;

use fairlab_trace::{EventKind, Format, Recording, open};

fn traces() -> Option<PathBuf> {
    let root = std::env::var_os("FAIRLAB_DATA")
        .map_or_else(|| PathBuf::from("../../../shared"), PathBuf::from);
    let folder = root.join("data/traces");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no recordings at {}", folder.display());
    None
}

/// Reads the file to its end and compares the counts.
fn check(file: &str, counts: &[(&str, u64)]) -> Option<Recording> {
    let mut recording = open(traces()?.join(file)).unwrap();
    let mut last = fairlab_units::Timestamp::ZERO;
    for event in recording.by_ref() {
        assert!(event.time >= last, "{file}: {event:?} after {last:?}");
        last = event.time;
    }
    for &(name, count) in counts {
        assert_eq!(recording.counts().get(name), count, "{file}: {name}");
    }
    for &(name, _) in counts
        .iter()
        .filter(|(name, _)| name.starts_with("sched_s"))
    {
        let row = recording.counts().iter().find(|row| row.name == name);
        assert!(row.is_some(), "{file}: {name}");
    }
    Some(recording)
}

#[test]
fn old_text_of_trace_cmd_is_read() {
    let Some(recording) = check(
        "lisa-trace_txt.txt",
        &[("sched_switch", 1856), ("sched_wakeup", 1068)],
    ) else {
        return;
    };
    assert_eq!(recording.metadata().nr_cpus, Some(6));
    assert!(recording.ledger().is_clean(), "{:?}", recording.ledger());
}

#[test]
fn systrace_text_with_groups_of_tasks_is_read() {
    let Some(recording) = check(
        "trappy-surfaceflinger.systrace.txt",
        &[("sched_switch", 715), ("sched_wakeup", 421)],
    ) else {
        return;
    };
    assert_eq!(recording.metadata().nr_cpus, Some(8));
    assert!(recording.ledger().is_clean(), "{:?}", recording.ledger());
}

#[test]
fn a_handful_of_lines_is_read() {
    check(
        "trappy-trace_sched.txt",
        &[("sched_wakeup", 2), ("sched_wakeup_new", 2)],
    );
}

#[test]
fn packed_systrace_text_is_read() {
    for (file, counts) in [
        (
            "catapult-android_systrace.txt.gz",
            &[("sched_switch", 11074), ("sched_wakeup", 6827)][..],
        ),
        (
            "android-launcher_scroll.systrace.txt.gz",
            &[
                ("sched_switch", 16397),
                ("sched_wakeup", 8681),
                ("sched_waking", 8681),
            ],
        ),
        (
            "android-xiaomi_launcher.systrace.txt.gz",
            &[
                ("sched_switch", 58652),
                ("sched_wakeup", 32400),
                ("sched_waking", 0),
            ],
        ),
    ] {
        let Some(recording) = check(file, counts) else {
            return;
        };
        assert_eq!(recording.ledger().nr_unparsed(), 0, "{file}");
    }
}

#[test]
fn a_dump_in_a_kernel_log_is_read_with_its_losses() {
    let Some(recording) = check(
        "rcutorture-boost-ftrace-dump.dmesg.txt",
        &[("sched_switch", 1132), ("sched_wakeup", 540)],
    ) else {
        return;
    };
    let ledger = recording.ledger();
    assert_eq!(ledger.nr_losses(), 16);
    assert_eq!(ledger.nr_unparsed(), 0, "{:?}", ledger.unparsed());
    // The sixteen numbers of the file.
    assert_eq!(ledger.lost_events().0, 200_644_354);
}

#[test]
fn excerpts_of_placements_at_fork_are_read() {
    let Some(recording) = check(
        "zen3-stream-fork-placement.txt",
        &[("sched_wakeup_new", 14)],
    ) else {
        return;
    };
    // The second excerpt is from an earlier run.
    assert_eq!(recording.ledger().nr_jumps(), 1);
    check(
        "zen3-stream-16-threads-fork-placement.txt",
        &[("sched_wakeup_new", 16)],
    );
}

#[test]
fn old_perf_script_text_is_read_up_to_its_cut_ends() {
    let Some(recording) = check(
        "perf-sched-script-stress-ng.txt",
        &[
            ("sched_switch", 7),
            ("sched_wakeup", 3),
            ("sched_migrate_task", 1),
            ("sched_stat_runtime", 7),
        ],
    ) else {
        return;
    };
    // The destination of the migration is cut off.
    assert_eq!(recording.ledger().nr_unparsed(), 1);
}

#[test]
fn trace_dat_of_a_big_little_board_is_read() {
    let Some(recording) = check(
        "lisa-sched_load.dat",
        &[
            ("sched_switch", 399),
            ("sched_migrate_task", 28),
            ("sched_load_cfs_rq", 2437),
            ("sched_load_se", 364),
            ("cpu_idle", 474),
            ("cpu_frequency", 16),
        ],
    ) else {
        return;
    };
    assert_eq!(recording.format(), Format::TraceDat(6));
    assert_eq!(recording.metadata().nr_cpus, Some(6));
}

#[test]
fn a_dense_trace_dat_is_read() {
    check(
        "trappy-raw_trace.dat",
        &[("sched_switch", 755), ("bprint", 2)],
    );
}

#[test]
fn trace_dat_of_machines_with_32_bits_is_read() {
    for (file, switches, release) in [
        ("kernelshark-rr.dat", 95, "4.13.9"),
        ("kernelshark-fifo.dat", 92, "4.13.9"),
        ("kernelshark-other.dat", 93, "4.13.9"),
        ("raspberrypi-4cpu.dat", 4427, "4.14.62-v7"),
    ] {
        let Some(recording) = check(file, &[("sched_switch", switches)]) else {
            return;
        };
        let metadata = recording.metadata();
        assert_eq!(metadata.long_bits, Some(32), "{file}");
        let found = metadata.kernel_release.as_deref().unwrap_or("");
        assert!(found.starts_with(release), "{file}: {found}");
        assert_eq!(recording.ledger().nr_problems(), 0, "{file}");
    }
}

#[test]
fn an_archive_of_schedviz_is_read() {
    let Some(recording) = check(
        "schedviz-test.tar.gz",
        &[
            ("sched_switch", 15056),
            ("sched_wakeup", 11134),
            ("sched_wakeup_new", 2732),
        ],
    ) else {
        return;
    };
    assert_eq!(recording.format(), Format::SchedViz);
    let topology = recording.metadata().topology.as_ref().unwrap();
    assert_eq!(topology.cpus.len(), 1);
    assert_eq!(topology.cpus[0].thread_siblings, [0]);
}

#[test]
fn perfetto_with_plain_events_is_read() {
    let Some(recording) = check(
        "android-test_trace.perfetto-trace",
        &[
            ("sched_switch", 15267),
            ("sched_wakeup", 8743),
            ("cpu_idle", 11687),
            ("cpu_frequency", 168),
        ],
    ) else {
        return;
    };
    assert_eq!(recording.format(), Format::Perfetto);
    // The bundles of its CPUs are not written in the order of time.
    assert_eq!(recording.ledger().nr_jumps(), 0);
    assert_eq!(recording.ledger().late_events(), 0);
}

#[test]
fn perfetto_with_compact_events_is_read() {
    let Some(recording) = check(
        "android-api32_startup_warm.perfetto-trace",
        &[
            ("sched_switch", 11086),
            ("sched_waking", 6857),
            ("cpu_idle", 6809),
        ],
    ) else {
        return;
    };
    let version = recording.metadata().kernel_version.as_deref();
    assert_eq!(version, Some("#1 SMP PREEMPT Fri Aug 5 20:48:01 UTC 2022"));
}

#[test]
fn ctf_of_lttng_is_read() {
    let Some(recording) = check(
        "ctf-many-threads.tar.xz",
        &[
            ("sched_switch", 28325),
            ("sched_waking", 6743),
            ("sched_wakeup", 6743),
            ("sched_process_fork", 8003),
            ("sched_process_exit", 8003),
        ],
    ) else {
        return;
    };
    assert_eq!(recording.format(), Format::Ctf);
    let metadata = recording.metadata();
    assert_eq!(metadata.kernel_release.as_deref(), Some("4.4.3-1-ARCH"));
    assert_eq!(metadata.tool.as_deref(), Some("lttng-modules 2.8.0"));
    assert_eq!(recording.ledger().nr_problems(), 0);
}

#[test]
fn ctf_of_perf_is_read() {
    let Some(recording) = check(
        "ctf-perf-taskset2.tar.xz",
        &[
            ("sched_switch", 562),
            ("sched_wakeup", 346),
            ("sched_stat_runtime", 585),
            ("sched_migrate_task", 4),
        ],
    ) else {
        return;
    };
    assert_eq!(recording.ledger().nr_problems(), 0);
}

#[test]
fn tables_of_perf_sched_are_read() {
    let Some(recording) = check(
        "perf-sched-timehist-MVw-stress-ng.txt",
        &[
            ("sched_switch", 6),
            ("sched_wakeup", 5),
            ("sched_migrate_task", 3),
        ],
    ) else {
        return;
    };
    assert_eq!(recording.format(), Format::Timehist);
    assert_eq!(recording.ledger().nr_unparsed(), 0);
    let Some(recording) = check("perf-sched-map-16cpu.txt", &[("sched_switch", 20)]) else {
        return;
    };
    assert_eq!(recording.format(), Format::SchedMap);
}

/// babeltrace 2 gives this file up at a packet that begins 1.5 us before the end of the last one
/// ("timestamp is less than muxer's message iterator's last returned timestamp"), so the counts that
/// are told with the file are those up to there. We read on.
#[test]
fn ctf_with_overlapping_packets_is_read_to_its_end() {
    let Some(folder) = traces() else { return };
    let mut recording = open(folder.join("ctf-scp_src.tar.xz")).unwrap();
    // The clock of the trace when babeltrace stops: 1361214078861349013 ns since 1970, of which the
    // 74th switch is at 1361214078681367973, and at 10519349036484 by the clock.
    let stop = 10_519_349_036_484 + (861_349_013 - 681_367_973);
    let (mut switches, mut wakeups, mut runtimes) = (0, 0, 0);
    for event in recording.by_ref().filter(|event| event.time.0 <= stop) {
        match event.kind {
            EventKind::Switch { .. } => switches += 1,
            EventKind::Wakeup { .. } => wakeups += 1,
            EventKind::StatRuntime { .. } => runtimes += 1,
            _ => {}
        }
    }
    assert_eq!((switches, wakeups, runtimes), (74, 103, 73));
    assert!(recording.counts().get("sched_switch") > 74);
}
