//! Where tasks may run, as far as a recording tells.

use std::collections::BTreeMap;

use fairlab::units::{CpuMask, TaskId};
use fairlab_trace::{EventKind, NameId, Names, Recording, SchedEvent};

use super::machine::Traced;

/// Follows events and tells where tasks may run: what was recorded with the trace, what new tasks
/// inherit, and the CPU of kernel threads that serve a single one.
pub struct Affinities<'a> {
    traced: &'a Traced,
    known: BTreeMap<TaskId, CpuMask>,
    names: BTreeMap<TaskId, NameId>,
}

/// What comes next in a recording.
pub enum Step<'a> {
    /// Where a task may run; to be believed before the event that follows.
    Told(&'a Told),
    Event(&'a SchedEvent),
}

/// Reads the recording to its end, with `take` beside the reading ([`Recording::feed`]). Gives the tasks'
/// latest names.
pub fn feed(
    recording: &mut Recording,
    traced: &Traced,
    mut take: impl FnMut(Step<'_>) + Send,
) -> BTreeMap<TaskId, NameId> {
    let mut affinities = Affinities::new(recording, traced);
    for (task, allowed) in affinities.known() {
        take(Step::Told(&Told {
            task,
            allowed: allowed.clone(),
            is_kthread: false,
        }));
    }
    recording.feed(
        |recording, events| {
            let told = events.iter().enumerate().filter_map(|(at, event)| {
                let told = affinities.follow(event, recording.names())?;
                Some((at, told))
            });
            told.collect::<Vec<_>>()
        },
        |events, told| {
            let mut told = told.iter().peekable();
            for (at, event) in events.iter().enumerate() {
                while let Some((_, told)) = told.next_if(|told| told.0 == at) {
                    take(Step::Told(told));
                }
                take(Step::Event(event));
            }
        },
    );
    affinities.names
}

/// Where a task may run from now on.
pub struct Told {
    pub task: TaskId,
    pub allowed: CpuMask,
    /// It is a kernel thread that serves these CPUs.
    pub is_kthread: bool,
}

impl<'a> Affinities<'a> {
    /// What is known before the first event.
    pub fn new(recording: &Recording, traced: &'a Traced) -> Self {
        let nr_cpus = traced.machine.nr_cpu_ids();
        let snapshot = recording.metadata().snapshot.as_ref();
        let tasks = snapshot.map(|snapshot| fairlab_record::tasks_of(&snapshot.0));
        let known = tasks.into_iter().flatten().filter_map(|task| {
            let allowed = CpuMask::parse_list(&task.allowed, nr_cpus).ok()?;
            Some((task.task, allowed))
        });
        Self {
            traced,
            known: known.collect(),
            names: BTreeMap::new(),
        }
    }

    /// What is known so far.
    pub fn known(&self) -> impl Iterator<Item = (TaskId, &CpuMask)> {
        self.known.iter().map(|(task, allowed)| (*task, allowed))
    }

    /// Takes an event in; what it tells is to be believed before the event itself. `names` are those of
    /// the recording.
    #[inline]
    pub fn follow(&mut self, event: &SchedEvent, names: &Names) -> Option<Told> {
        match event.kind {
            EventKind::Named { task, name } => {
                if self.names.insert(task, name) == Some(name) {
                    return None;
                }
                let allowed = self.traced.cpu_of_kthread(names.get(name))?;
                Some(Told {
                    task,
                    allowed,
                    is_kthread: true,
                })
            }
            EventKind::Fork { parent, child } => {
                let allowed = match self.known.get(&parent).cloned() {
                    Some(allowed) => {
                        self.known.insert(child, allowed.clone());
                        allowed
                    }
                    // The number was another's before, whose CPUs are not the new task's.
                    None => {
                        self.known.remove(&child)?;
                        self.traced.machine.online()
                    }
                };
                Some(Told {
                    task: child,
                    allowed,
                    is_kthread: false,
                })
            }
            _ => None,
        }
    }
}
