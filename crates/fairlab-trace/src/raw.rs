//! An event between decoding and delivery.

use fairlab_event::SwitchState;

/// No task, no name, no number.
pub(crate) const NONE: u32 = u32::MAX;
/// No priority.
pub(crate) const NO_PRIO: i16 = i16::MIN;

/// What was decoded, with what recordings repeat in each event (names, priorities, who runs). Plain
/// and small, because millions of them are put in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawEvent {
    pub time: u64,
    /// Meaning by kind.
    pub value: u64,
    pub cpu: u32,
    /// The task that runs on the CPU at this moment, or [`NONE`].
    pub current: u32,
    /// The first task: the one that the event is about; `prev` of a switch, the parent of a fork.
    pub a: u32,
    pub a_name: u32,
    /// The second task: `next` of a switch, the child of a fork.
    pub b: u32,
    pub b_name: u32,
    pub a_prio: i16,
    pub b_prio: i16,
    pub kind: RawKind,
    pub state: SwitchState,
}

impl RawEvent {
    pub(crate) const fn new(time: u64, cpu: u32, kind: RawKind) -> Self {
        Self {
            time,
            value: 0,
            cpu,
            current: NONE,
            a: NONE,
            a_name: NONE,
            b: NONE,
            b_name: NONE,
            a_prio: NO_PRIO,
            b_prio: NO_PRIO,
            kind,
            state: SwitchState::Unknown,
        }
    }

    /// Events of this CPU were lost before `time`; a `count` of 0 stands for an unknown one.
    pub(crate) const fn lost(time: u64, cpu: u32, count: Option<u64>) -> Self {
        let mut event = Self::new(time, cpu, RawKind::Lost);
        event.value = match count {
            Some(count) => count,
            None => 0,
        };
        event
    }
}

/// The kinds of [`RawEvent`], with the meaning of `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawKind {
    Switch,
    /// `value`: the CPU before.
    Waking,
    /// `value`: the target CPU, or [`NONE`].
    Wakeup,
    /// `value`: the target CPU, or [`NONE`].
    WakeupNew,
    /// `value`: from in the upper half, to in the lower one.
    Migrate,
    /// `value`: the child's process, 0 where nothing tells it.
    Fork,
    Exec,
    Exit,
    /// Only names and priorities.
    Named,
    /// Like that, and `value` is the task's process, `current` not who runs but who made it.
    Process,
    /// `value`: ns.
    StatRuntime,
    /// `value`: ns.
    StatWait,
    /// `value`: ns.
    StatSleep,
    /// `value`: ns.
    StatBlocked,
    /// `value`: ns.
    StatIoWait,
    /// `value`: the state, [`NONE`] for leaving.
    CpuIdle,
    /// `value`: the CPU in the upper half, kHz in the lower one.
    CpuFrequency,
    /// `value`: how many; 0 for unknown.
    Lost,
}
