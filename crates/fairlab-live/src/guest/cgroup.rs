//! The scheduler for the tasks of one cgroup.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::load::{Worker, lost};
use crate::tests::{Facts, give_back, last_seen, take_over};
use crate::watch::{policy_of, status, wait};

const CGROUP: &str = "/sys/fs/cgroup/ours";

/// `SCHED_EXT`.
const OURS: u32 = 7;

/// Those inside are ours, those outside are not, and afterwards nobody is.
pub fn run(facts: &mut Facts) -> bool {
    if let Err(error) = fs::create_dir_all(CGROUP) {
        facts.insert("no_cgroup".to_owned(), json!(error.to_string()));
        return false;
    }
    let mut inside: Vec<_> = ["hog", "periodic", "forks", "pong"]
        .into_iter()
        .map(Worker::start)
        .collect();
    let mut outside = vec![Worker::start("hog"), Worker::start("periodic")];
    for worker in &inside {
        let joined = fs::write(format!("{CGROUP}/cgroup.procs"), worker.pid().to_string());
        if let Err(error) = joined {
            facts.insert("cannot_join".to_owned(), json!(error.to_string()));
            return false;
        }
    }
    let Some(child) = take_over(&["only=ours"], facts) else {
        return false;
    };
    let is = |worker: &Worker, ours: bool| (policy_of(worker.pid()) == Some(OURS)) == ours;
    let taken = wait(Duration::from_secs(5), || {
        inside.iter().all(|w| is(w, true))
    });
    let late = Worker::start("hog");
    let _ = fs::write(format!("{CGROUP}/cgroup.procs"), late.pid().to_string());
    let late_taken = wait(Duration::from_secs(5), || is(&late, true));
    std::thread::sleep(Duration::from_secs(1));
    let others_free = outside.iter().all(|worker| is(worker, false));
    let in_part = status().switches_all == Some(false);
    let mut stalled = lost(&mut inside);
    stalled.extend(lost(&mut outside));
    let back = give_back(child, Signal::TERM);
    let seen = last_seen(facts);
    let given_back = inside.iter().all(|worker| is(worker, false));
    let facts_of = json!({
        "taken_after_ms": taken.map(|t| t.as_millis() as u64),
        "late_taken_after_ms": late_taken.map(|t| t.as_millis() as u64),
        "others_free": others_free,
        "in_part": in_part,
        "given_back": given_back,
        "stalled": stalled,
    });
    facts.insert("cgroup".to_owned(), facts_of);
    let placed = seen["counts"]["asked"].as_u64().unwrap_or(0);
    taken.is_some()
        && late_taken.is_some()
        && others_free
        && in_part
        && stalled.is_empty()
        && back.is_some()
        && given_back
        && placed > 0
}
