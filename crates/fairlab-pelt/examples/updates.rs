//! A fixed number of updates of one task and its queue, to count instructions with:
//!
//! ```text
//! cargo build --release -p fairlab-pelt --example updates
//! valgrind --tool=callgrind target/release/examples/updates 1000000
//! ```
//!
//! Prints the last averages, so that two builds can be seen to compute the same.

use std::env;
use std::process::ExitCode;

use fairlab_kernel::{Kernel, Release};
use fairlab_pelt::{EntityMut, EntityState, PeltTime, QueueAvg, QueueState, SchedAvg, UpdateFlags};

fn main() -> ExitCode {
    let steps = match env::args()
        .nth(1)
        .map_or(Ok(1_000_000), |text| text.parse::<u64>())
    {
        Ok(steps) => steps,
        Err(error) => {
            eprintln!("error: the number of updates is not a number: {error}");
            return ExitCode::from(2);
        }
    };
    let kernel = Kernel::of(Release::V7_2);
    let state = EntityState::task(1024 << 10, true, true);
    let queue_state = QueueState {
        weight: 2 * state.weight,
        runnable_weight: 2 * state.weight,
        h_nr_runnable: 2,
        has_curr: true,
    };
    let (mut queue, mut task) = (QueueAvg::default(), SchedAvg::default());
    let mut now = 0;
    for step in 0..steps {
        // Mostly short steps, now and then a tick or a sleep.
        now += match step % 16 {
            15 => 30_000_000,
            7 | 11 => 4_000_000,
            _ => 150_000,
        };
        let entity = EntityMut::task(&mut task, state);
        let flags = UpdateFlags::DO_ATTACH;
        queue.update_load_avg(&kernel, PeltTime(now), &queue_state, entity, flags);
    }
    println!("{:?}", queue.avg);
    println!("{task:?}");
    ExitCode::SUCCESS
}
