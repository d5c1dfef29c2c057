//! Tests of the crate from outside.
//!
//! `examples` holds the worked examples of the specification, `naive` an independent model, and
//! `differential` compares with it. `properties` and `endurance` look for values that leave their
//! bounds. The comparison with recordings of real kernels is `cargo xtask oracle pelt`.

mod differential;
mod endurance;
mod examples;
mod groups;
mod naive;
mod properties;
mod readers;
mod transfer;

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_pelt::{EntityState, PeltTime, SchedAvg};

/// `load.weight` of a nice-0 task.
const NICE_0: u64 = 1024 << 10;

const MS: u64 = 1_000_000;

fn kernels() -> impl Iterator<Item = Kernel> {
    Release::ALL.into_iter().map(Kernel::of)
}

fn kernels_with(feature: Feature) -> impl Iterator<Item = Kernel> {
    kernels().filter(move |kernel| kernel.has(feature))
}

fn kernels_without(feature: Feature) -> impl Iterator<Item = Kernel> {
    kernels().filter(move |kernel| !kernel.has(feature))
}

/// Updates `avg` at each of `steps` points, `step_ns` apart, and answers the last.
fn run(
    kernel: &Kernel,
    avg: &mut SchedAvg,
    state: EntityState,
    from_ns: u64,
    step_ns: u64,
    steps: u64,
) -> u64 {
    let mut now = from_ns;
    for _ in 0..steps {
        now += step_ns;
        avg.update(kernel, PeltTime(now), &state);
    }
    now
}

fn running() -> EntityState {
    EntityState::task(NICE_0, true, true)
}

fn sleeping() -> EntityState {
    EntityState::task(NICE_0, false, false)
}
