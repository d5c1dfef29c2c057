//! `fairlab live` and `fairlab live status`, as their user runs them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::command::{Done, Running, User, run};
use crate::load::mix;
use crate::tests::Facts;
use crate::watch::{cpus_and_cores, status, wait};

const LIMIT: Duration = Duration::from_secs(60);

/// What an interval has to tell: each with its unit, or as a plain number of what is named.
const TOLD: [&str; 9] = [
    "placements/s",
    "wait: median",
    "  decided by: ",
    "  found: ",
    "  placed at: ",
    "  moved to: ",
    "  tasks in the queue, itself included: ",
    "  waited, us: ",
    "  cost of a decision: ",
];

/// Takes over, tells live statistics and the state, sums up as text and as JSON, and leaves.
pub fn live(facts: &mut Facts) -> bool {
    let (cpus, _) = cpus_and_cores();
    let workers = mix(cpus);
    let as_text = [
        "live",
        "--stats",
        "1",
        "--duration",
        "5",
        "--check-every",
        "7",
    ];
    let Some((text, shown)) = beside(
        1,
        &as_text,
        &[&["live", "status"], &["live", "status", "--json"]],
    ) else {
        return false;
    };
    let as_json = ["live", "--stats", "1", "--duration", "3", "--json"];
    let Some((summary, _)) = beside(10, &as_json, &[]) else {
        return false;
    };
    drop(workers);
    let after = run(20, User::Root, &["live", "status"], LIMIT);
    let missing: Vec<&str> = TOLD
        .into_iter()
        .filter(|words| !text.err.contains(words))
        .collect();
    let problems = [
        ("text", (text.code != Some(0)).then(|| json!(text.code))),
        ("missing", (!missing.is_empty()).then(|| json!(missing))),
        ("summary", of_summary(&summary)),
        ("status", of_status(&shown)),
        (
            "after",
            after
                .is_none_or(|after| !after.out.contains("fairlab    can start"))
                .then(|| json!("does not say that it can start")),
        ),
    ];
    let mut fine = true;
    for (name, problem) in problems {
        fine &= problem.is_none();
        facts.insert(name.to_owned(), problem.unwrap_or_else(|| json!("ok")));
    }
    fine && status().state.as_deref() == Some("disabled")
}

/// Runs `main`, and while it is in charge the `others`.
fn beside(number: u32, main: &[&str], others: &[&[&str]]) -> Option<(Done, Vec<Done>)> {
    let mut running = Running::start(number, User::Root, main).ok()?;
    wait(LIMIT, || status().is_ours() || running.has_ended());
    let numbered = others.iter().zip(number + 1..);
    let shown = numbered.filter_map(|(arguments, n)| run(n, User::Root, arguments, LIMIT));
    let shown = shown.collect();
    let done = running.end(LIMIT);
    done.print(main);
    Some((done, shown))
}

/// What is wrong with a summary as JSON.
fn of_summary(done: &Done) -> Option<Value> {
    let Ok(summary) = serde_json::from_str::<Value>(&done.out) else {
        return Some(json!("no JSON"));
    };
    let sum = |value: &Value| -> u64 {
        let numbers: Vec<u64> = match value {
            Value::Array(all) => all.iter().filter_map(Value::as_u64).collect(),
            Value::Object(all) => all.values().filter_map(Value::as_u64).collect(),
            other => other.as_u64().into_iter().collect(),
        };
        numbers.iter().sum()
    };
    let asked = sum(&summary["counts"]["asked"]);
    // Each placement has a reason, finds something or nothing, and a distance.
    let all_placements = ["reasons", "found", "placed_by_distance"];
    let some = [
        "moved_by_distance",
        "waits_by_power_of_two_ns",
        "queue_lengths_by_power_of_two",
        "decision_mean_ns",
    ];
    let wrong: Vec<&str> = all_placements
        .into_iter()
        .filter(|key| asked == 0 || sum(&summary[*key]) != asked)
        .chain(some.into_iter().filter(|key| sum(&summary[*key]) == 0))
        .collect();
    (done.code != Some(0) || !wrong.is_empty())
        .then(|| json!({ "code": done.code, "wrong": wrong }))
}

/// What is wrong with the status while we are in charge, as text and as JSON.
fn of_status(shown: &[Done]) -> Option<Value> {
    let [text, summary] = shown else {
        return Some(json!("not told"));
    };
    let summary: Value = serde_json::from_str(&summary.out).unwrap_or_default();
    let fine = text.code == Some(0)
        && text.out.contains("sched_ext  enabled")
        && text.out.contains("fairlab    schedules this machine")
        && text.out.contains("instructions verified")
        && summary["state"] == "enabled"
        && summary["is_ours"] == true
        && summary["programs"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
    (!fine).then(|| json!(text.out))
}
