//! Decisions of the kernel's own class, recorded under several loads and given to the host.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fairlab_live::{Recording, record_decisions};
use serde_json::json;

use crate::load::Worker;
use crate::report::send_line;
use crate::scheduler::options;
use crate::shadow::LOADS;
use crate::tests::{Facts, number};
use crate::watch::cpus_and_cores;

/// Whether the decisions are those that the policy gives is for the host to find
/// (`cargo xtask oracle decisions`); here they have to be complete, and there have to be some.
pub fn run(facts: &mut Facts) -> bool {
    let (cpus, _) = cpus_and_cores();
    let wanted = number("fairlab.decisions=", 300);
    let mut fine = true;
    for (name, load) in LOADS {
        let workers: Vec<Worker> = load(cpus);
        let recording = record_decisions(
            &options(&[]),
            wanted,
            Some(Duration::from_secs(20)),
            &AtomicBool::new(false),
        );
        drop(workers);
        let told = match recording {
            Ok(recording) => {
                fine &= !recording.decisions.is_empty() && recording.incomplete == 0;
                let sent = send(name, &recording);
                fine &= sent.is_ok();
                json!({
                    "decisions": recording.decisions.len(),
                    "incomplete": recording.incomplete,
                    "unrecorded": recording.machine["unrecorded"],
                    "hz": recording.machine["hz"],
                    "sent": sent.map_err(|error| error.to_string()).is_ok(),
                })
            }
            Err(error) => {
                fine = false;
                json!(error.to_string())
            }
        };
        facts.insert(name.to_owned(), told);
    }
    fine
}

/// The seed 2 in the name says that imbalance flags of groups are recorded.
fn send(name: &str, recording: &Recording) -> std::io::Result<()> {
    for line in &recording.decisions {
        send_line(&format!("{name}-2.jsonl"), line)?;
    }
    if LOADS.last().is_some_and(|(last, _)| *last == name) {
        for line in &recording.domains {
            send_line("domains.jsonl", line)?;
        }
        send_line("machine.json", &recording.machine.to_string())?;
    }
    Ok(())
}
