//! The answers of other kernels for programs.

use std::collections::BTreeMap;

use fairlab_audit::{Agreement, Answer, Difference, Doubt, Example};
use serde::Serialize;

use super::super::Findings;
use super::text::kind;
use crate::commands::latency::Latency;

/// One kernel's answer.
#[derive(Serialize)]
pub struct AnswerReport {
    kernel: String,
    agreement: AgreementReport,
    by_reason: Vec<ReasonReport>,
    differences: Vec<DifferenceReport>,
    not_asked_bound: u64,
    not_asked_higher_class: u64,
    not_asked_open: u64,
    without_waking: u64,
    without_wakeup: u64,
    picks: u64,
    picks_foreseen: u64,
    contradictions: u64,
    sync_pairs_known: usize,
    sync_pairs: usize,
}

#[derive(Serialize)]
struct AgreementReport {
    asked: u64,
    same: u64,
    same_sure: u64,
    same_if: BTreeMap<&'static str, u64>,
    other_unsure: u64,
    other_sure: u64,
}

#[derive(Serialize)]
struct ReasonReport {
    kind: &'static str,
    reason: &'static str,
    #[serde(flatten)]
    agreement: AgreementReport,
}

#[derive(Serialize)]
struct DifferenceReport {
    kind: &'static str,
    recorded: &'static str,
    recorded_met: &'static str,
    reason: &'static str,
    asked_met: &'static str,
    count: u64,
    sure: u64,
    same_if: BTreeMap<&'static str, u64>,
    recorded_delay: Latency,
    asked_free_after: Latency,
    asked_queued_sum: u64,
    examples: Vec<ExampleReport>,
}

#[derive(Serialize)]
struct ExampleReport {
    time_ns: u64,
    task: String,
    prev_cpu: u32,
    waking_cpu: u32,
    recorded_cpu: u32,
    asked_cpu: u32,
    hangs_on: Vec<&'static str>,
}

fn by_doubt(counts: &[u64; Doubt::ALL.len()]) -> BTreeMap<&'static str, u64> {
    Doubt::ALL
        .into_iter()
        .map(|doubt| (doubt.name(), counts[doubt as usize]))
        .filter(|(_, count)| *count > 0)
        .collect()
}

fn agreement(a: &Agreement) -> AgreementReport {
    AgreementReport {
        asked: a.asked,
        same: a.same,
        same_sure: a.same_sure,
        same_if: by_doubt(&a.same_if),
        other_unsure: a.other_unsure,
        other_sure: a.other_sure,
    }
}

fn difference(findings: &Findings, d: &Difference) -> DifferenceReport {
    DifferenceReport {
        kind: kind(d.kind),
        recorded: d.recorded.name(),
        recorded_met: d.recorded_met.name(),
        reason: d.why.name(),
        asked_met: d.asked_met.name(),
        count: d.count,
        sure: d.sure,
        same_if: by_doubt(&d.same_if),
        recorded_delay: Latency::of(&d.delay),
        asked_free_after: Latency::of(&d.free_after),
        asked_queued_sum: d.queued,
        examples: d.examples.iter().map(|e| example(findings, e)).collect(),
    }
}

fn example(findings: &Findings, e: &Example) -> ExampleReport {
    ExampleReport {
        time_ns: e.time.0,
        task: findings.task(e.task),
        prev_cpu: e.prev.0,
        waking_cpu: e.waking.0,
        recorded_cpu: e.recorded.0,
        asked_cpu: e.asked.0,
        hangs_on: e.doubts.iter().map(Doubt::name).collect(),
    }
}

/// The report on one kernel's answer.
pub fn report(findings: &Findings, answer: &Answer) -> AnswerReport {
    let (sync_pairs_known, sync_pairs) = answer.sync.pairs();
    let by_reason = answer.by_why.iter().map(|((asked, why), a)| ReasonReport {
        kind: kind(*asked),
        reason: why.name(),
        agreement: agreement(a),
    });
    AnswerReport {
        kernel: answer.kernel.to_string(),
        agreement: agreement(&answer.agreement(|_| true)),
        by_reason: by_reason.collect(),
        differences: answer
            .differences
            .iter()
            .map(|d| difference(findings, d))
            .collect(),
        not_asked_bound: answer.skipped.bound,
        not_asked_higher_class: answer.skipped.higher,
        not_asked_open: answer.skipped.open,
        without_waking: answer.untimed,
        without_wakeup: answer.untold,
        picks: answer.picks.asked,
        picks_foreseen: answer.picks.same,
        contradictions: answer.contradictions,
        sync_pairs_known,
        sync_pairs,
    }
}
