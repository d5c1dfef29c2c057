//! CPUs that go and come under load.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::load::{Worker, lost, mix};
use crate::tests::{Facts, give_back, handover, is_checked, last_seen, take_over};
use crate::watch::{cpu_of, cpus_and_cores, status, wait};

/// How often a known CPU goes and comes back.
const ROUNDS: usize = 3;

/// A CPU that the scheduler knows goes and comes back: it schedules on. One that was off as the scheduler began
/// comes: it begins anew, with that CPU.
pub fn run(facts: &mut Facts) -> bool {
    let (cpus, _) = cpus_and_cores();
    let last = cpus - 1;
    let mut workers = mix(cpus);
    let done = known_cpu(last, &mut workers, facts)
        .and_then(|fine| Ok(unknown_cpu(last, &mut workers, facts)? && fine));
    let _ = switch(last, true);
    done.unwrap_or_else(|error| {
        facts.insert("cannot_switch".to_owned(), json!(error.to_string()));
        false
    })
}

fn switch(cpu: usize, on: bool) -> io::Result<()> {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    fs::write(file, if on { "1" } else { "0" })
}

fn known_cpu(cpu: usize, workers: &mut [Worker], facts: &mut Facts) -> io::Result<bool> {
    let Some(child) = take_over(&["record=1"], facts) else {
        return Ok(false);
    };
    std::thread::sleep(Duration::from_secs(1));
    let begun = status();
    let (mut rounds, mut fine) = (Vec::new(), true);
    for _ in 0..ROUNDS {
        switch(cpu, false)?;
        let mut stalled = lost(workers);
        let has_left = |worker: &Worker| cpu_of(worker.pid()) != Some(cpu);
        let left = workers.iter().all(has_left);
        switch(cpu, true)?;
        let used = wait(Duration::from_secs(5), || !workers.iter().all(has_left));
        stalled.extend(lost(workers));
        fine &= left && used.is_some() && stalled.is_empty();
        rounds.push(json!({
            "left": left,
            "used_again_after_ms": used.map(|t| t.as_millis() as u64),
            "stalled": stalled,
        }));
    }
    let now = status();
    let schedules_on = now.is_ours() && now.enable_seq == begun.enable_seq;
    let counted = now.hotplug_seq > begun.hotplug_seq;
    let took = give_back(child, Signal::TERM);
    let seen = last_seen(facts);
    facts.insert("known".to_owned(), json!(rounds));
    facts.insert("schedules_on".to_owned(), json!(schedules_on));
    Ok(fine && schedules_on && counted && took.is_some() && is_checked(&seen))
}

fn unknown_cpu(cpu: usize, workers: &mut [Worker], facts: &mut Facts) -> io::Result<bool> {
    switch(cpu, false)?;
    let Some(child) = take_over(&["record=1"], facts) else {
        return Ok(false);
    };
    let begun = status().enable_seq;
    switch(cpu, true)?;
    let back = wait(handover(), || {
        let now = status();
        now.is_ours() && now.enable_seq > begun
    });
    let stalled = lost(workers);
    let took = give_back(child, Signal::TERM);
    let seen = last_seen(facts);
    let unknown = json!({
        "back_after_ms": back.map(|t| t.as_millis() as u64),
        "stalled": stalled,
    });
    facts.insert("unknown".to_owned(), unknown);
    Ok(back.is_some() && stalled.is_empty() && took.is_some() && is_checked(&seen))
}
