//! What a trace does not tell, and how much of the findings can be trusted.

use fairlab::units::TaskId;
use fairlab_audit::{Conflict, Contradiction};
use fairlab_report::tables::at;
use fairlab_trace::Ledger;

use super::Findings;

/// What the trace does not tell, and how much can be trusted.
pub fn notes(findings: &Findings) -> Vec<String> {
    let ledger = findings.recording.ledger();
    let mut lines = Vec::new();
    if findings.traced.is_guess {
        lines.push(
            "nothing is known about cores, caches and nodes: give --machine for verdicts on them"
                .to_owned(),
        );
    }
    for kind in Ledger::missing(findings.recording.counts()) {
        lines.push(format!("no {}: {}", kind.name, kind.consequence));
    }
    let losses = findings.audit.losses.len();
    if losses > 0 {
        let events: u64 = ledger.losses().iter().filter_map(|loss| loss.count).sum();
        lines.push(format!(
            "events were lost at {losses} places ({events} where counted): verdicts near them are \
             marked not sure"
        ));
    }
    let across = findings.audit.delays.across_losses;
    if across > 0 {
        lines.push(format!(
            "{across} waits in which events were lost are left out of the delays: the task may have run \
             meanwhile"
        ));
    }
    if ledger.nr_jumps() > 0 {
        lines.push(format!(
            "clocks jumped {} times: times across them are wrong (`fairlab events` tells where)",
            ledger.nr_jumps()
        ));
    }
    if !findings.is_consistent() {
        lines.push(format!(
            "{} events contradict those before them: more is missing than the trace says, and no \
             verdict is sure",
            findings.audit.contradictions
        ));
        lines.extend(
            findings
                .audit
                .first_contradiction
                .map(|first| format!("the first of them, at {}", contradiction(findings, &first))),
        );
    }
    for problem in ledger.problems().iter().take(3) {
        lines.push(problem.to_string());
    }
    lines
}

/// When, where and what.
fn contradiction(findings: &Findings, found: &Contradiction) -> String {
    let who = |task: Option<TaskId>| task.map_or("nobody".to_owned(), |task| findings.task(task));
    let what = match found.conflict {
        Conflict::Current { told, known } => {
            format!("{} runs, where {} was before", who(told), who(known))
        }
        Conflict::Elsewhere { task, on } => format!(
            "{} begins to run, and did not leave CPU {on} before",
            findings.task(task)
        ),
        Conflict::Waited { task } => {
            format!("{} stops, and was waiting before", findings.task(task))
        }
        Conflict::NoCpu { cpu } => format!("the machine has no CPU {cpu}"),
    };
    format!("{} on CPU {}: {what}", at(found.time), found.cpu)
}
