//! Where a task goes: wakeup, fork and exec placement, and balancing.
//!
//! The policy is pure: it sees the machine only through [`MachineView`], which the simulator, the
//! auditor, the oracle comparison and library users implement. It has no clock, no random numbers,
//! no heap on a decision, and it does not know how runqueues work.
//!
//! ```text
//!   MachineView, Kernel, Context, TaskView (wakee, waker)
//!        |
//!   select_task_rq_fair
//!        |-- wakeup: record_wakee, energy, wake_wide, wake_affine, select_idle_sibling
//!        '-- fork, exec: find_idlest_cpu
//!        |
//!   Outcome { decision: Decision { cpu, reason, cost }, effects }
//! ```
//!
//! The state is read only. What a decision changes (the recent CPU, the idle-core hint, wake counts)
//! comes back in [`Effects`], and the caller writes it down; so one state can be asked twice.
#![no_std]
extern crate alloc;

mod affinity;
pub mod balance;
mod core_form;
mod cores;
mod decision;
mod effects;
mod energy;
mod explain;
mod fast_search;
mod fits;
mod hint;
mod idle_masks;
mod idle_sibling;
mod idlest;
pub mod numa;
mod reason;
mod scratch;
mod search;
mod select;
mod surroundings;
mod view;
mod wake_affine;
mod wakee;
mod walk_order;
mod word_range;

pub use affinity::{fallback_cpu, only_cpu};
pub use decision::{Affine, Cost, Decision};
pub use effects::{Effects, Outcome, ScanAccount, WakeAvgIdle, WakerUpdate, update_avg};
pub use energy::{PerfDomain, PerfState, perf_domains};
pub use explain::{Event, Explain, NoExplain, ProbeState, Step, Story};
pub use fairlab_kernel::Kernel;
pub use fast_search::found_core;
pub use hint::{HintUpdate, hint_on_idle_entry};
pub use idle_masks::IdleMasks;
pub use idle_sibling::{ScanEnd, idle_sibling};
pub use idlest::{GroupStats, GroupType};
pub use reason::Reason;
pub use scratch::Scratch;
pub use select::{
    explain_task_rq_fair, fast_task_rq_fair, select_idle_sibling, select_task_rq_fair,
};
pub use surroundings::Surroundings;
pub use view::{Context, MachineView, OtherUtil, Section, Signals, TaskView, WakeFlags};
pub use wake_affine::{Weights, wake_affine};
pub use wakee::{flips_after, record_wakee, wake_wide};
