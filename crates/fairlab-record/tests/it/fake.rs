//! A host of ordinary files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fairlab_record::{RecordError, RecordOptions, Tracefs, instance_name, record, remove_stale};
use fairlab_trace::EventKind;

/// A folder that goes away with the test.
struct Host(PathBuf);

impl Drop for Host {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Host {
    fn new(name: &str) -> Self {
        let root =
            std::env::temp_dir().join(format!("fairlab-record-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        Self(root)
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn get(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap()
    }
}

const TRACING: &str = "sys/kernel/tracing";
const HEADER_PAGE: &str = "\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";
const SWITCH: &str = "name: sched_switch
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
";

/// One page with a switch from 7 to `next`; says of 5 lost events before it.
fn page(next: u32) -> Vec<u8> {
    let mut event = vec![0; 60];
    event[..2].copy_from_slice(&300u16.to_ne_bytes());
    event[8..10].copy_from_slice(b"aa");
    event[24..28].copy_from_slice(&7u32.to_ne_bytes());
    event[32] = 1;
    event[40..42].copy_from_slice(b"bb");
    event[56..60].copy_from_slice(&next.to_ne_bytes());
    let mut page = vec![0; 4096];
    page[..8].copy_from_slice(&1000u64.to_ne_bytes());
    let commit = 64u64 | 1 << 31 | 1 << 30;
    page[8..16].copy_from_slice(&commit.to_ne_bytes());
    page[16..20].copy_from_slice(&15u32.to_ne_bytes());
    page[20..80].copy_from_slice(&event);
    page[80..88].copy_from_slice(&5u64.to_ne_bytes());
    page
}

/// A host with a tracefs in which this process's instance is there already, since nobody fills it.
fn host(name: &str) -> Host {
    let host = Host::new(name);
    host.put(&format!("proc/{}/stat", std::process::id()), {
        format!("1 (a) b) S{} 4711 0", " 0".repeat(18))
    });
    for root in [
        TRACING.to_owned(),
        format!("{TRACING}/instances/{}", instance_name(&host.0)),
    ] {
        host.put(&format!("{root}/trace_clock"), "local [mono]");
        host.put(&format!("{root}/tracing_on"), "1");
        host.put(&format!("{root}/buffer_size_kb"), "7");
        host.put(&format!("{root}/tracing_cpumask"), "f");
        host.put(&format!("{root}/events/header_page"), HEADER_PAGE);
        host.put(
            &format!("{root}/events/header_event"),
            "# compressed entry header",
        );
        host.put(&format!("{root}/events/sched/sched_switch/format"), SWITCH);
        host.put(&format!("{root}/events/sched/sched_switch/enable"), "0");
        for cpu in 0..3 {
            let cpu_pages = [page(8 + cpu), page(20 + cpu)].concat();
            host.put(
                &format!("{root}/per_cpu/cpu{cpu}/trace_pipe_raw"),
                cpu_pages,
            );
            host.put(
                &format!("{root}/per_cpu/cpu{cpu}/stats"),
                format!("entries: 1\noverrun: {}\ndropped events: 0\n", 5 * cpu),
            );
        }
    }
    host.put("sys/devices/system/cpu/online", "0-2\n");
    host.put(
        "proc/7/task/7/status",
        "Name:\taa\nCpus_allowed_list:\t1-2\n",
    );
    host.put("proc/7/task/7/comm", "aa\n");
    host.put("proc/7/task/7/cgroup", "0::/user.slice\n");
    host
}

fn options(host: &Host) -> RecordOptions {
    RecordOptions {
        output: host.0.join("out.dat"),
        buffer_kb: 64,
        cpus: None,
        duration: Some(Duration::from_millis(1)),
        clock: "mono".into(),
        runtime: false,
        idle: false,
        frequency: false,
        snapshot: true,
        tool: "a test".into(),
    }
}

#[test]
fn what_the_buffers_hold_comes_back_with_its_losses_and_the_snapshot() {
    let host = host("whole");
    let tracefs = Tracefs::of_host(&host.0).unwrap();
    let recorded = record(&tracefs, &options(&host), &[], &AtomicBool::new(false)).unwrap();
    assert_eq!(recorded.bytes, 6 * 4096);
    assert_eq!(
        Vec::from_iter(recorded.lost.iter().map(|loss| loss.events)),
        [5, 10]
    );
    assert!(recorded.missing.contains(&"sched/sched_waking".to_owned()));
    let instance = format!("{TRACING}/instances/{}", instance_name(&host.0));
    assert_eq!(
        host.get(&format!("{instance}/events/sched/sched_switch/enable")),
        "1"
    );
    assert_eq!(host.get(&format!("{instance}/buffer_size_kb")), "64");
    assert_eq!(host.get(&format!("{instance}/tracing_on")), "0");
    // The main buffer is left alone.
    assert_eq!(host.get(&format!("{TRACING}/tracing_on")), "1");

    let mut recording = fairlab_trace::open(host.0.join("out.dat")).unwrap();
    let next = |kind| match kind {
        EventKind::Switch { next, .. } => next.map(|task| task.0),
        _ => None,
    };
    let mut nexts = Vec::from_iter(recording.by_ref().filter_map(|event| next(event.kind)));
    nexts.sort_unstable();
    assert_eq!(nexts, [8, 9, 10, 20, 21, 22]);
    assert_eq!(recording.ledger().nr_losses(), 6);
    assert_eq!(recording.ledger().lost_events().0, 30);
    assert_eq!(recording.ledger().overruns().len(), 2);
    let metadata = recording.metadata();
    assert_eq!(metadata.clock.as_deref(), Some("mono"));
    assert_eq!(metadata.tool.as_deref(), Some("a test"));
    assert_eq!(metadata.nr_cpus, Some(3));
    let tasks = fairlab_record::tasks_of(&metadata.snapshot.as_ref().unwrap().0);
    assert_eq!(tasks.len(), 1);
    let task = &tasks[0];
    assert_eq!(
        (
            task.task.0,
            task.allowed.as_str(),
            task.cgroup.as_str(),
            task.name.as_str()
        ),
        (7, "1-2", "/user.slice", "aa")
    );
}

#[test]
fn a_command_that_cannot_start_leaves_the_instance_stopped() {
    let host = host("command");
    let tracefs = Tracefs::of_host(&host.0).unwrap();
    let error = record(
        &tracefs,
        &options(&host),
        &["/no/such/program".into()],
        &AtomicBool::new(false),
    )
    .unwrap_err();
    assert!(matches!(error, RecordError::Command(..)), "{error}");
    let instance = format!("{TRACING}/instances/{}", instance_name(&host.0));
    assert_eq!(host.get(&format!("{instance}/tracing_on")), "0");
}

#[test]
fn instances_of_dead_makers_go_and_those_of_others_stay() {
    let host = host("stale");
    let own = instance_name(&host.0);
    for name in ["fairlab-4999999-1", "fairlab-x-1", "somebody"] {
        fs::create_dir_all(host.0.join(TRACING).join("instances").join(name)).unwrap();
    }
    // The number is there, and belongs to another process by now.
    let reused = format!("fairlab-{}-12", std::process::id());
    fs::create_dir_all(host.0.join(TRACING).join("instances").join(&reused)).unwrap();
    let tracefs = Tracefs::of_host(&host.0).unwrap();
    let mut wanted = vec!["fairlab-4999999-1".to_owned(), reused];
    wanted.sort_unstable();
    assert_eq!(remove_stale(&tracefs), wanted);
    let is_there = |name: &str| host.0.join(TRACING).join("instances").join(name).exists();
    assert!(is_there(&own) && is_there("fairlab-x-1") && is_there("somebody"));
}

#[test]
fn what_is_missing_is_said() {
    let host = Host::new("missing");
    let error = Tracefs::of_host(&host.0).unwrap_err().to_string();
    assert!(error.contains("mount -t tracefs"), "{error}");
    let tracing = Path::new(TRACING);
    host.put(tracing.join("trace_clock").to_str().unwrap(), "local");
    let error = Tracefs::of_host(&host.0).unwrap_err().to_string();
    assert!(error.contains("no instances"), "{error}");
}
