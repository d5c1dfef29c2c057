//! The policy beside the kernel's own, under several loads.

use std::time::Duration;

use fairlab_live::{Seen, Shadow, Why, domains_here};
use fairlab_policy::Reason;
use serde_json::{Map, Value, json};

use crate::load::{Worker, mix};
use crate::scheduler::options;
use crate::tests::{Facts, seconds};
use crate::watch::cpus_and_cores;

pub type Load = (&'static str, fn(usize) -> Vec<Worker>);

pub const LOADS: [Load; 4] = [
    ("light", light),
    ("fork", fork),
    ("hogs", hogs),
    ("mixed", mix),
];

fn light(cpus: usize) -> Vec<Worker> {
    let mut workers = vec![Worker::start("pong"), Worker::start("pong")];
    workers.extend((0..=cpus / 4).map(|_| Worker::start("periodic")));
    workers
}

fn fork(cpus: usize) -> Vec<Worker> {
    (0..=cpus / 4).map(|_| Worker::start("forks")).collect()
}

fn hogs(cpus: usize) -> Vec<Worker> {
    let mut workers = light(cpus);
    workers.extend((0..cpus / 2).map(|_| Worker::start("hog")));
    workers
}

/// Where nothing but scheduling differs, nearly all wakeups have to agree; and each difference that is
/// not explained is shown.
pub fn run(facts: &mut Facts) -> bool {
    let (cpus, _) = cpus_and_cores();
    let mut fine = true;
    for (name, load) in LOADS {
        let told = watch(|| load(cpus));
        let (told, is_fine) = match told {
            Ok(seen) => (tell(&seen), agree(&seen)),
            Err(error) => (json!(error.to_string()), false),
        };
        facts.insert(name.to_owned(), told);
        fine &= is_fine;
    }
    fine
}

fn watch(load: impl Fn() -> Vec<Worker>) -> Result<Seen, fairlab_live::LiveError> {
    let options = options(&[]);
    let shadow = Shadow::start(&domains_here(&options)?, &options)?;
    let workers = load();
    let length = seconds().min(Duration::from_secs(10));
    let steps = (length.as_millis() / 100) as u32;
    for _ in 0..steps {
        std::thread::sleep(Duration::from_millis(100));
        shadow.seen()?;
    }
    let seen = shadow.seen()?;
    drop(workers);
    Ok(seen)
}

/// 95 of 100 wakeups, of hundreds, and hardly any difference without a cause. Where the kernel's limit keeps it from
/// looking, there is nothing to agree on.
fn agree(seen: &Seen) -> bool {
    let (wakeups, agreed) = seen.counts.wakeups();
    let (not_searched, _) = seen.why[Why::ScanLimit.index()];
    let wakeups = wakeups - not_searched.min(wakeups);
    let unexplained = seen.why[Why::Unexplained.index()].0;
    wakeups >= 100 && agreed * 100 >= wakeups * 95 && unexplained * 100 <= wakeups
}

fn tell(seen: &Seen) -> Value {
    let (wakeups, agreed) = seen.counts.wakeups();
    let counts = &seen.counts;
    let reasons: Map<String, Value> = Reason::ALL
        .iter()
        .zip(counts.asked.iter().zip(&counts.agreed))
        .filter(|(_, (asked, _))| **asked != 0)
        .map(|(reason, counts)| (reason.name().to_owned(), json!(counts)))
        .collect();
    let why: Map<String, Value> = Why::ALL
        .iter()
        .zip(&seen.why)
        .filter(|(_, (count, _))| *count != 0)
        .map(|(why, (count, _))| (why.key().to_owned(), json!(count)))
        .collect();
    if let (_, Some(first)) = &seen.why[Why::Unexplained.index()] {
        println!("UNEXPLAINED {first:?}");
    }
    json!({
        "wakeups": wakeups,
        "agreed": agreed,
        "asked_and_agreed_by_reason": reasons,
        "differences": why,
        "unrecorded": counts.unrecorded,
        "forks": counts.forks,
        "forks_agreed": counts.forks_agreed,
    })
}
