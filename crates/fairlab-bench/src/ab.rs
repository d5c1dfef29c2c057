//! A against B: interleaved runs, and what may be said about the difference.
//!
//! ```text
//!   warm-ups (not counted)
//!   block 1:  coin --> A, B            a block is one run of each side; a fair coin (seeded) says
//!   block 2:  coin --> B, A            which is first
//!   ...
//!   until the interval is narrow enough, or a limit
//! ```
//!
//! # What is tested
//! In each block the logarithm of B's value over A's. When nothing differs but the label, the coin
//! makes each of these as likely to have the other sign, whatever their sizes: slow drift, noise that
//! comes and goes, outliers and skew do not matter. Wilcoxon's signed rank test on them is exact, its
//! inversion gives the interval of the change. With several rows the p values are Holm's.
//!
//! # Why it may look while it runs
//! Stopping as soon as a difference shows claims far too many of them, and so does stopping by the
//! width of the interval itself, which depends on the same signs as the test. Here, the rule
//! sees the *sums* of the two logarithms of each block only (`stopping`). A sum does not know
//! which of its two values was A's. So, given all sums (and hence the moment of stopping), the
//! coins are still fair, and the one test at the end keeps its level exactly, however often the
//! rule has looked. The same holds around any constant shift, so the interval keeps its level too. The
//! sums have the same spread as the differences as far as noise is independent from run to run; noise
//! that both runs of a block share makes the sums spread more, and the rule wait longer. The
//! price: the final interval may be a little wider or narrower than was asked for; both are told.
//! A limit of time is reached by the sum of all runs, and an interrupt knows no label; they are as
//! harmless.
//!
//! Outliers are told and never dropped.

mod child;
mod command;
mod outcome;
mod stopping;

use std::time::Duration;

use fairlab_rng::Rng;

use crate::{BenchError, Row};

pub use command::{CommandLine, Commands, Metric};
pub use outcome::{AbOutcome, AbRow, StopReason};
pub use stopping::half_width;

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A, the baseline.
    Before,
    /// B.
    After,
}

impl Side {
    /// 0 or 1.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::Before => 0,
            Self::After => 1,
        }
    }

    /// The name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// How it is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct AbOptions {
    /// Goes on until the change is known within this part of the value, up or down: 0.01 for one percent.
    pub until: f64,
    /// Blocks that are made in any case.
    pub min_blocks: u32,
    /// Blocks that are enough in any case.
    pub max_blocks: u32,
    /// No block begins after this time.
    pub max_time: Duration,
    /// Blocks before the first that counts.
    pub warm_ups: u32,
    /// The level of interval and verdict, 0.95 for 95 percent.
    pub confidence: f64,
    /// Where the coins come from.
    pub seed: u64,
    /// The row whose width decides; the first when `None`.
    pub row: Option<String>,
}

impl Default for AbOptions {
    fn default() -> Self {
        Self {
            until: 0.01,
            min_blocks: 10,
            max_blocks: 100,
            max_time: Duration::from_secs(600),
            warm_ups: 1,
            confidence: 0.95,
            seed: 1,
            row: None,
        }
    }
}

/// The largest number of blocks: the interval looks at all pairs of them.
pub const MAX_BLOCKS: u32 = 5000;

/// Something that has two sides and can run each.
pub trait Executor {
    /// Runs `side` once. [`BenchError::Interrupted`] ends the comparison with what there is.
    ///
    /// # Errors
    /// When it cannot be run, or gives no figures.
    fn run(&mut self, side: Side) -> Result<Vec<Row>, BenchError>;

    /// The time since the start.
    fn elapsed(&self) -> Duration;
}

/// What is known while it runs.
#[derive(Clone, Copy, Debug)]
pub struct AbProgress {
    /// Blocks done.
    pub blocks: u32,
    /// The half width of the interval as far as the rule knows, as a part of the value.
    pub half_width: Option<f64>,
}

/// Compares the two sides of `executor`; `tell` hears of each block.
///
/// # Errors
/// When a side cannot be run, the two sides have no row in common, or the options make no sense.
pub fn compare(
    options: &AbOptions,
    executor: &mut impl Executor,
    mut tell: impl FnMut(AbProgress),
) -> Result<AbOutcome, BenchError> {
    check(options)?;
    let mut coin = Rng::stream(options.seed, "A/B order");
    let mut blocks = Blocks::default();
    for _ in 0..options.warm_ups {
        match run_block(&mut coin, executor) {
            Ok(_) => {}
            Err(BenchError::Interrupted) => {
                return blocks.end(options, StopReason::Interrupted, executor);
            }
            Err(error) => return Err(error),
        }
    }
    loop {
        if executor.elapsed() >= options.max_time && blocks.count() > 0 {
            return blocks.end(options, StopReason::Time, executor);
        }
        match run_block(&mut coin, executor) {
            Ok(block) => blocks.add(block),
            // A block of one side says nothing.
            Err(BenchError::Interrupted) => {
                return blocks.end(options, StopReason::Interrupted, executor);
            }
            Err(error) => return Err(error),
        }
        let half_width = blocks.half_width(options)?;
        tell(AbProgress {
            blocks: blocks.count(),
            half_width,
        });
        if blocks.count() >= options.max_blocks {
            return blocks.end(options, StopReason::Runs, executor);
        }
        let is_narrow = half_width.is_some_and(|half| half <= options.until);
        if blocks.count() >= options.min_blocks && is_narrow {
            return blocks.end(options, StopReason::NarrowEnough, executor);
        }
    }
}

