//! Does memory follow the task that touches it?

use fairlab_units::TaskId;

/// Who touched memory last, and from which node (`last_cpupid`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "last_cpupid")]
pub struct Toucher {
    /// The task.
    pub task: TaskId,
    /// The node of its CPU.
    pub node: usize,
}

/// Scans of all memory during which what only one task touches moves at once.
const EARLY_SCANS: u32 = 4;

/// Does memory move to `now.node`, where `now.task` touches it? `last` touched it before; the task
/// has seen `scans` scans of all its memory, and has a preferred node or not.
///
/// Two touches in a row from one node are wanted, so that memory which tasks of several nodes use
/// stays where it is.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `should_numa_migrate_memory()`, without groups.
#[doc(alias = "should_numa_migrate_memory")]
#[must_use]
pub fn page_moves(last: Option<Toucher>, now: Toucher, scans: u32, has_preferred: bool) -> bool {
    let own = last.is_none_or(|last| last.task == now.task);
    if own && (!has_preferred || scans <= EARLY_SCANS) {
        return true;
    }
    last.is_none_or(|last| last.node == now.node)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn by(task: u32, node: usize) -> Toucher {
        Toucher {
            task: TaskId(task),
            node,
        }
    }

    #[test]
    fn memory_follows_its_only_user_at_once_while_that_is_new_to_it() {
        assert!(page_moves(None, by(1, 1), 0, false));
        assert!(page_moves(Some(by(1, 0)), by(1, 1), 4, true));
        assert!(!page_moves(Some(by(1, 0)), by(1, 1), 5, true));
        assert!(page_moves(Some(by(1, 0)), by(1, 1), 5, false));
    }

    #[test]
    fn shared_memory_moves_after_two_touches_from_one_node() {
        assert!(!page_moves(Some(by(2, 0)), by(1, 1), 0, false));
        assert!(page_moves(Some(by(2, 1)), by(1, 1), 0, false));
    }
}
