//! The trace for Perfetto, with what was found on tracks beside its events.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use fairlab_audit::{Certainty, Missed, outcome};
use fairlab_trace::{About, Mark, MarkValue, TraceWriter, WriteFormat};

use super::Findings;

/// Reads the trace again and writes its events and the findings to `path`.
pub fn write(path: &Path, findings: &mut Findings) -> Result<()> {
    findings.recording.rewind()?;
    let failed = || format!("cannot write {}", path.display());
    let file = File::create(path).with_context(failed)?;
    let metadata = findings.recording.metadata();
    let about = About {
        nr_cpus: findings.traced.machine.nr_cpu_ids() as u32,
        release: metadata.kernel_release.clone().unwrap_or_default(),
        machine: metadata.arch.clone().unwrap_or_default(),
        title: format!("fairlab {}: an audit", env!("CARGO_PKG_VERSION")),
    };
    let mut writer = TraceWriter::new(WriteFormat::Perfetto, &about, BufWriter::new(file));
    let mut batch = Vec::new();
    while findings.recording.next_batch(&mut batch) {
        for event in &batch {
            writer
                .event(event, findings.recording.names())
                .with_context(failed)?;
        }
    }
    marks(findings, |mark| writer.mark(mark)).with_context(failed)?;
    writer
        .finish(findings.recording.names())
        .with_context(failed)?;
    Ok(())
}

/// Hands every finding to `put`, those of each track in the order of their begins.
fn marks(
    findings: &Findings,
    mut put: impl FnMut(&Mark<'_>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let audit = &findings.audit;
    let is_sure =
        |certainty| MarkValue::Flag(certainty == Certainty::Sure && findings.is_consistent());
    for episode in &audit.history.episodes {
        put(&Mark {
            track: "waiting beside idle CPUs",
            from: episode.from,
            ns: episode.ns,
            name: &format!("{} waits", findings.task(episode.task)),
            fields: &[
                ("lost_ns", MarkValue::Number(episode.lost_ns)),
                ("idle_cpu", MarkValue::Number(episode.idle_cpu.0.into())),
                ("busy_cpu", MarkValue::Number(episode.busy_cpu.0.into())),
                ("task", MarkValue::Text(&findings.task(episode.task))),
                ("is_sure", is_sure(episode.certainty)),
            ],
        })?;
    }
    let mut missed: Vec<_> = audit
        .placements
        .every
        .iter()
        .filter(|placed| placed.missed != Missed::Nothing)
        .collect();
    missed.sort_by_key(|placed| (placed.time, placed.task));
    for placed in missed {
        let task = findings.task(placed.task);
        let mut fields = vec![
            ("task", MarkValue::Text(&task)),
            ("kind", MarkValue::Text(placed.kind.name())),
            ("is_sure", is_sure(placed.certainty)),
        ];
        if let Some(better) = placed.better {
            fields.push(("better_cpu", MarkValue::Number(better.0.into())));
        }
        put(&Mark {
            track: &format!("misplaced on CPU {}", placed.cpu.0),
            from: placed.time,
            ns: placed.delay_ns,
            name: outcome(placed.found, placed.missed),
            fields: &fields,
        })?;
    }
    for loss in &audit.losses {
        put(&Mark {
            track: &format!("lost on CPU {}", loss.cpu.0),
            from: loss.from,
            ns: loss.to.saturating_since(loss.from).0,
            name: "events lost",
            fields: &[],
        })?;
    }
    Ok(())
}
