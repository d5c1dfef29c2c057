//! The states in which searches for an idle core or CPU are compared.

use fairlab_kernel::Kernel;
use fairlab_policy::{
    Context, IdleMasks, Outcome, Scratch, TaskView, WakeFlags, fast_task_rq_fair,
    select_task_rq_fair,
};
use fairlab_units::{CpuId, CpuMask};

use crate::machine::{Shape, State, context, task};

/// CPUs of the LLC.
pub const SIZES: [u32; 4] = [8, 64, 256, 1024];
/// Threads of a core.
pub const THREADS: [u32; 4] = [1, 2, 4, 8];
/// What is idle.
pub const STATES: [&str; 3] = ["busy", "last", "half"];
/// What is searched for.
pub const SEARCHES: [&str; 2] = ["core", "cpu"];

/// One LLC in one state. CPU 0 is busy and wakes a task that last ran there and may run anywhere.
pub struct Scene {
    kernel: Kernel,
    state: State,
    masks: IdleMasks,
    everywhere: CpuMask,
    scratch: Scratch,
    context: Context,
}

impl Scene {
    /// The LLC of `nr` CPUs in the `state` called so: all CPUs "busy", only the "last" core or CPU
    /// idle, every second core idle ("half"), or all busy and no scan allowed ("none"). With the
    /// `search` for a "core" the hint is set; for a "cpu" it is not, and the budget is for all.
    pub fn new(kernel: &Kernel, search: &str, state: &str, nr: u32, threads: u32) -> Option<Self> {
        let whole = match search {
            "core" => true,
            "cpu" => false,
            _ => return None,
        };
        let idle: Vec<u32> = match state {
            "busy" | "none" => Vec::new(),
            "last" if whole => (nr - threads..nr).collect(),
            "last" => vec![nr - 1],
            "half" => (0..nr).filter(|cpu| cpu / threads % 2 == 1).collect(),
            _ => return None,
        };
        let shape = Shape::llc(nr / threads, threads);
        let mut machine = shape.state(kernel).idle(&idle, &[]).hint(whole);
        machine.watches_sections = false;
        machine.nr_idle_scan = if state == "none" { 0 } else { nr };
        let mut masks = IdleMasks::new(&machine.domains);
        for cpu in idle {
            masks.on_idle_enter(CpuId(cpu));
        }
        Some(Self {
            kernel: *kernel,
            state: machine,
            masks,
            everywhere: CpuMask::full(nr as usize),
            scratch: Scratch::new(nr as usize),
            context: context(0, 0, WakeFlags::TTWU),
        })
    }

    /// Counts the cost of a search for an idle core, or not.
    #[must_use]
    pub fn counting_cores(mut self, on: bool) -> Self {
        self.masks = self.masks.counting_cores(on);
        self
    }

    /// The task that is woken, and the one that wakes it.
    fn tasks(everywhere: &CpuMask) -> (TaskView<'_>, TaskView<'_>) {
        (task(1, everywhere), task(2, everywhere))
    }

    /// The wakeup by the kernel's scan.
    pub fn scan(&mut self) -> impl FnMut() -> Outcome + '_ {
        let (p, current) = Self::tasks(&self.everywhere);
        let (state, kernel, context) = (&self.state, &self.kernel, &self.context);
        let scratch = &mut self.scratch;
        move || select_task_rq_fair(state, kernel, context, &p, &current, scratch)
    }

    /// The wakeup by masks.
    pub fn masks(&mut self) -> impl FnMut() -> Outcome + '_ {
        let (p, current) = Self::tasks(&self.everywhere);
        let (state, kernel, context) = (&self.state, &self.kernel, &self.context);
        let (masks, scratch) = (&self.masks, &mut self.scratch);
        move || fast_task_rq_fair(state, masks, kernel, context, &p, &current, scratch)
    }
}
