//! What tasks wait for: futexes, lists, pipes, barriers, mutexes, conditions, semaphores, timers.

use std::collections::VecDeque;

use fairlab_units::{CpuId, TaskId, Timestamp};
use fairlab_workload::{FutexId, PipeSpec, Workload};

use crate::parts::Inbox;

/// A futex word: a kept post, or a waiter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Futex {
    /// A post that nobody has taken yet, and when it was made.
    pub(crate) posted: Option<Timestamp>,
    pub(crate) waiter: Option<TaskId>,
}

/// A pipe or socket.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    pub(crate) spec: PipeSpec,
    pub(crate) messages: u32,
    /// Messages that joined the one that was read last, and are still to be read.
    pub(crate) segment: u32,
    /// Who used it last, and who wrote the last message.
    pub(crate) used_by: Option<CpuId>,
    pub(crate) written_by: Option<CpuId>,
    pub(crate) readers: VecDeque<TaskId>,
    pub(crate) writers: VecDeque<TaskId>,
}

/// A barrier.
#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    pub(crate) parties: u32,
    pub(crate) waiting: Vec<TaskId>,
}

/// A mutex.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mutex {
    pub(crate) owner: Option<TaskId>,
    pub(crate) waiting: VecDeque<TaskId>,
}

/// A semaphore.
#[derive(Clone, Debug)]
pub(crate) struct Semaphore {
    /// When each of the posts was made that nobody has taken yet. Those it started with: at zero.
    pub(crate) posted: VecDeque<Timestamp>,
    pub(crate) waiting: VecDeque<TaskId>,
}

/// All of them.
#[derive(Clone, Debug)]
pub(crate) struct Resources {
    pub(crate) futexes: Vec<Futex>,
    pub(crate) lists: Vec<Vec<FutexId>>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) mutexes: Vec<Mutex>,
    /// Per condition, who waits for it.
    pub(crate) conds: Vec<VecDeque<TaskId>>,
    pub(crate) semaphores: Vec<Semaphore>,
    /// The notes to the task of each program, where there are such programs.
    pub(crate) inboxes: Vec<Inbox>,
    /// Per timer that tasks share, when it last fired.
    pub(crate) timers: Vec<Option<Timestamp>>,
}

impl Resources {
    pub(crate) fn of(workload: &Workload) -> Self {
        Self {
            futexes: vec![Futex::default(); workload.nr_futexes as usize],
            lists: vec![Vec::new(); workload.nr_lists as usize],
            pipes: workload
                .pipes
                .iter()
                .map(|spec| Pipe {
                    spec: *spec,
                    messages: 0,
                    segment: 0,
                    used_by: None,
                    written_by: None,
                    readers: VecDeque::new(),
                    writers: VecDeque::new(),
                })
                .collect(),
            barriers: workload
                .barriers
                .iter()
                .map(|&parties| Barrier {
                    parties,
                    waiting: Vec::new(),
                })
                .collect(),
            mutexes: vec![Mutex::default(); workload.nr_mutexes as usize],
            conds: vec![VecDeque::new(); workload.nr_conds as usize],
            semaphores: workload
                .semaphores
                .iter()
                .map(|&value| Semaphore {
                    posted: vec![Timestamp::ZERO; value as usize].into(),
                    waiting: VecDeque::new(),
                })
                .collect(),
            inboxes: if workload
                .programs
                .iter()
                .any(|program| !program.parts.is_empty())
            {
                vec![Inbox::default(); workload.programs.len()]
            } else {
                Vec::new()
            },
            timers: vec![None; workload.timers.len()],
        }
    }
}
