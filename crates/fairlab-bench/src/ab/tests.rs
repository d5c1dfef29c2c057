use super::*;
use fairlab_stats::Verdict;

/// A host that is as unpleasant as real ones: noise that is skewed, drifts, and comes in bursts.
struct FakeHost {
    rng: Rng,
    /// By how much after takes longer, as a part.
    effect: f64,
    runs: u32,
    /// Noise that lasts for some runs.
    burst: f64,
    fails_at: Option<u32>,
}

impl FakeHost {
    fn new(seed: u64, effect: f64) -> Self {
        Self {
            rng: Rng::stream(seed, "fake host"),
            effect,
            runs: 0,
            burst: 0.0,
            fails_at: None,
        }
    }

    /// Uniform from 0 to 1.
    fn uniform(&mut self) -> f64 {
        self.rng.below(1 << 53) as f64 / (1_u64 << 53) as f64
    }
}

impl Executor for FakeHost {
    fn run(&mut self, side: Side) -> Result<Vec<Row>, BenchError> {
        self.runs += 1;
        if Some(self.runs) == self.fails_at {
            return Err(BenchError::Interrupted);
        }
        if self.rng.chance(1, 12) {
            self.burst = self.uniform() * 0.08;
        }
        let mut time = 100.0 * (1.0 + 0.001 * f64::from(self.runs) + self.burst);
        // Skewed, and one in fifty is far out.
        time *= 1.0 + 0.02 * self.uniform().powi(3);
        if self.rng.chance(1, 50) {
            time *= 1.5 + self.uniform();
        }
        if side == Side::After {
            time *= 1.0 + self.effect;
        }
        Ok(vec![Row::lower("time", "s", time)])
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(u64::from(self.runs))
    }
}

fn options(seed: u64) -> AbOptions {
    AbOptions {
        until: 0.005,
        min_blocks: 8,
        max_blocks: 40,
        seed,
        ..AbOptions::default()
    }
}

/// Trials, and three standard errors of a part of `level` of them.
const TRIALS: u32 = 1500;

fn allowed(level: f64) -> f64 {
    let n = f64::from(TRIALS);
    n * level + 3.0 * (n * level * (1.0 - level)).sqrt()
}

#[test]
fn a_thing_compared_with_itself_is_called_different_at_most_at_the_level() {
    let (mut claims, mut reasons) = (0_u32, [0_u32; 2]);
    for seed in 0..TRIALS {
        let mut host = FakeHost::new(seed.into(), 0.0);
        let outcome = compare(&options(u64::from(seed) << 32), &mut host, |_| {}).unwrap();
        claims += u32::from(outcome.rows[0].verdict != Verdict::NoDifferenceProven);
        reasons[usize::from(outcome.stop == StopReason::NarrowEnough)] += 1;
    }
    assert!(f64::from(claims) <= allowed(0.05), "{claims} of {TRIALS}");
    // The rule was at work: some trials ended early, some at the limit.
    assert!(
        reasons.iter().all(|count| *count > TRIALS / 20),
        "{reasons:?}"
    );
}

#[test]
fn the_interval_holds_the_true_change_as_often_as_it_says() {
    let mut misses = 0_u32;
    for seed in 0..TRIALS {
        let mut host = FakeHost::new(u64::from(seed) + 1_000_000, 0.07);
        let outcome = compare(&options(seed.into()), &mut host, |_| {}).unwrap();
        misses += u32::from(!outcome.rows[0].change.unwrap().contains(0.07));
    }
    assert!(f64::from(misses) <= allowed(0.05), "{misses} of {TRIALS}");
}

#[test]
fn a_real_difference_is_found_and_has_the_right_sign() {
    for (effect, verdict) in [(0.07, Verdict::Worse), (-0.07, Verdict::Better)] {
        let mut host = FakeHost::new(5, effect);
        let outcome = compare(&options(5), &mut host, |_| {}).unwrap();
        assert_eq!(outcome.rows[0].verdict, verdict);
    }
}

#[test]
fn stopping_at_the_first_difference_would_claim_too_many() {
    // What the rule is good for: the same runs, tested after each block until a difference shows.
    let mut claims = 0_u32;
    for seed in 0..200 {
        let mut host = FakeHost::new(seed, 0.0);
        let mut coin = Rng::stream(seed, "A/B order");
        let mut blocks = Blocks::default();
        while blocks.count() < 40 {
            blocks.add(run_block(&mut coin, &mut host).unwrap());
            let [before, after] = blocks.rows[0].values.clone();
            let row = Row::lower("time", "s", 0.0);
            let judged = outcome::judge(vec![(row, [before, after])], 0.95);
            if judged[0].verdict != Verdict::NoDifferenceProven {
                claims += 1;
                break;
            }
        }
    }
    assert!(claims > 25, "{claims} of 200");
}

