//! How busy each CPU was, in few and equal steps of time: what the page paints before anything else.

use crate::lanes::{drawn_order, stretches};
use crate::run::Run;

/// Bytes that overviews may take in all; more CPUs get fewer steps.
const BYTES: usize = 128 << 10;
/// Most steps: about the pixels of a wide window.
const MOST_STEPS: usize = 1024;

/// For each CPU, in the order in which they are drawn, and each step of time: how busy, 255 for all
/// the time.
pub(crate) struct Overview {
    pub(crate) steps: usize,
    pub(crate) busy: Vec<u8>,
}

impl Overview {
    pub(crate) fn of(run: &Run<'_>) -> Self {
        let order = drawn_order(run);
        let steps = (BYTES / order.len().max(1)).clamp(64, MOST_STEPS);
        let by_cpu = stretches(run, run.machine.nr_cpu_ids());
        let span = u128::from(run.span());
        // Times are scaled so that a step is `span` long and the run `span * steps`: no rounding.
        let begin = run.audit.totals.from.0;
        let mut busy = Vec::with_capacity(order.len() * steps);
        for cpu in order {
            let mut sums = vec![0_u128; steps];
            for stretch in by_cpu[cpu.index()].iter().filter(|s| s.task.is_some()) {
                let scaled = |time: u64| u128::from(time.saturating_sub(begin)) * steps as u128;
                let (mut from, to) = (scaled(stretch.from.0), scaled(stretch.to.0));
                while from < to {
                    let step = from / span;
                    let until = to.min((step + 1) * span);
                    if let Some(sum) = sums.get_mut(step as usize) {
                        *sum += until - from;
                    }
                    from = until;
                }
            }
            busy.extend(
                sums.iter()
                    .map(|sum| (sum * 255).div_ceil(span).min(255) as u8),
            );
        }
        Self { steps, busy }
    }
}
