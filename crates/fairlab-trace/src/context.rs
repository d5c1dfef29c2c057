//! What all readers write to.

use fairlab_event::NameId;
use fairlab_units::{CpuId, Timestamp};

use crate::counts::Counts;
use crate::ledger::{Jump, Ledger};
use crate::names::Names;
use crate::raw::RawEvent;
use crate::tasks::Tasks;

/// Tables that fill up while events are decoded, and the decoded events themselves.
#[derive(Debug)]
pub(crate) struct Context {
    pub names: Names,
    pub tasks: Tasks,
    pub counts: Counts,
    pub ledger: Ledger,
    /// Decoded events in time order, not yet delivered.
    pub ready: Vec<RawEvent>,
}

/// Something that gives events in time order.
pub(crate) trait Reader {
    /// Appends some events to `ctx.ready`; false at the end. May append none and still go on.
    fn fill(&mut self, ctx: &mut Context) -> bool;
}

impl Context {
    pub(crate) fn new() -> Self {
        Self {
            names: Names::default(),
            tasks: Tasks::default(),
            counts: Counts::default(),
            ledger: Ledger::default(),
            ready: Vec::new(),
        }
    }

    /// The number of the name of the kernel's 16 bytes, the first byte lowest. Nearly always the task has the
    /// same name as before, and then one comparison settles it.
    #[inline]
    pub(crate) fn comm16(&mut self, pid: u32, comm: u128) -> u32 {
        let task = self.tasks.get(pid);
        if task.comm == comm && task.name != crate::raw::NONE {
            return task.name;
        }
        self.new_comm16(pid, comm)
    }

    #[cold]
    fn new_comm16(&mut self, pid: u32, packed: u128) -> u32 {
        let task = self.tasks.get(pid);
        task.comm = packed;
        let known = NameId(task.name);
        let comm = packed.to_le_bytes();
        let end = comm.iter().position(|&byte| byte == 0).unwrap_or(16);
        let comm = &comm[..end];
        if is_worker_of(self.names.get(known).as_bytes(), comm) {
            return known.0;
        }
        let name = self.names.intern(comm).0;
        self.tasks.get(pid).name = name;
        name
    }

    /// The number of a name of any length, without a zero at its end.
    pub(crate) fn comm(&mut self, pid: u32, comm: &[u8]) -> u32 {
        let task = self.tasks.get(pid);
        let known = task.name;
        let text = self.names.get(NameId(known)).as_bytes();
        if known != crate::raw::NONE && (text == comm || is_worker_of(text, comm)) {
            return known;
        }
        let name = self.names.intern(comm).0;
        let task = self.tasks.get(pid);
        task.name = name;
        // Not the bytes of this name, so the quick test must not hit.
        task.comm = 0;
        name
    }

    /// Takes in a name that has no time: the task has it until an event says otherwise.
    pub(crate) fn list(&mut self, pid: u32, comm: &[u8]) {
        let name = self.comm(pid, comm);
        self.tasks.get(pid).listed_name = name;
    }

    pub(crate) fn jump(&mut self, cpu: u32, from: u64, to: u64) {
        self.ledger.jump(Jump {
            cpu: CpuId(cpu),
            from: Timestamp(from),
            to: Timestamp(to),
        });
    }
}

/// Is `name` the kernel worker `comm` with the name of its work behind it? /proc, and what recorders
/// take from there, calls `kworker/0:1` `kworker/0:1-events`.
fn is_worker_of(name: &[u8], comm: &[u8]) -> bool {
    comm.starts_with(b"kworker/")
        && name
            .strip_prefix(comm)
            .is_some_and(|work| matches!(work.first(), Some(b'-' | b'+')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_keeps_the_name_of_its_work() {
        let mut ctx = Context::new();
        let full = ctx.comm(7, b"kworker/0:1-eve");
        assert_eq!(
            ctx.comm16(7, u128::from_le_bytes(*b"kworker/0:1\0\0\0\0\0")),
            full
        );
        assert_eq!(
            ctx.comm16(7, u128::from_le_bytes(*b"kworker/0:1\0\0\0\0\0")),
            full
        );
        assert_ne!(
            ctx.comm16(7, u128::from_le_bytes(*b"kworker/0:2\0\0\0\0\0")),
            full
        );
        let shell = ctx.comm(8, b"sh-like");
        assert_ne!(
            ctx.comm16(8, u128::from_le_bytes(*b"sh\0\0\0\0\0\0\0\0\0\0\0\0\0\0")),
            shell
        );
    }
}