#[test]
fn an_interrupt_keeps_whole_blocks_only() {
    let mut host = FakeHost::new(1, 0.0);
    // Two runs to warm up, five blocks, half a block.
    host.fails_at = Some(2 + 10 + 2);
    let outcome = compare(&options(1), &mut host, |_| {}).unwrap();
    assert_eq!(outcome.stop, StopReason::Interrupted);
    assert_eq!(
        (outcome.firsts.len(), outcome.rows[0].values[0].len()),
        (5, 5)
    );
    let mut host = FakeHost::new(1, 0.0);
    host.fails_at = Some(3);
    assert!(matches!(
        compare(&options(1), &mut host, |_| {}),
        Err(BenchError::Interrupted)
    ));
}

#[test]
fn limits_of_runs_and_time_are_kept() {
    let strict = AbOptions {
        until: 1e-9,
        max_blocks: 12,
        ..options(1)
    };
    let outcome = compare(&strict, &mut FakeHost::new(1, 0.0), |_| {}).unwrap();
    assert_eq!((outcome.stop, outcome.firsts.len()), (StopReason::Runs, 12));
    // A run of the fake host takes a second.
    let timed = AbOptions {
        max_time: Duration::from_secs(10),
        ..strict
    };
    let outcome = compare(&timed, &mut FakeHost::new(1, 0.0), |_| {}).unwrap();
    assert_eq!((outcome.stop, outcome.firsts.len()), (StopReason::Time, 4));
}

#[test]
fn the_order_is_drawn_and_the_same_for_the_same_seed() {
    let firsts = |seed| {
        compare(&options(seed), &mut FakeHost::new(1, 0.0), |_| {})
            .unwrap()
            .firsts
    };
    assert_eq!(firsts(3), firsts(3));
    assert_ne!(firsts(3), firsts(4));
    assert!(firsts(3).contains(&Side::Before) && firsts(3).contains(&Side::After));
}

#[test]
fn drift_and_outliers_are_told() {
    struct Drifting(u32);
    impl Executor for Drifting {
        fn run(&mut self, _: Side) -> Result<Vec<Row>, BenchError> {
            self.0 += 1;
            let wild = if self.0 == 21 { 500.0 } else { 0.0 };
            Ok(vec![Row::lower(
                "time",
                "s",
                100.0 + f64::from(self.0) + wild,
            )])
        }
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }
    // Far enough to meet the wild value.
    let long = AbOptions {
        until: 1e-9,
        ..options(1)
    };
    let outcome = compare(&long, &mut Drifting(0), |_| {}).unwrap();
    let row = &outcome.rows[0];
    assert!(row.drift.unwrap().change > 0.05 && row.drift.unwrap().p_value < 0.01);
    let outliers = row.outliers.iter().flatten().count();
    assert_eq!(outliers, 1);
    assert_eq!(row.values[0].len(), outcome.firsts.len());
}

#[test]
fn rows_that_are_not_in_every_run_are_left_out_and_named() {
    struct Patchy(u32);
    impl Executor for Patchy {
        fn run(&mut self, _: Side) -> Result<Vec<Row>, BenchError> {
            self.0 += 1;
            let mut rows = vec![Row::lower("always", "s", 1.0)];
            if self.0 != 9 {
                rows.push(Row::lower("mostly", "s", 1.0));
            }
            Ok(rows)
        }
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }
    let outcome = compare(&options(1), &mut Patchy(0), |_| {}).unwrap();
    assert_eq!(outcome.rows.len(), 1);
    assert_eq!(outcome.incomplete, ["mostly"]);
    let wanted = AbOptions {
        row: Some("other".into()),
        ..options(1)
    };
    let error = compare(&wanted, &mut Patchy(0), |_| {})
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("'other'") && error.contains("always"),
        "{error}"
    );
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for bad in [
        AbOptions {
            until: 0.0,
            ..options(1)
        },
        AbOptions {
            until: f64::NAN,
            ..options(1)
        },
        AbOptions {
            confidence: 1.0,
            ..options(1)
        },
        AbOptions {
            max_blocks: 3,
            ..options(1)
        },
        AbOptions {
            max_blocks: u32::MAX,
            ..options(1)
        },
    ] {
        assert!(
            compare(&bad, &mut FakeHost::new(1, 0.0), |_| {}).is_err(),
            "{bad:?}"
        );
    }
}
