//! Places in a run that are worth a look: what an audit found, with where it is.

use fairlab_audit::{Certainty, outcome};
use fairlab_stats::table::html;
use fairlab_units::{CpuId, TaskId, Timestamp};

use crate::run::Run;
use crate::tables::{at, us};

/// A finding.
pub(crate) struct Finding {
    pub(crate) sort: Sort,
    pub(crate) from: Timestamp,
    pub(crate) ns: u64,
    pub(crate) cpus: Vec<CpuId>,
    pub(crate) task: Option<TaskId>,
    pub(crate) what: String,
    /// What it cost, in ns.
    pub(crate) cost_ns: u64,
    pub(crate) is_sure: bool,
}

/// Sorts of findings, for the page's filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Misplaced,
    Beside,
    Wait,
    PingPong,
    Lost,
}

impl Sort {
    pub(crate) const ALL: [Self; 5] = [
        Self::Misplaced,
        Self::Beside,
        Self::Wait,
        Self::PingPong,
        Self::Lost,
    ];

    /// As the filter calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Misplaced => "misplaced",
            Self::Beside => "waiting beside idle",
            Self::Wait => "long wait",
            Self::PingPong => "back and forth",
            Self::Lost => "events lost",
        }
    }
}

/// What `run` has, the costliest of each sort first.
pub(crate) fn findings(run: &Run<'_>) -> Vec<Finding> {
    let audit = run.audit;
    let is_sure = |certainty| certainty == Certainty::Sure && audit.contradictions == 0;
    let mut findings = Vec::new();
    for miss in audit.placements.worst() {
        findings.push(Finding {
            sort: Sort::Misplaced,
            from: miss.time,
            ns: miss.delay_ns,
            cpus: [Some(miss.cpu), miss.better]
                .into_iter()
                .flatten()
                .collect(),
            task: Some(miss.task),
            what: format!(
                "{} put on CPU {}{}: {}",
                miss.kind.name(),
                miss.cpu.0,
                miss.better
                    .map_or(String::new(), |cpu| format!(", not on {}", cpu.0)),
                outcome(miss.found, miss.missed)
            ),
            cost_ns: miss.delay_ns,
            is_sure: is_sure(miss.certainty),
        });
    }
    for episode in audit.idleness.longest() {
        findings.push(Finding {
            sort: Sort::Beside,
            from: episode.from,
            ns: episode.ns,
            cpus: vec![episode.busy_cpu, episode.idle_cpu],
            task: Some(episode.task),
            what: format!(
                "at first on CPU {} while CPU {} idled",
                episode.busy_cpu.0, episode.idle_cpu.0
            ),
            cost_ns: episode.lost_ns,
            is_sure: is_sure(episode.certainty),
        });
    }
    for wait in audit.delays.worst() {
        let why = if wait.is_woken {
            "after it was woken"
        } else {
            "after it was preempted"
        };
        findings.push(Finding {
            sort: Sort::Wait,
            from: wait.from,
            ns: wait.ns,
            cpus: vec![wait.cpu],
            task: Some(wait.task),
            what: format!("ran on CPU {} {why}", wait.cpu.0),
            cost_ns: wait.ns,
            is_sure: audit.contradictions == 0,
        });
    }
    let mut returns: Vec<_> = audit.migrations.ping_pong.iter().collect();
    returns.sort_by_key(|(task, ping_pong)| (std::cmp::Reverse(ping_pong.returns), **task));
    for (task, ping_pong) in returns.into_iter().take(20) {
        findings.push(Finding {
            sort: Sort::PingPong,
            from: ping_pong.last,
            ns: 0,
            cpus: Vec::new(),
            task: Some(*task),
            what: format!(
                "moved back while runnable {} times, here last",
                ping_pong.returns
            ),
            cost_ns: 0,
            is_sure: audit.contradictions == 0,
        });
    }
    for loss in audit.losses.iter().take(100) {
        findings.push(Finding {
            sort: Sort::Lost,
            from: loss.from,
            ns: loss.to.saturating_since(loss.from).0,
            cpus: vec![loss.cpu],
            task: None,
            what: format!("what CPU {} did is not known", loss.cpu.0),
            cost_ns: 0,
            is_sure: true,
        });
    }
    findings
}

/// Rows of the findings' table for `run`, the `index`th of the page. A button goes to the place.
pub(crate) fn rows(run: &Run<'_>, index: usize, names_run: bool) -> String {
    let begin = run.audit.totals.from;
    let mut text = String::new();
    for finding in findings(run) {
        let cpus: Vec<String> = finding.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
        let task = finding.task.map_or(String::new(), |task| run.task(task));
        let run_cell = if names_run {
            format!("<td>{}</td>", html(&run.name))
        } else {
            String::new()
        };
        text.push_str(&format!(
            "<tr data-sort=\"{sort}\" data-task=\"{task}\" data-cpus=\"{list}\">\
             <th scope=\"row\"><button class=\"go\" data-run=\"{index}\" data-from=\"{from}\" \
             data-ns=\"{ns}\" data-cpus=\"{list}\" data-pid=\"{pid}\">{time}</button></th>{run_cell}\
             <td>{sort}</td><td>{task}</td><td>{what}</td><td class=\"number\">{cost}</td>\
             <td>{sure}</td></tr>\n",
            sort = finding.sort.name(),
            from = finding.from.saturating_since(begin).0,
            ns = finding.ns,
            list = cpus.join(","),
            pid = finding.task.map_or(String::new(), |task| task.0.to_string()),
            time = at(finding.from),
            task = html(&task),
            what = html(&finding.what),
            cost = if finding.cost_ns > 0 { us(Some(finding.cost_ns)) } else { String::new() },
            sure = if finding.is_sure { "" } else { "not sure" },
        ));
    }
    text
}
