//! Who is who, and who runs where.

use fairlab_event::{EventKind, NameId, SchedEvent};
use fairlab_trace::Names;
use fairlab_units::{CpuId, TaskId, Timestamp};

use crate::filter::Filter;
use crate::lives::Lives;
use crate::print;

/// CPUs that are followed; there are no more.
pub(crate) const MOST_CPUS: usize = 1 << 14;

/// What is known of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: Option<NameId>,
    pub(crate) process: Option<TaskId>,
    pub(crate) parent: Option<TaskId>,
}

/// The same, with what was known before the latest moment: what is told of a new task comes just
/// before the fork that says that it is new.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    now: Identity,
    before: Identity,
    changed: Timestamp,
}

/// All tasks and CPUs, as told so far.
#[derive(Debug)]
pub(crate) struct Tasks {
    lives: Lives<Known>,
    /// By CPU: `None` while unknown.
    running: Vec<Option<Option<TaskId>>>,
}

impl Tasks {
    pub(crate) const fn new() -> Self {
        Self {
            lives: Lives::new(),
            running: Vec::new(),
        }
    }

    /// Takes in what the event says of tasks. Switches are taken in by [`Tasks::run`], since whoever
    /// looks at them wants to know who ran before.
    pub(crate) fn follow(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Named { task, name } => self.change(task, event.time).name = Some(name),
            EventKind::Process {
                task,
                process,
                parent,
            } => {
                let known = self.change(task, event.time);
                known.process = Some(process);
                known.parent = parent.or(known.parent);
            }
            EventKind::Fork { parent, child } => {
                self.change(child, event.time).parent = Some(parent);
            }
            EventKind::Running { task } => self.run(event.cpu, Some(task)),
            EventKind::Lost { .. } => self.run(event.cpu, None),
            _ => {}
        }
    }

    fn change(&mut self, task: TaskId, time: Timestamp) -> &mut Identity {
        let known = self.lives.get(task);
        if known.changed != time {
            known.before = known.now;
            known.changed = time;
        }
        &mut known.now
    }

    /// What was known of the number when nothing of `time` was told yet.
    pub(crate) fn before(&mut self, task: TaskId, time: Timestamp) -> Identity {
        let known = self.lives.get(task);
        if known.changed == time {
            known.before
        } else {
            known.now
        }
    }

    /// `task` runs on the CPU from now on.
    pub(crate) fn run(&mut self, cpu: CpuId, task: Option<Option<TaskId>>) {
        let index = cpu.index();
        if index >= MOST_CPUS {
            return;
        }
        if index >= self.running.len() {
            self.running.resize(index + 1, None);
        }
        self.running[index] = task;
    }

    /// Who runs on the CPU; the idle task where nothing was told.
    pub(crate) fn running(&self, cpu: CpuId) -> Option<TaskId> {
        self.running.get(cpu.index()).copied().flatten().flatten()
    }

    pub(crate) fn get(&mut self, task: TaskId) -> Identity {
        self.lives.get(task).now
    }

    /// Does the filter want the task?
    pub(crate) fn is_wanted(
        &mut self,
        task: Option<TaskId>,
        filter: &Filter,
        names: &Names,
    ) -> bool {
        if !filter.picks_tasks() {
            return true;
        }
        let Some(task) = task else {
            return filter.has_task(None, "swapper");
        };
        let who = self.get(task);
        let name = who.name.map_or("", |name| names.get(name));
        filter.has_task(Some((task, who.process.unwrap_or(task))), name)
    }
}

impl Identity {
    /// The name; `:7` where none was told.
    pub(crate) fn put_name(&self, task: TaskId, names: &Names, out: &mut Vec<u8>) {
        match self.name {
            Some(name) => out.extend_from_slice(names.get(name).as_bytes()),
            None => {
                out.push(b':');
                print::padded(out, u64::from(task.0), 0, b' ');
            }
        }
    }

    /// `name[7]`, or `name[7/5]` for another thread of process 5 than its first.
    pub(crate) fn put(&self, task: TaskId, names: &Names, out: &mut Vec<u8>) {
        self.put_name(task, names, out);
        out.push(b'[');
        print::padded(out, u64::from(task.0), 0, b' ');
        if let Some(process) = self.process.filter(|&process| process != task) {
            out.push(b'/');
            print::padded(out, u64::from(process.0), 0, b' ');
        }
        out.push(b']');
    }
}
