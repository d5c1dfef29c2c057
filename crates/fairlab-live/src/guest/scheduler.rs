//! The scheduler as a process of its own, so that it can be killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fairlab_kernel::{Kernel, Release};
use fairlab_live::{LiveError, Options, Session, Settings, Until};
use fairlab_policy::Reason;
use rustix::process::{Pid, setpriority_process};
use serde_json::{Map, json};

/// Where a scheduler leaves what it saw last.
pub const LAST: &str = "/tmp/scheduler.json";

/// Length of a slice.
pub const SLICE: Duration = Duration::from_millis(3);

/// Starts the scheduler with `arguments`.
pub fn start(arguments: &[String]) -> Child {
    let child = Command::new("/proc/self/exe")
        .arg("scheduler")
        .args(arguments)
        .stdin(Stdio::null())
        .spawn()
        .expect("a guest can start its own program");
    // Loading a program takes long on an emulated CPU, and longer beside busy tasks.
    let _ = setpriority_process(Pid::from_raw(child.id() as i32), -20);
    child
}

/// The rules of the kernel that most guests boot, and what `arguments` change.
pub fn options(arguments: &[String]) -> Options {
    let number = |name: &str| {
        arguments
            .iter()
            .find_map(|a| a.strip_prefix(name)?.parse::<u32>().ok())
            .unwrap_or(0)
    };
    // An object that the host gave along takes the place of the one in this program.
    let given = Path::new("/fairlab.bpf.o");
    Options {
        kernel: Kernel::of(Release::V7_2),
        settings: Settings {
            slice_ns: SLICE.as_nanos() as u64,
            hz: 250,
            record_every: number("record="),
            lost_thread: number("lose="),
            counts_details: arguments.iter().any(|a| a == "details"),
        },
        object: given.exists().then(|| given.to_owned()),
        only_cgroup: arguments
            .iter()
            .find_map(|a| a.strip_prefix("only=").map(PathBuf::from)),
        count_cost: arguments.iter().any(|a| a == "cost"),
        log: PathBuf::from("/tmp/verifier.log"),
    }
}

/// `scheduler [lose=PID] [record=N] [only=CGROUP] [cost] [details]`
pub fn run(arguments: &[String]) -> ExitCode {
    let options = options(arguments);
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
    }
    let until = Until {
        stop: &stop,
        length: None,
    };
    let ended = fairlab_live::run(&options, until, Duration::from_secs(2), save);
    match ended {
        Ok(ended) => {
            let text = ended.map_or_else(String::new, |ended| ended.to_string());
            let _ = std::fs::write("/tmp/ended", &text);
            println!("scheduler: ended: {text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("scheduler: error: {error}");
            let _ = std::fs::write("/tmp/ended", format!("error: {error}"));
            ExitCode::from(2)
        }
    }
}

fn save(session: &Session) -> Result<(), LiveError> {
    let stats = session.stats()?;
    let checked = session.check_decisions()?;
    let mut reasons = Map::new();
    for (reason, count) in Reason::ALL.iter().zip(stats.reasons) {
        if count != 0 {
            reasons.insert(reason.name().to_owned(), json!(count));
        }
    }
    let counts: Map<_, _> = stats
        .single()
        .into_iter()
        .map(|(name, count, _)| (name.to_owned(), json!(count)))
        .collect();
    let programs = session.programs();
    let verified: Map<_, _> = programs
        .iter()
        .map(|program| (program.name.clone(), json!(program.verified)))
        .collect();
    let mean_ns: Map<_, _> = programs
        .iter()
        .filter_map(|program| Some((program.name.clone(), json!(program.mean_ns()?))))
        .collect();
    let config = session.config();
    let value = json!({
        "reasons": reasons,
        "counts": counts,
        "latencies": stats.latencies,
        "placed": stats.placed,
        "moved": stats.moved,
        "lengths": stats.lengths,
        "checked": checked.decisions,
        "different": checked.different,
        "first_difference": checked.first_difference,
        "verified": verified,
        "mean_ns": mean_ns,
        "cpus": config.cpus,
        "queues": config.queues,
        "has_smt": config.has_smt,
        "has_clusters": config.has_clusters,
    });
    let _ = std::fs::write(LAST, value.to_string());
    Ok(())
}
