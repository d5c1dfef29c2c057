//! Parts of a recording as the programs write them. Mirrors bpf/record_types.bpf.h.

use fairlab_live_policy::WORDS;

/// Levels of task groups that are read.
const LEVELS: usize = 8;

/// Kinds of parts.
pub(crate) mod kind {
    pub(crate) const BEGIN: u32 = 1;
    pub(crate) const TASK: u32 = 2;
    pub(crate) const CPU: u32 = 3;
    // 4: a domain, which is what comes before its groups.
    pub(crate) const GROUP: u32 = 5;
    pub(crate) const CHOICE: u32 = 6;
    pub(crate) const CPU_AFTER: u32 = 7;
    pub(crate) const END: u32 = 8;
}

/// What each part begins with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The decision; 0 for the domains of the machine.
    pub id: u64,
    pub kind: u32,
    /// The CPU that it is about, or for a task which of the two.
    pub cpu: u32,
}

/// A task; its `values` have the order of [`super::decision::TASK_KEYS`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskPart {
    pub head: Head,
    pub values: [u64; 33],
    pub allowed: [u64; WORDS],
    pub chain: [[u64; 5]; LEVELS],
    pub depth: u64,
    pub comm: [u8; 16],
}

/// Columns of a row of `cpus` in the recording.
pub(crate) const COLUMNS: usize = 32;

/// A CPU: the columns of its row, then what its last-level cache shares.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuPart {
    pub head: Head,
    pub values: [u64; COLUMNS + 6],
}

/// A domain, or a group.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanPart {
    pub head: Head,
    pub values: [u64; 12],
    pub span: [u64; WORDS],
    pub mask: [u64; WORDS],
    /// Which domain of the CPU, from the lowest; for a choice the level.
    pub idx: u64,
    pub name: [u8; 16],
}

/// Begin or end of a decision.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgePart {
    pub head: Head,
    pub values: [u64; 13],
}

/// How many decisions are wanted, and how many there are.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordCounts {
    pub begun: u64,
    pub wanted: u64,
    pub broken: u64,
}
