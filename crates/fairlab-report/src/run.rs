//! What a page needs to know of a run.

use std::collections::BTreeMap;

use fairlab_audit::Audit;
use fairlab_topology::Machine;
use fairlab_units::TaskId;

/// One recorded or simulated run.
#[derive(Debug)]
pub struct Run<'a> {
    /// What it is called: a file's name, a kernel.
    pub name: String,
    /// What else is known of it: machine, kernel, format, seed; each with a heading.
    pub facts: Vec<(String, String)>,
    /// What is missing or odd, in sentences.
    pub notes: Vec<String>,
    /// The machine.
    pub machine: &'a Machine,
    /// The findings, with their history and every placement.
    pub audit: &'a Audit,
    /// The tasks' names, as far as known.
    pub names: BTreeMap<TaskId, String>,
}

impl Run<'_> {
    /// `name:number`, as perf prints tasks.
    #[must_use]
    pub fn task(&self, task: TaskId) -> String {
        let name = self.names.get(&task).map_or("", |name| name);
        format!("{name}:{}", task.0)
    }

    /// Length of what the timeline shows, in ns, from the first event on; not 0.
    pub(crate) fn span(&self) -> u64 {
        let to = self.audit.history.cut.unwrap_or(self.audit.totals.to);
        to.0.saturating_sub(self.audit.totals.from.0).max(1)
    }
}
