//! On this host, where it is allowed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use fairlab_record::{RecordOptions, Tracefs, instance_name, record};
use fairlab_trace::EventKind;

#[test]
fn a_command_is_recorded_and_nothing_stays_behind() {
    let tracefs = match Tracefs::of_host(Path::new("/")) {
        Ok(tracefs) => tracefs,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    let output =
        std::env::temp_dir().join(format!("fairlab-record-real-{}.dat", std::process::id()));
    let options = RecordOptions {
        output: output.clone(),
        buffer_kb: 4096,
        cpus: None,
        duration: None,
        clock: "mono".into(),
        runtime: true,
        idle: false,
        frequency: false,
        snapshot: true,
        tool: "a test".into(),
    };
    let command = ["sh", "-c", "for i in 1 2 3; do sleep 0.01; done"].map(str::to_owned);
    let recorded = record(&tracefs, &options, &command, &AtomicBool::new(false)).unwrap();
    assert!(recorded.status.unwrap().success());
    let instance = format!(
        "/sys/kernel/tracing/instances/{}",
        instance_name(Path::new("/"))
    );
    assert!(!Path::new(&instance).exists());

    let mut recording = fairlab_trace::open(&output).unwrap();
    let mut execs = 0;
    for event in recording.by_ref() {
        execs += u32::from(matches!(event.kind, EventKind::Exec { .. }));
    }
    // The shell and its sleeps.
    assert!(execs >= 4, "{execs} execs");
    assert!(recording.counts().get("sched_switch") > 0);
    assert_eq!(
        recording.ledger().nr_problems(),
        0,
        "{:?}",
        recording.ledger()
    );
    let snapshot = recording.metadata().snapshot.as_ref().unwrap();
    let tasks = fairlab_record::tasks_of(&snapshot.0);
    assert!(tasks.iter().any(|task| task.task.0 == std::process::id()));

    match Command::new("trace-cmd")
        .arg("report")
        .arg("-i")
        .arg(&output)
        .output()
    {
        Ok(report) => {
            let text = String::from_utf8_lossy(&report.stdout);
            let switches = text
                .lines()
                .filter(|line| line.contains(" sched_switch: "))
                .count();
            assert_eq!(switches as u64, recording.counts().get("sched_switch"));
            let complaints = String::from_utf8_lossy(&report.stderr);
            assert!(!complaints.contains("unknown option"), "{complaints}");
        }
        Err(_) => eprintln!("skipped: there is no trace-cmd to read it with"),
    }
    fs::remove_file(output).unwrap();
}
