//! The operations of all programs, one after the other.

use fairlab_workload::{Op, ProgramId, Workload};

/// The operations of all programs in one place: on a large machine every program is out of the caches
/// when it goes on, and this takes one look at memory instead of three.
#[derive(Clone, Debug)]
pub(crate) struct Operations {
    ops: Vec<Op>,
    /// By program: where it begins, and where the next one does.
    begins: Vec<u32>,
}

impl Operations {
    pub(crate) fn of(workload: &Workload) -> Self {
        let mut ops = Vec::new();
        let mut begins = vec![0];
        for program in &workload.programs {
            ops.extend_from_slice(&program.ops);
            begins.push(ops.len() as u32);
        }
        Self { ops, begins }
    }

    /// Operation `pc` of the program; none after its end.
    #[inline]
    pub(crate) fn get(&self, program: ProgramId, pc: usize) -> Option<Op> {
        let [begin, end] = self.begins.get(program.index()..program.index() + 2)? else {
            return None;
        };
        let program = self.ops.get(*begin as usize..*end as usize)?;
        program.get(pc).copied()
    }
}
