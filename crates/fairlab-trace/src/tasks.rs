//! What is known of each task: the name that was last decoded, its process, and what was last delivered.

use std::collections::HashMap;

use crate::raw::{NO_PRIO, NONE};

/// One task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// The 16 bytes of the name that were last decoded.
    pub comm: u128,
    /// The name that they stand for, or [`NONE`].
    pub name: u32,
    /// The name that a table of the recording gives it, without a time, or [`NONE`].
    pub listed_name: u32,
    /// The name that was last delivered, or [`NONE`].
    pub told_name: u32,
    /// The process that it is a thread of, or [`NONE`].
    pub process: u32,
    /// The task that made it, or [`NONE`].
    pub parent: u32,
    /// The process that was last delivered, or [`NONE`].
    pub told_process: u32,
    /// The priority that was last delivered, or [`NO_PRIO`].
    pub told_prio: i16,
}

const FRESH: Task = Task {
    comm: 0,
    name: NONE,
    listed_name: NONE,
    told_name: NONE,
    process: NONE,
    parent: NONE,
    told_process: NONE,
    told_prio: NO_PRIO,
};

/// Tasks per block of the table.
const BLOCK: usize = 64;
/// Above this the numbers are no real ones (the kernel's limit is 2^22) and go to a slower table.
const DIRECT: u32 = 1 << 22;

/// All tasks, by number. Blocks are made on first use; two loads find a task.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// By block of numbers: which block of `tasks` holds them, or [`NONE`].
    blocks: Vec<u32>,
    tasks: Vec<Task>,
    others: HashMap<u32, Task>,
}

impl Tasks {
    /// The task is a thread of `process`; `parent` made it, if that is not [`NONE`].
    pub(crate) fn belongs(&mut self, pid: u32, process: u32, parent: u32) {
        let task = self.get(pid);
        task.process = process;
        if parent != NONE {
            task.parent = parent;
        }
    }

    // Asked several times for each event, so what is there already is found without a call.
    #[inline]
    pub(crate) fn get(&mut self, pid: u32) -> &mut Task {
        let block = self.blocks.get(pid as usize / BLOCK);
        let at = block.map_or(usize::MAX, |&block| place(block, pid));
        if at >= self.tasks.len() {
            return self.fresh(pid);
        }
        &mut self.tasks[at]
    }

    #[cold]
    fn fresh(&mut self, pid: u32) -> &mut Task {
        if pid >= DIRECT {
            return self.others.entry(pid).or_insert(FRESH);
        }
        let block = pid as usize / BLOCK;
        if block >= self.blocks.len() {
            self.blocks.resize(block + 1, NONE);
        }
        let new = (self.tasks.len() / BLOCK) as u32;
        self.blocks[block] = new;
        self.tasks.resize(self.tasks.len() + BLOCK, FRESH);
        &mut self.tasks[place(new, pid)]
    }
}

#[inline]
const fn place(block: u32, pid: u32) -> usize {
    block as usize * BLOCK + pid as usize % BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_a_task_of_its_own() {
        let mut tasks = Tasks::default();
        let pids = [0, 63, 64, 700, DIRECT - 1, DIRECT, NONE - 1, 65];
        for pid in pids {
            assert_eq!(tasks.get(pid).process, NONE);
            tasks.belongs(pid, pid, NONE);
        }
        for pid in pids {
            assert_eq!(tasks.get(pid).process, pid);
        }
    }
}