fn check(options: &AbOptions) -> Result<(), BenchError> {
    let refuse = |text: &str| Err(BenchError::Option(text.into()));
    if !(options.until > 0.0 && options.until < 10.0) {
        return refuse("the width to reach must be above 0 and below 1000 percent");
    }
    if !(options.confidence > 0.5 && options.confidence < 1.0) {
        return refuse("the level must be above 50 and below 100 percent");
    }
    if options.min_blocks == 0 || options.max_blocks < options.min_blocks {
        return refuse("at least one run, and at most as many as the limit, are wanted");
    }
    if options.max_blocks > MAX_BLOCKS {
        return Err(BenchError::Option(format!(
            "at most {MAX_BLOCKS} runs of each side are possible"
        )));
    }
    Ok(())
}

/// A run of each side.
struct Block {
    first: Side,
    /// The rows of before and after.
    rows: [Vec<Row>; 2],
}

fn run_block(coin: &mut Rng, executor: &mut impl Executor) -> Result<Block, BenchError> {
    let order = if coin.chance(1, 2) {
        [Side::Before, Side::After]
    } else {
        [Side::After, Side::Before]
    };
    let mut rows = [Vec::new(), Vec::new()];
    for side in order {
        let measured = executor.run(side)?;
        if let Some(row) = measured.iter().find(|row| !row.value.is_finite()) {
            return Err(BenchError::Option(format!(
                "the row '{}' is not a finite number",
                row.name
            )));
        }
        rows[side.index()] = measured;
    }
    Ok(Block {
        first: order[0],
        rows,
    })
}

/// All blocks so far.
#[derive(Default)]
struct Blocks {
    firsts: Vec<Side>,
    rows: Vec<Paired>,
    /// Names of rows that were not there in each run.
    incomplete: Vec<String>,
}

/// The values of a row, one per block.
struct Paired {
    row: Row,
    values: [Vec<f64>; 2],
}

impl Blocks {
    fn count(&self) -> u32 {
        u32::try_from(self.firsts.len()).unwrap_or(u32::MAX)
    }

    fn add(&mut self, block: Block) {
        let [before, after] = block.rows;
        let is_first = self.firsts.is_empty();
        self.firsts.push(block.first);
        let find = |rows: &[Row], name: &str| {
            rows.iter()
                .find(|row| row.name == name)
                .map(|row| row.value)
        };
        if is_first {
            self.rows = before
                .iter()
                .map(|row| Paired {
                    row: row.clone(),
                    values: [Vec::new(), Vec::new()],
                })
                .collect();
        }
        for row in before.iter().chain(&after) {
            let is_known = self.rows.iter().any(|paired| paired.row.name == row.name);
            if !is_known && !self.incomplete.contains(&row.name) {
                self.incomplete.push(row.name.clone());
            }
        }
        let mut lost = Vec::new();
        self.rows.retain_mut(|paired| {
            let name = &paired.row.name;
            if let (Some(a), Some(b)) = (find(&before, name), find(&after, name)) {
                paired.values[0].push(a);
                paired.values[1].push(b);
                true
            } else {
                lost.push(name.clone());
                false
            }
        });
        self.incomplete.append(&mut lost);
    }

    /// The row that decides when it is enough.
    fn main_row(&self, options: &AbOptions) -> Result<&Paired, BenchError> {
        let Some(name) = &options.row else {
            return self.rows.first().ok_or_else(|| {
                BenchError::Option("no figure was there in every run of both sides".into())
            });
        };
        self.rows
            .iter()
            .find(|paired| paired.row.name == *name)
            .ok_or_else(|| {
                let names: Vec<&str> = self
                    .rows
                    .iter()
                    .map(|paired| paired.row.name.as_str())
                    .collect();
                BenchError::Option(format!(
                    "there is no row '{name}' in every run: there are {}",
                    names.join(", ")
                ))
            })
    }

    fn half_width(&self, options: &AbOptions) -> Result<Option<f64>, BenchError> {
        let [before, after] = &self.main_row(options)?.values;
        Ok(half_width(before, after, options.confidence))
    }

    fn end(
        self,
        options: &AbOptions,
        stop: StopReason,
        executor: &impl Executor,
    ) -> Result<AbOutcome, BenchError> {
        if self.firsts.is_empty() {
            return Err(BenchError::Interrupted);
        }
        let half_width = self.half_width(options)?;
        Ok(AbOutcome {
            rows: outcome::judge(
                self.rows.into_iter().map(|p| (p.row, p.values)).collect(),
                options.confidence,
            ),
            firsts: self.firsts,
            stop,
            half_width,
            incomplete: self.incomplete,
            elapsed: executor.elapsed(),
            options: options.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
