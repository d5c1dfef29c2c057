//! The tests, by name.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};

use crate::load::{Worker, lost, mix, patience};
use crate::report::Report;
use crate::scheduler::{LAST, start};
use crate::trace::Trace;
use crate::watch::{core_of, cpu_of, cpus_and_cores, status, wait};

pub type Facts = Map<String, Value>;
type Test = fn(&mut Facts) -> bool;

const TESTS: [(&str, Test); 15] = [
    ("refuse", crate::refuse::refuse),
    ("verify", crate::verify::run),
    ("enable", enable),
    ("live", crate::live::live),
    ("mix", run_mix),
    ("kill", kill),
    ("stall", stall),
    ("hotplug", crate::hotplug::run),
    ("cores", cores),
    ("fair", fair),
    ("cgroup", crate::cgroup::run),
    ("cost", crate::cost::run),
    ("shadow", crate::shadow::run),
    ("record", crate::record::record),
    ("traces", crate::traces::traces),
];

/// Runs those that the command line names, or all.
pub fn run_all() {
    let command_line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let named = command_line
        .split_whitespace()
        .find_map(|word| word.strip_prefix("fairlab.tests="));
    let report = Report::open();
    let (cpus, cores) = cpus_and_cores();
    let mut facts = Facts::new();
    facts.insert("release".to_owned(), json!(status().release));
    facts.insert("cpus".to_owned(), json!(cpus));
    facts.insert("cores".to_owned(), json!(cores));
    report.tell("boot", true, facts);
    for (name, test) in TESTS {
        if named.is_some_and(|named| !named.split(',').any(|one| one == name)) {
            continue;
        }
        let mut facts = Facts::new();
        let ok = test(&mut facts);
        report.tell(name, ok, facts);
    }
    report.tell("end", true, Facts::new());
}

/// How long scheduling may take to change hands. To load the programs takes some 430 million instructions of one CPU, of
/// which the kernel's verifier needs two thirds: 1.7 s of guest time, where that counts instructions and all
/// other CPUs idle. It counts those of all CPUs, so that busy ones make it last as many times longer.
pub fn handover() -> Duration {
    let (cpus, _) = cpus_and_cores();
    Duration::from_secs(10 + 3 * cpus as u64)
}

