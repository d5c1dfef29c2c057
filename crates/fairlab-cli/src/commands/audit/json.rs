//! The findings for programs.

use fairlab_audit::{Answer, Certainty, Level, outcome};
use fairlab_trace::Ledger;
use serde::Serialize;

use super::Findings;
use super::what_if::{self, json::AnswerReport};
use crate::cli::audit::AuditVerb;
use crate::commands::latency::Latency;

/// The whole report.
#[derive(Serialize)]
pub struct Report {
    fairlab: &'static str,
    trace: String,
    format: String,
    machine: String,
    machine_known_from: String,
    kernel_release: Option<String>,
    from_ns: u64,
    to_ns: u64,
    events: u64,
    switches: u64,
    wakeups: u64,
    forks: u64,
    missing: Vec<&'static str>,
    losses: usize,
    contradictions: u64,
    cpus: Vec<CpuReport>,
    idleness: IdlenessReport,
    stacked_thread_ns: u64,
    stacked_ns: u64,
    delay: Latency,
    placements: Vec<PlacementReport>,
    cluster_misses: u64,
    worst_placements: Vec<WorstReport>,
    migrations: Vec<MigrationReport>,
    useless_migrations: u64,
    ping_pong: Vec<PingPongReport>,
    tasks: Vec<TaskReport>,
    longest_waits: Vec<WaitReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    what_if: Vec<AnswerReport>,
}

#[derive(Serialize)]
struct CpuReport {
    cpu: u32,
    busy_ns: u64,
    idle_ns: u64,
    unknown_ns: u64,
}

#[derive(Serialize)]
struct IdlenessReport {
    lost_ns: u64,
    unsure_ns: u64,
    beside_ns: u64,
    episodes: u64,
    worst: Vec<EpisodeReport>,
}

#[derive(Serialize)]
struct EpisodeReport {
    from_ns: u64,
    ns: u64,
    lost_ns: u64,
    idle_cpu: u32,
    busy_cpu: u32,
    task: u32,
    is_sure: bool,
}

#[derive(Serialize)]
struct PlacementReport {
    kind: &'static str,
    what: &'static str,
    is_sure: bool,
    count: u64,
    delay: Latency,
}

#[derive(Serialize)]
struct WorstReport {
    time_ns: u64,
    task: u32,
    name: String,
    kind: &'static str,
    what: &'static str,
    cpu: u32,
    better_cpu: Option<u32>,
    delay_ns: u64,
    is_sure: bool,
}

#[derive(Serialize)]
struct MigrationReport {
    cause: &'static str,
    distance: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct PingPongReport {
    task: u32,
    returns: u64,
}

#[derive(Serialize)]
struct TaskReport {
    task: u32,
    name: String,
    running_ns: u64,
    waiting_ns: u64,
    switches: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<Latency>,
}

#[derive(Serialize)]
struct WaitReport {
    from_ns: u64,
    ns: u64,
    task: u32,
    cpu: u32,
    is_woken: bool,
}

/// Puts the report together.
pub fn report(args: &AuditVerb, findings: &Findings, answers: &[Answer]) -> Report {
    let audit = &findings.audit;
    let is_sure = |certainty: Certainty| certainty == Certainty::Sure && findings.is_consistent();
    let name = |task: fairlab::units::TaskId| findings.name(task).to_owned();
    Report {
        fairlab: env!("CARGO_PKG_VERSION"),
        trace: args.trace.clone(),
        format: findings.recording.format().to_string(),
        machine: findings.traced.machine.name().to_owned(),
        machine_known_from: findings.traced.known_from.clone(),
        kernel_release: findings.recording.metadata().kernel_release.clone(),
        from_ns: audit.totals.from.0,
        to_ns: audit.totals.to.0,
        events: audit.totals.events,
        switches: audit.totals.switches,
        wakeups: audit.totals.wakeups,
        forks: audit.totals.forks,
        missing: Ledger::missing(findings.recording.counts())
            .map(|kind| kind.name)
            .collect(),
        losses: audit.losses.len(),
        contradictions: audit.contradictions,
        cpus: audit
            .cpus
            .iter()
            .map(|(cpu, totals)| CpuReport {
                cpu: cpu.0,
                busy_ns: totals.busy.0,
                idle_ns: totals.idle.0,
                unknown_ns: totals.unknown.0,
            })
            .collect(),
        idleness: IdlenessReport {
            lost_ns: audit.idleness.lost_ns,
            unsure_ns: audit.idleness.unsure_ns,
            beside_ns: audit.idleness.beside_ns,
            episodes: audit.idleness.episodes,
            worst: audit
                .idleness
                .longest()
                .iter()
                .take(args.worst.max(1))
                .map(|episode| EpisodeReport {
                    from_ns: episode.from.0,
                    ns: episode.ns,
                    lost_ns: episode.lost_ns,
                    idle_cpu: episode.idle_cpu.0,
                    busy_cpu: episode.busy_cpu.0,
                    task: episode.task.0,
                    is_sure: is_sure(episode.certainty),
                })
                .collect(),
        },
        stacked_thread_ns: audit.stacking.thread_ns,
        stacked_ns: audit.stacking.any_ns,
        delay: Latency::of(&audit.delays.all.delay()),
        placements: audit
            .placements
            .rows()
            .map(|row| PlacementReport {
                kind: row.kind.name(),
                what: outcome(row.found, row.missed),
                is_sure: is_sure(row.certainty),
                count: row.count,
                delay: Latency::of(&row.delay),
            })
            .collect(),
        cluster_misses: audit.placements.cluster_misses,
        worst_placements: audit
            .placements
            .worst()
            .iter()
            .take(args.worst.max(1))
            .map(|miss| WorstReport {
                time_ns: miss.time.0,
                task: miss.task.0,
                name: name(miss.task),
                kind: miss.kind.name(),
                what: outcome(miss.found, miss.missed),
                cpu: miss.cpu.0,
                better_cpu: miss.better.map(|cpu| cpu.0),
                delay_ns: miss.delay_ns,
                is_sure: is_sure(miss.certainty),
            })
            .collect(),
        migrations: audit
            .migrations
            .counts
            .iter()
            .map(|(&(of, level), &count)| MigrationReport {
                cause: of.name(),
                distance: Level::name(level),
                count,
            })
            .collect(),
        useless_migrations: audit.migrations.useless,
        ping_pong: audit
            .migrations
            .ping_pong
            .iter()
            .map(|(task, ping_pong)| PingPongReport {
                task: task.0,
                returns: ping_pong.returns,
            })
            .collect(),
        tasks: audit
            .tasks
            .iter()
            .map(|totals| TaskReport {
                task: totals.task.0,
                name: name(totals.task),
                running_ns: totals.running.0,
                waiting_ns: totals.waiting.0,
                switches: totals.switches,
                delay: audit
                    .delays
                    .by_task
                    .get(&totals.task)
                    .map(|row| Latency::of(&row.delay())),
            })
            .collect(),
        what_if: answers
            .iter()
            .map(|answer| what_if::json::report(findings, answer))
            .collect(),
        longest_waits: audit
            .delays
            .worst()
            .iter()
            .take(args.worst.max(1))
            .map(|wait| WaitReport {
                from_ns: wait.from.0,
                ns: wait.ns,
                task: wait.task.0,
                cpu: wait.cpu.0,
                is_woken: wait.is_woken,
            })
            .collect(),
    }
}
