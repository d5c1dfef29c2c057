//! Nanoseconds per call of several forms of the same code.

use std::time::{Duration, Instant};

use fairlab_rng::Rng;

use crate::ticks;

/// How forms are timed.
///
/// Every round times one batch of calls of each form, in an order drawn anew, so that a drift of the
/// host hits all forms alike. Batches are short, so that other work on the host falls into few of
/// them and the median over rounds leaves those out.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Batches of each form.
    pub rounds: u32,
    /// About how long a batch takes.
    pub batch: Duration,
    /// Where the orders are drawn from.
    pub seed: u64,
}

impl Default for Rounds {
    /// 101 batches of 200 us.
    fn default() -> Self {
        Self {
            rounds: 101,
            batch: Duration::from_micros(200),
            seed: 1,
        }
    }
}

/// One form: makes so many calls in the given round.
pub type Form<'a> = &'a mut dyn FnMut(u64, u32);

impl Rounds {
    /// Nanoseconds per call: one value per round, for each form.
    pub fn measure(&self, forms: &mut [Form<'_>]) -> Vec<Vec<f64>> {
        let calls: Vec<u64> = forms.iter_mut().map(|form| self.calls(form)).collect();
        let mut rng = Rng::stream(self.seed, "order of forms");
        let mut order: Vec<usize> = (0..forms.len()).collect();
        let mut nanos = vec![Vec::with_capacity(self.rounds as usize); forms.len()];
        for round in 0..self.rounds {
            rng.shuffle(&mut order);
            for i in &order {
                let start = Instant::now();
                forms[*i](calls[*i], round);
                nanos[*i].push(start.elapsed().as_nanos() as f64 / calls[*i] as f64);
            }
        }
        nanos
    }

    /// How many calls make a batch; finding out warms the form up.
    fn calls(&self, form: &mut Form<'_>) -> u64 {
        let mut calls = 1;
        loop {
            let start = Instant::now();
            form(calls, 0);
            let spent = start.elapsed();
            if spent >= self.batch || calls >= 1 << 30 {
                // The last doubling may have overshot by as much as two.
                let exact = calls as f64 * self.batch.as_secs_f64() / spent.as_secs_f64().max(1e-9);
                return (exact as u64).clamp(1, calls);
            }
            calls *= 2;
        }
    }
}

/// Nanoseconds of one of [`ticks`], measured against the monotonic clock for 20 ms.
#[must_use]
pub fn ns_per_tick() -> f64 {
    let (start, first) = (Instant::now(), ticks());
    while start.elapsed() < Duration::from_millis(20) {
        std::hint::spin_loop();
    }
    let counted = ticks().saturating_sub(first).max(1);
    start.elapsed().as_nanos() as f64 / counted as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_takes_some_time() {
        let ns = ns_per_tick();
        assert!(ns > 0.0 && ns.is_finite(), "{ns}");
    }

    #[test]
    fn every_form_has_a_value_per_round_and_sees_every_round() {
        let (mut a, mut b) = (Vec::new(), 0_u64);
        let rounds = Rounds {
            rounds: 7,
            batch: Duration::from_micros(5),
            seed: 3,
        };
        let nanos = rounds.measure(&mut [&mut |_, round| a.push(round), &mut |calls, _| {
            b += calls;
        }]);
        assert_eq!(nanos.iter().map(Vec::len).collect::<Vec<_>>(), [7, 7]);
        assert!(nanos.iter().flatten().all(|ns| *ns >= 0.0));
        assert_eq!(a[a.len() - 7..], [0, 1, 2, 3, 4, 5, 6]);
        assert!(b > 7);
    }
}
