//! Decisions of the kernel's own class: `fairlab record --decisions` under several loads; what it wrote is given
//! to the host.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::command::{User, run};
use crate::load::Worker;
use crate::report::send_line;
use crate::shadow::LOADS;
use crate::tests::{Facts, number};
use crate::watch::cpus_and_cores;

/// For how long each load is recorded at most, s.
const SECONDS: &str = "20";
/// What it may take beside: loading programs on an emulated CPU.
const LIMIT: Duration = Duration::from_secs(120);

/// Whether the decisions are those that the policy gives is for the host to find
/// (`cargo xtask oracle decisions`); here they have to be complete, and there have to be some.
pub fn record(facts: &mut Facts) -> bool {
    let (cpus, _) = cpus_and_cores();
    let wanted = number("fairlab.decisions=", 300).to_string();
    let mut fine = true;
    for ((name, load), place) in LOADS.iter().zip(200..) {
        let folder = format!("/tmp/decisions-{name}");
        let workers: Vec<Worker> = load(cpus);
        let arguments = [
            "record",
            "--decisions",
            &folder,
            "--count",
            &wanted,
            "--duration",
            SECONDS,
        ];
        let done = run(place, User::Root, &arguments, LIMIT);
        drop(workers);
        let Some(done) = done.filter(|done| done.code == Some(0)) else {
            facts.insert((*name).to_owned(), json!("failed"));
            fine = false;
            continue;
        };
        let sent = send(name, &folder).unwrap_or(0);
        fine &= sent > 0 && done.err.contains(" 0 incomplete");
        let machine = fs::read_to_string(format!("{folder}/machine.json")).unwrap_or_default();
        let machine: Value = serde_json::from_str(&machine).unwrap_or_default();
        let told = json!({
            "decisions": sent,
            "said": done.err.trim(),
            "unrecorded": machine["unrecorded"],
            "hz": machine["hz"],
        });
        facts.insert((*name).to_owned(), told);
    }
    fine
}

/// Gives the host the decisions of one load, and with the last what they have in common.
fn send(name: &str, folder: &str) -> std::io::Result<usize> {
    let mut files = vec![("placements-2.jsonl", format!("{name}-2.jsonl"))];
    if LOADS.last().is_some_and(|(last, _)| *last == name) {
        files.extend(["domains.jsonl", "machine.json"].map(|file| (file, file.to_owned())));
    }
    let mut decisions = 0;
    for (file, to) in files {
        for line in fs::read_to_string(format!("{folder}/{file}"))?.lines() {
            send_line(&to, line)?;
            decisions += usize::from(file.starts_with("placements"));
        }
    }
    Ok(decisions)
}
