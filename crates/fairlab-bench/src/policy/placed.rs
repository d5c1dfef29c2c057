//! Placement in one object. `objects` compiles this file alone, in both forms.

use fairlab_policy::{Context, Kernel, Outcome, Scratch, TaskView, select_task_rq_fair};

#[path = "view.rs"]
mod view;

pub use view::State;

/// Where the fair class places `p`: everything that this needs is compiled into the object.
pub fn place(
    state: &State,
    kernel: &Kernel,
    context: &Context,
    p: &TaskView<'_>,
    current: &TaskView<'_>,
    scratch: &mut Scratch,
) -> Outcome {
    select_task_rq_fair(state, kernel, context, p, current, scratch)
}
