//! One question and its answer.

use crate::config::WORDS;

/// What asks for a CPU.
#[allow(missing_docs, reason = "the names say it")]
pub struct WakeKind;

#[allow(missing_docs, reason = "the names say it")]
impl WakeKind {
    pub const WAKEUP: u32 = 1;
    /// The waker is about to sleep.
    pub const SYNC: u32 = 2;
    /// The waker is a kernel thread bound to its CPU.
    pub const BY_KTHREAD: u32 = 4;
    /// Asked from an interrupt.
    pub const INTERRUPT: u32 = 8;
    /// Waker and wakee are one task.
    pub const SELF: u32 = 16;
    /// Loads are decayed averages, as the kernel's own class keeps them: in that of the previous CPU
    /// the sleeping wakee still counts.
    pub const DECAYED: u32 = 32;
}

/// One placement: everything that the policy reads, so that the same question can be asked again.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The CPU that asks.
    pub this_cpu: u32,
    /// The CPU where the task last ran.
    pub prev_cpu: u32,
    /// The CPU that it used before.
    pub recent_cpu: u32,
    /// Bits of [`WakeKind`].
    pub kind: u32,
    /// How often the waker changed whom it wakes.
    pub waker_flips: u32,
    /// The same of the wakee.
    pub wakee_flips: u32,
    /// Runnable tasks on the CPU that asks.
    pub nr_running: u32,
    /// The thread to place.
    pub thread: u32,
    /// Weights of the runnable tasks on the CPU that asks.
    pub this_load: u64,
    /// The same on the previous CPU.
    pub prev_load: u64,
    /// Weight of the waker.
    pub waker_weight: u64,
    /// Weight of the task to place.
    pub wakee_weight: u64,
    /// Idle CPUs.
    pub idle: [u64; WORDS],
    /// Threads of cores that are idle with all threads.
    pub idle_core: [u64; WORDS],
    /// CPUs where the task may run.
    pub allowed: [u64; WORDS],
}

impl Request {
    /// A question about nothing.
    pub const EMPTY: Self = Self {
        this_cpu: 0,
        prev_cpu: 0,
        recent_cpu: 0,
        kind: 0,
        waker_flips: 0,
        wakee_flips: 0,
        nr_running: 0,
        thread: 0,
        this_load: 0,
        prev_load: 0,
        waker_weight: 0,
        wakee_weight: 0,
        idle: [0; WORDS],
        idle_core: [0; WORDS],
        allowed: [0; WORDS],
    };

    /// Is one of `kind` set?
    #[inline(always)]
    #[must_use]
    pub const fn is(&self, kind: u32) -> bool {
        self.kind & kind != 0
    }

    /// Is the bit of `cpu` set in `words`?
    #[inline(always)]
    pub(crate) const fn bit(words: &[u64; WORDS], cpu: u32) -> bool {
        (words[(cpu as usize / 64) & (WORDS - 1)] >> (cpu % 64)) & 1 != 0
    }
}

/// What the policy answers.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Answer {
    /// The chosen CPU.
    pub cpu: u32,
    /// Why: a position in `Reason::ALL`.
    pub reason: u32,
    /// What the task's recent CPU becomes, or `NONE`.
    pub recent_cpu: u32,
    /// Was the chosen CPU idle?
    pub is_idle: u32,
}

/// A question and its answer, as the shim tells them to the loader.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The question.
    pub request: Request,
    /// What the kernel's side answered.
    pub answer: Answer,
}
