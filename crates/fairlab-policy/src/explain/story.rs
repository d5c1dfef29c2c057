//! A decision as a person would tell it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use fairlab_topology::Domains;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use super::{Event, Explain, ProbeState, Step};
use crate::{Affine, GroupStats, GroupType, Outcome};

/// Writes down a decision in sentences, one per line.
///
/// Looks at CPUs that follow each other in one part of the decision become one line.
///
/// ```text
/// wake counts: waker 3, wakee 1, LLC of 8 CPUs: not many to many
/// search around CPU 0: the previous one; nothing speaks for the waking CPU
/// search for an idle core: 0 busy, 1 idle, 2 busy, 4 busy, 6-7 idle
/// CPU 6: idle core. A core of the LLC was idle with all its threads.
/// ```
#[derive(Clone, Debug)]
pub struct Story<'a> {
    domains: &'a Domains,
    lines: Vec<String>,
    probing: Option<Step>,
    /// CPUs seen in the same state one after the other.
    run: Option<(CpuId, CpuId, ProbeState)>,
}

impl<'a> Story<'a> {
    /// An empty story; `domains` are those of the view, and give domains their names.
    #[must_use]
    pub const fn new(domains: &'a Domains) -> Self {
        Self {
            domains,
            lines: Vec::new(),
            probing: None,
            run: None,
        }
    }

    /// The lines, the last of which tells the outcome.
    #[must_use]
    pub fn finish(mut self, outcome: &Outcome) -> Vec<String> {
        self.end_probes();
        let decision = outcome.decision;
        self.lines.push(format!(
            "CPU {}: {}. {}",
            decision.cpu,
            decision.reason,
            decision.reason.doc()
        ));
        if let Some(shared) = outcome.effects.clear_idle_cores {
            self.lines.push(format!(
                "the hint \"some core is idle\" of LLC object {} is cleared",
                shared.0
            ));
        }
        self.lines
    }

    fn end_run(&mut self) {
        if let (Some((first, last, state)), Some(line)) = (self.run.take(), self.lines.last_mut()) {
            let comma = if line.ends_with(':') { "" } else { "," };
            let state = match state {
                ProbeState::Busy => "busy",
                ProbeState::Idle => "idle",
                ProbeState::SchedIdle => "only SCHED_IDLE",
            };
            // Writing to a string cannot fail.
            let _ = if first == last {
                write!(line, "{comma} {first} {state}")
            } else {
                write!(line, "{comma} {first}-{last} {state}")
            };
        }
    }

    fn end_probes(&mut self) {
        self.end_run();
        self.probing = None;
    }

    fn probe(&mut self, step: Step, cpu: CpuId, state: ProbeState) {
        if self.probing != Some(step) {
            self.end_probes();
            self.lines.push(format!("{}:", step.name()));
            self.probing = Some(step);
        }
        match &mut self.run {
            Some((_, last, same)) if *same == state && last.0 + 1 == cpu.0 => *last = cpu,
            _ => {
                self.end_run();
                self.run = Some((cpu, cpu, state));
            }
        }
    }

    fn domain_name(&self, id: DomainId) -> String {
        let domain = self.domains.domain(id);
        format!("{} {{{}}}", domain.name, self.domains.span(id))
    }

    fn line(&self, event: &Event<'_>) -> Option<String> {
        Some(match *event {
            Event::Probe { .. } => return None,
            Event::WakeWide {
                waker_flips,
                wakee_flips,
                llc_size,
                is_wide,
            } => format!(
                "wake counts: waker {waker_flips}, wakee {wakee_flips}, LLC of {llc_size} CPUs: {}",
                if is_wide {
                    "many to many, the wakee stays apart"
                } else {
                    "not many to many"
                }
            ),
            Event::Weight { this, prev } => format!(
                "load after the move: waking CPU {this}, previous CPU {prev}: {}",
                if this < prev { "pull" } else { "no pull" }
            ),
            Event::Affine { how, target } => {
                format!("search around CPU {target}: {}", affine_words(how))
            }
            Event::Budget { nr, has_idle_core } => match (nr, has_idle_core) {
                (_, true) => "scan: the hint promises an idle core, so no limit".into(),
                (None, false) => "scan: no limit".into(),
                (Some(nr), false) => format!("scan: at most {} CPUs", i64::from(nr) - 1),
            },
            Event::Remembered { step, cpu } => format!(
                "{}: CPU {cpu} is in another cluster, kept as a fallback",
                step.name()
            ),
            Event::Energy { cpu, delta } => format!("energy: {delta} more on CPU {cpu}"),
            Event::Group {
                domain,
                span,
                is_local,
                stats,
            } => format!(
                "{}: group {{{span}}}{}: {}",
                self.domain_name(domain),
                if is_local { " (local)" } else { "" },
                group_words(stats)
            ),
            Event::GroupChosen { domain, cpu, group } => match group {
                Some(span) => format!(
                    "{} from CPU {cpu}: group {{{span}}} is idlest",
                    self.domain_name(domain)
                ),
                None => format!(
                    "{} from CPU {cpu}: no group is better than the local one",
                    self.domain_name(domain)
                ),
            },
        })
    }
}

impl Explain for Story<'_> {
    fn note(&mut self, event: Event<'_>) {
        if let Event::Probe { step, cpu, state } = event {
            self.probe(step, cpu, state);
        } else if let Some(line) = self.line(&event) {
            self.end_probes();
            self.lines.push(line);
        }
    }
}

const fn affine_words(how: Affine) -> &'static str {
    match how {
        Affine::Unwanted => "the previous one; the waking CPU does not come into question",
        Affine::NoDomain => "the previous one; no domain pulls across that distance",
        Affine::SameCpu => "it is both the waking and the previous one",
        Affine::ThisIdle => {
            "the waking one; it is idle and shares the cache of the busy previous CPU"
        }
        Affine::PrevIdle => "the previous one; it is idle",
        Affine::Sync => "the waking one; the waker is about to sleep and alone on it",
        Affine::SyncLoad => {
            "the waking one; the waker, about to sleep, is more than its average load"
        }
        Affine::Weight => "the waking one; it would be less loaded",
        Affine::LlcIdler => "the waking one; its LLC is more idle",
        Affine::PrevLlcIdler => "the previous one; its LLC is more idle",
        Affine::Declined => "the previous one; nothing speaks for the waking CPU",
    }
}

fn group_words(stats: &GroupStats) -> String {
    let kind = match stats.kind {
        GroupType::HasSpare => "has spare capacity",
        GroupType::FullyBusy => "fully busy",
        GroupType::MisfitTask => "too small for the task",
        GroupType::SmtBalance => "SMT imbalance",
        GroupType::AsymPacking => "asymmetric packing",
        GroupType::Imbalanced => "imbalanced by pinned tasks",
        GroupType::LlcBalance => "tasks outside their LLC",
        GroupType::Overloaded => "overloaded",
    };
    format!(
        "{kind}, {} idle CPUs, {} tasks, utilization {} of {}, load {}",
        stats.idle_cpus, stats.nr_running, stats.util, stats.capacity, stats.load
    )
}