/// Starts the scheduler and waits until it is in charge.
pub fn take_over(arguments: &[&str], facts: &mut Facts) -> Option<Child> {
    let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
    let mut child = start(&arguments);
    let took = wait(handover(), || {
        status().is_ours() || !matches!(child.try_wait(), Ok(None))
    });
    let status = status();
    facts.insert("state".to_owned(), json!(status.state));
    facts.insert("ops".to_owned(), json!(status.scheduler));
    facts.insert(
        "enabled_after_ms".to_owned(),
        json!(took.map(|t| t.as_millis() as u64)),
    );
    if status.is_ours() {
        return Some(child);
    }
    facts.insert(
        "ended".to_owned(),
        json!(fs::read_to_string("/tmp/ended").ok()),
    );
    if let Ok(log) = fs::read_to_string("/tmp/verifier.log") {
        for line in log.lines().rev().take(60).collect::<Vec<_>>().iter().rev() {
            println!("LOG {line}");
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Ends the scheduler by `signal`; after how many ms the kernel was back on its own.
pub fn give_back(mut child: Child, signal: Signal) -> Option<u64> {
    if let Some(pid) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process(pid, signal);
    }
    let took = wait(handover(), || status().state.as_deref() == Some("disabled"));
    let _ = child.wait();
    took.map(|t| t.as_millis() as u64)
}

/// What the scheduler saw last.
pub fn last_seen(facts: &mut Facts) -> Value {
    let text = fs::read_to_string(LAST).unwrap_or_default();
    let seen: Value = serde_json::from_str(&text).unwrap_or_default();
    facts.insert("seen".to_owned(), seen.clone());
    seen
}

/// A number from the kernel's command line.
pub fn number(name: &str, otherwise: u64) -> u64 {
    let command_line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let named = command_line
        .split_whitespace()
        .find_map(|word| word.strip_prefix(name)?.parse().ok());
    named.unwrap_or(otherwise)
}

/// How long a test of endurance lasts.
pub fn seconds() -> Duration {
    Duration::from_secs(number("fairlab.seconds=", 30))
}

/// Takes over an idle machine and leaves it.
fn enable(facts: &mut Facts) -> bool {
    let Some(child) = take_over(&["record=1"], facts) else {
        return false;
    };
    std::thread::sleep(Duration::from_secs(1));
    let took = give_back(child, Signal::TERM);
    let seen = last_seen(facts);
    facts.insert("disabled_after_ms".to_owned(), json!(took));
    let ended = fs::read_to_string("/tmp/ended").unwrap_or_default();
    facts.insert("ended".to_owned(), json!(ended));
    took.is_some() && !ended.starts_with("error") && is_easily_verified(&seen)
}

/// Every kind of load at once; nobody may stop, and every decision is asked again.
fn run_mix(facts: &mut Facts) -> bool {
    let (cpus, _) = cpus_and_cores();
    let Some(child) = take_over(&["record=1", "details"], facts) else {
        return false;
    };
    let mut workers = mix(cpus);
    std::thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    let window = seconds().min(Duration::from_secs(5));
    let limits = patience(&workers);
    let mut stalled = Vec::new();
    let mut always_ours = true;
    for worker in &mut workers {
        worker.stands_still();
    }
    while start.elapsed() < seconds() {
        std::thread::sleep(window);
        always_ours &= status().is_ours();
        for (worker, limit) in workers.iter_mut().zip(&limits) {
            if *limit <= window && worker.stands_still() {
                stalled.push(format!("{} at {:?}", worker.name, start.elapsed()));
            }
        }
    }
    stalled.extend(lost(&mut workers));
    let seen = last_seen(facts);
    facts.insert("stalled".to_owned(), json!(stalled));
    facts.insert("always_enabled".to_owned(), json!(always_ours));
    // The kernel names a task that it saw stall by its number.
    let names = workers.iter().map(|w| (w.pid().to_string(), json!(w.name)));
    facts.insert("workers".to_owned(), Value::Object(names.collect()));
    let ended = fs::read_to_string("/tmp/ended").unwrap_or_default();
    facts.insert("ended".to_owned(), json!(ended));
    let took = give_back(child, Signal::TERM);
    facts.insert("disabled_after_ms".to_owned(), json!(took));
    let all_alive = workers.iter_mut().all(Worker::is_alive);
    facts.insert("all_alive".to_owned(), json!(all_alive));
    stalled.is_empty()
        && always_ours
        && all_alive
        && took.is_some()
        && is_checked(&seen)
        && is_easily_verified(&seen)
}

/// The effort of the verifier that tests allow, so that the next change does not hit the limit.
pub const VERIFIED_WITH_ROOM: u32 = fairlab_live::VERIFIED_LIMIT * 3 / 4;

/// Is each program far from the limit of the verifier's effort?
fn is_easily_verified(seen: &Value) -> bool {
    let programs = seen["verified"].as_object();
    programs.is_some_and(|programs| {
        let limit = u64::from(VERIFIED_WITH_ROOM);
        let all_fit = |n: &Value| n.as_u64().is_some_and(|n| n > 0 && n <= limit);
        !programs.is_empty() && programs.values().all(all_fit)
    })
}

/// Were decisions asked again, all with the same answer?
pub fn is_checked(seen: &Value) -> bool {
    seen["checked"].as_u64().is_some_and(|n| n > 0) && seen["different"].as_u64() == Some(0)
}

/// Kills the loader under load, again and again.
fn kill(facts: &mut Facts) -> bool {
    let (cpus, _) = cpus_and_cores();
    let mut workers = mix(cpus);
    let mut times = Vec::new();
    for _ in 0..number("fairlab.kills=", 20) {
        let Some(child) = take_over(&[], facts) else {
            return false;
        };
        std::thread::sleep(Duration::from_millis(300));
        let Some(took) = give_back(child, Signal::KILL) else {
            facts.insert("not_back_after".to_owned(), json!(times.len()));
            return false;
        };
        times.push(took);
    }
    let lost = lost(&mut workers);
    facts.insert("back_after_ms".to_owned(), json!(times));
    facts.insert("lost".to_owned(), json!(lost));
    lost.is_empty()
}

/// Loses a task's wakeups on purpose; the kernel's watchdog has to end the scheduler and say why.
fn stall(facts: &mut Facts) -> bool {
    let victim = Worker::start("periodic");
    let lose = format!("lose={}", victim.pid());
    let Some(mut child) = take_over(&[&lose], facts) else {
        return false;
    };
    let took = wait(Duration::from_secs(60), || {
        matches!(child.try_wait(), Ok(Some(_)))
    });
    let ended = fs::read_to_string("/tmp/ended").unwrap_or_default();
    facts.insert(
        "ejected_after_ms".to_owned(),
        json!(took.map(|t| t.as_millis() as u64)),
    );
    facts.insert("ended".to_owned(), json!(ended));
    facts.insert("state".to_owned(), json!(status().state));
    let _ = child.kill();
    let _ = child.wait();
    took.is_some() && ended.contains("stall") && status().state.as_deref() == Some("disabled")
}

/// As many busy tasks as cores have a core each, soon and for good.
fn cores(facts: &mut Facts) -> bool {
    let (cpus, cores) = cpus_and_cores();
    let Some(child) = take_over(&[], facts) else {
        return false;
    };
    std::thread::sleep(Duration::from_secs(1));
    // Read before, so that looking costs little beside what is looked at.
    let core_of_cpu: Vec<String> = (0..cpus).map(core_of).collect();
    let trace = Trace::start();
    let workers: Vec<_> = (0..cores).map(|_| Worker::start("hog")).collect();
    let spread = || {
        let mut used: Vec<_> = workers
            .iter()
            .filter_map(|worker| core_of_cpu.get(cpu_of(worker.pid())?))
            .collect();
        used.sort();
        used.dedup();
        used.len() == cores
    };
    let took = wait(Duration::from_secs(5), spread);
    let (mut looks, mut apart) = (0u32, 0u32);
    let mut together = Vec::new();
    let start = Instant::now();
    while start.elapsed() < seconds() {
        looks += 1;
        if spread() {
            apart += 1;
        } else if together.len() < 10 {
            trace.stop();
            let cpus: Vec<_> = workers.iter().map(|worker| cpu_of(worker.pid())).collect();
            together.push(json!({ "at_ms": start.elapsed().as_millis() as u64, "cpus": cpus }));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    facts.insert(
        "apart_after_ms".to_owned(),
        json!(took.map(|t| t.as_millis() as u64)),
    );
    facts.insert("looks".to_owned(), json!(looks));
    facts.insert("looks_apart".to_owned(), json!(apart));
    facts.insert("together".to_owned(), json!(together));
    if apart < looks {
        trace.print_last(Duration::from_millis(40));
    }
    drop(trace);
    let stay = stay_where_allowed(workers, &core_of_cpu);
    facts.insert("stay_where_allowed".to_owned(), json!(stay));
    give_back(child, Signal::TERM);
    last_seen(facts);
    took.is_some_and(|took| took <= Duration::from_millis(100)) && apart == looks && stay
}

/// Busy tasks that may only use one core share it, however many others idle.
fn stay_where_allowed(workers: Vec<Worker>, core_of_cpu: &[String]) -> bool {
    drop(workers);
    let Some(first) = core_of_cpu.first() else {
        return false;
    };
    let threads: Vec<usize> = (0..core_of_cpu.len())
        .filter(|cpu| core_of_cpu[*cpu] == *first)
        .collect();
    let mut bound: Vec<_> = threads
        .iter()
        .map(|_| Worker::start("hog").within(&threads))
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    let inside = (0..50).all(|_| {
        std::thread::sleep(Duration::from_millis(10));
        bound
            .iter()
            .all(|worker| cpu_of(worker.pid()).is_some_and(|cpu| threads.contains(&cpu)))
    });
    inside && status().is_ours() && bound.iter_mut().all(|worker| !worker.stands_still())
}

/// Tasks of different nice values on one CPU get time by weight.
fn fair(facts: &mut Facts) -> bool {
    const NICE: [(i32, u64); 4] = [(0, 1024), (5, 335), (-5, 3121), (2, 655)];
    let Some(child) = take_over(&[], facts) else {
        return false;
    };
    let mut workers: Vec<_> = NICE
        .iter()
        .map(|(nice, _)| Worker::start("hog").pinned(0).nice(*nice))
        .collect();
    std::thread::sleep(Duration::from_secs(2));
    for worker in &mut workers {
        worker.progress();
    }
    std::thread::sleep(seconds().min(Duration::from_secs(20)));
    let ran: Vec<u64> = workers
        .iter_mut()
        .map(|worker| worker.progress().unwrap_or(0))
        .collect();
    let all: u64 = ran.iter().sum::<u64>().max(1);
    let weights: u64 = NICE.iter().map(|(_, weight)| weight).sum();
    let mut worst = 0.0f64;
    let mut table = Vec::new();
    for ((nice, weight), ran) in NICE.iter().zip(&ran) {
        let got = *ran as f64 / all as f64;
        let due = *weight as f64 / weights as f64;
        worst = worst.max((got / due - 1.0).abs());
        table.push(json!({ "nice": nice, "got": got, "due": due }));
    }
    facts.insert("table".to_owned(), json!(table));
    facts.insert("worst_relative".to_owned(), json!(worst));
    last_seen(facts);
    give_back(child, Signal::TERM);
    worst <= 0.03
}
