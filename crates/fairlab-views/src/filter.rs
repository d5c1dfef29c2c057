//! Which rows are wanted.

use fairlab_units::{CpuId, CpuMask, TaskId, Timestamp};

/// What is asked for; everything that is not given passes.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only these CPUs.
    pub cpus: Option<CpuMask>,
    /// Only these tasks; none given stands for all.
    pub tasks: Vec<TaskId>,
    /// Only threads of these processes; none given stands for all.
    pub processes: Vec<TaskId>,
    /// Only tasks of these names; none given stands for all.
    pub names: Vec<String>,
    /// From this time on.
    pub from: Option<Timestamp>,
    /// Up to this time.
    pub to: Option<Timestamp>,
}

impl Filter {
    pub(crate) fn has_cpu(&self, cpu: CpuId) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.test(cpu))
    }

    pub(crate) fn has_time(&self, time: Timestamp) -> bool {
        self.from.is_none_or(|from| time >= from) && self.to.is_none_or(|to| time <= to)
    }

    /// Are some tasks wanted only?
    pub(crate) const fn picks_tasks(&self) -> bool {
        !(self.tasks.is_empty() && self.processes.is_empty() && self.names.is_empty())
    }

    /// Is the task wanted? Idle tasks are none, and wanted when no task in particular is.
    pub(crate) fn has_task(&self, task: Option<(TaskId, TaskId)>, name: &str) -> bool {
        let has = |wanted: &[TaskId], number: Option<TaskId>| {
            wanted.is_empty() || number.is_some_and(|number| wanted.contains(&number))
        };
        has(&self.tasks, task.map(|(task, _)| task))
            && has(&self.processes, task.map(|(_, process)| process))
            && (self.names.is_empty() || self.names.iter().any(|wanted| wanted == name))
    }
}
