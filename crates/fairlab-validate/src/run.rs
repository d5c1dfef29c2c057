//! Running a scenario.

use fairlab_experiment::{Outcome, Plan, Stretch, execute};
use fairlab_kernel::Kernel;
use fairlab_machines::{LoadOptions, load};
use fairlab_sim::Counts;
use fairlab_topology::Machine;
use fairlab_units::Nanos;
use fairlab_workload::{End, Workload};

use crate::agreement::EFFECT_THRESHOLD;
use crate::effect::{Effect, goodness, part_of_gain};
use crate::error::ScenarioError;
use crate::metric::Metric;
use crate::scenario::{Better, Point, Scenario};
use crate::verdict::Verdict;

/// How scenarios are run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Runs of each kernel at each point, to begin with. Fewer than six prove nothing at 95 percent.
    pub runs: u32,
    /// Further batches of as many runs follow until the interval of the case's effect is narrow, or
    /// this many runs have been made.
    pub most: u32,
    /// Where the seeds of the runs come from.
    pub seed: u64,
    /// Worker threads; the results are the same for any number.
    pub threads: usize,
    /// The level of intervals and verdicts, 0.95 for 95 percent.
    pub confidence: f64,
}

impl Default for RunOptions {
    /// Six runs, no further ones, on one thread at 95 percent.
    fn default() -> Self {
        Self {
            runs: 6,
            most: 6,
            seed: 1,
            threads: 1,
            confidence: 0.95,
        }
    }
}

/// A point that is ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The machine.
    pub machine: Machine,
    /// The workload.
    pub workload: Workload,
    /// Without and with the change.
    pub kernels: [Kernel; 2],
    /// What is measured.
    pub metric: Metric,
    /// Which way of it is better.
    pub better: Better,
}

/// What came of a point.
#[derive(Clone, Debug)]
pub struct PointResult {
    /// As the post names it.
    pub load: String,
    /// Nothing should change here.
    pub is_control: bool,
    /// The published effect, as a part of the baseline; positive is better.
    pub published: Option<f64>,
    /// The simulated values of both kernels. None when the metric had no value in some run.
    pub simulated: Option<Effect>,
    /// What that says.
    pub verdict: Verdict,
    /// Did the two kernels do the same, event by event, in every run?
    pub is_identical: bool,
    /// Events of all runs.
    pub events: u64,
    /// What was counted without and with the change, in the first run of each.
    pub counts: [Counts; 2],
    better: Better,
    values: Option<[Vec<f64>; 2]>,
}

/// What the runs of a point have said so far.
struct Values {
    prepared: Prepared,
    /// Without and with the change. None when the metric had no value in some run.
    values: Option<[Vec<f64>; 2]>,
    is_identical: bool,
    events: u64,
    counts: [Counts; 2],
}

/// What came of a case.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// Its points, in the order of the file.
    pub points: Vec<PointResult>,
    /// Nothing should change in the whole case.
    pub is_control: bool,
    /// The published effect over the points that are not controls: of the geometric mean of what they
    /// gain, as a part of the baseline; positive is better.
    pub published: Option<f64>,
    /// The same of the simulated values, one value per run.
    pub simulated: Option<Effect>,
    /// What that says.
    pub verdict: Verdict,
}

impl CaseResult {
    /// Runs of each kernel at each point that were made.
    #[must_use]
    pub fn runs(&self) -> usize {
        let runs = |p: &PointResult| p.values.as_ref().map_or(0, |[a, _]| a.len());
        self.points.iter().map(runs).max().unwrap_or(0)
    }
}

/// Reads machine, workload and kernels of `point`.
///
/// # Errors
/// When one of them is not understood.
pub fn prepare(scenario: &Scenario, point: &Point) -> Result<Prepared, ScenarioError> {
    let wrong = |what: &str, message: String| ScenarioError::Value {
        file: scenario.id.clone(),
        at: format!("point \"{}\": {what}", point.load),
        message,
    };
    let need = |what: &'static str, own: &Option<String>, general: &Option<String>| {
        let text = own.as_ref().or(general.as_ref());
        text.cloned().ok_or_else(|| {
            wrong(
                what,
                format!("a {what} is wanted, in the point or the scenario"),
            )
        })
    };
    let reference = need("machine", &point.machine, &scenario.machine)?;
    let machine = load(&reference, &LoadOptions::default())
        .map_err(|error| wrong("machine", error.to_string()))?;
    let kernel = |what: &'static str, own: &Option<String>, general: &Option<String>| {
        let text = need(what, own, general)?;
        text.parse::<Kernel>()
            .map_err(|error| wrong(what, error.to_string()))
    };
    let a = kernel("kernel_a", &point.kernel_a, &scenario.kernel_a)?;
    let b = kernel("kernel_b", &point.kernel_b, &scenario.kernel_b)?;
    let fill = |text: &str| match point.n {
        Some(n) => Ok(text.replace("{n}", &n.to_string())),
        None if text.contains("{n}") => Err(wrong(
            "n",
            "a number is wanted, for {n} in the workload".into(),
        )),
        None => Ok(text.to_owned()),
    };
    let mut workload = match (&point.workload, &scenario.workload, &scenario.program) {
        (None, None, Some(program)) => {
            let program = fill(program)?;
            let name = format!("{}, {}", scenario.id, point.load);
            fairlab_workfile::parse(&program, &name, &machine.online(), None)
                .map_err(|error| wrong("program", error.to_string()))?
        }
        (own, general, _) => {
            let text = fill(&need("workload", own, general)?)?;
            fairlab_workload::parse(&text).map_err(|error| wrong("workload", error.to_string()))?
        }
    };
    let warmup = Nanos::from_millis(scenario.warmup_ms);
    if let End::After(span) = &mut workload.end {
        *span = Nanos(span.0 + warmup.0);
        workload.warmup = Nanos(workload.warmup.0 + warmup.0);
    }
    Ok(Prepared {
        machine,
        workload,
        kernels: [a, b],
        metric: scenario
            .metric_of(point)
            .map_err(|message| wrong("metric", message))?,
        better: point.better.unwrap_or(scenario.better),
    })
}

/// Simulates every point of `scenario`. `done` is called after each run, from any thread.
///
/// Whether another batch of runs follows depends on how wide the interval is, and never on whether the
/// effect is proven or on its sign: that would favour what is hoped for.
///
/// # Errors
/// When a point is not understood, or a run fails.
pub fn run(
    scenario: &Scenario,
    options: &RunOptions,
    done: &(dyn Fn() + Sync),
) -> Result<CaseResult, ScenarioError> {
    let points: Vec<&Point> = scenario.simulated().collect();
    let mut all = Vec::new();
    for point in &points {
        all.push(Values::new(prepare(scenario, point)?));
    }
    let mut batch = 0;
    loop {
        add_batch(scenario, &points, &mut all, options, batch, done)?;
        batch += 1;
        let results = points.iter().zip(&all);
        let results = results.map(|(point, values)| values.result(scenario, point, options));
        let case = judge(results.collect(), scenario, options);
        let may_go_on = (batch + 1).saturating_mul(options.runs) <= options.most;
        let is_settled = all.iter().all(|values| values.is_identical) || is_narrow(&case);
        if is_settled || !may_go_on {
            return Ok(case);
        }
    }
}

/// Is the interval of the case's effect narrow enough: half of it at most a third of the published
/// effect, or of the least one that counts?
fn is_narrow(case: &CaseResult) -> bool {
    let published = case.published.unwrap_or_default().abs();
    let wanted = published.max(EFFECT_THRESHOLD) / 3.0;
    let interval = case.simulated.as_ref().and_then(|effect| effect.interval);
    interval.is_some_and(|[low, high]| (high - low) / 2.0 <= wanted)
}

/// Simulates each point once more as often as `options` says.
fn add_batch(
    scenario: &Scenario,
    points: &[&Point],
    all: &mut [Values],
    options: &RunOptions,
    batch: u32,
    done: &(dyn Fn() + Sync),
) -> Result<(), ScenarioError> {
    // Points that ask the same runs for another metric follow each other: percentiles of one load.
    let mut last: Option<Vec<Outcome>> = None;
    for at in 0..all.len() {
        let repeats = at > 0 && all[at - 1].prepared.runs_like(&all[at].prepared);
        let outcomes = match last.take() {
            Some(outcomes) if repeats => {
                (0..outcomes.len()).for_each(|_| done());
                outcomes
            }
            _ => simulate(
                scenario,
                points[at],
                &all[at].prepared,
                options,
                batch,
                done,
            )?,
        };
        all[at].add(&outcomes);
        last = Some(outcomes);
    }
    Ok(())
}

impl Prepared {
    /// Does `other` ask for the same runs?
    fn runs_like(&self, other: &Self) -> bool {
        self.machine == other.machine
            && self.workload == other.workload
            && self.kernels == other.kernels
    }
}

fn simulate(
    scenario: &Scenario,
    point: &Point,
    prepared: &Prepared,
    options: &RunOptions,
    batch: u32,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Outcome>, ScenarioError> {
    let seed = options.seed ^ u64::from(batch) << 32;
    let plan = Plan {
        machine: &prepared.machine,
        workload: &prepared.workload,
        kernels: prepared.kernels.to_vec(),
        runs: options.runs,
        seed,
        costs: None,
        ask_beside: false,
        clock: None,
        threads: options.threads,
        stretch: Stretch::default(),
    };
    execute(&plan, done).map_err(|source| ScenarioError::Run {
        id: scenario.id.clone(),
        load: point.load.clone(),
        source: Box::new(source),
    })
}

impl Values {
    fn new(prepared: Prepared) -> Self {
        Self {
            prepared,
            values: Some([Vec::new(), Vec::new()]),
            is_identical: true,
            events: 0,
            counts: [Counts::default(), Counts::default()],
        }
    }

    fn add(&mut self, outcomes: &[Outcome]) {
        let arm = |arm: usize| outcomes.iter().filter(move |o| o.arm == arm);
        if self.events == 0 {
            let first = |side| arm(side).next().map(|o| o.counts.clone());
            self.counts = [0, 1].map(|side| first(side).unwrap_or_default());
        }
        let Prepared {
            metric, workload, ..
        } = &self.prepared;
        let value = |o: &Outcome| metric.value(workload, o);
        let sides: [Option<Vec<f64>>; 2] = [0, 1].map(|side| arm(side).map(value).collect());
        self.values = match (self.values.take(), sides) {
            (Some([mut a, mut b]), [Some(more_a), Some(more_b)]) => {
                a.extend(more_a);
                b.extend(more_b);
                Some([a, b])
            }
            _ => None,
        };
        self.is_identical &= arm(0)
            .zip(arm(1))
            .all(|(a, b)| a.event_hash == b.event_hash);
        self.events += outcomes.iter().map(|o| o.events).sum::<u64>();
    }

    fn result(&self, scenario: &Scenario, point: &Point, options: &RunOptions) -> PointResult {
        let better = self.prepared.better;
        let simulated = self
            .values
            .as_ref()
            .and_then(|[a, b]| Effect::of_pairs(a, b, better.direction(), options.confidence));
        let is_control = scenario.control || point.control;
        let published = point.effect(scenario.better);
        PointResult {
            load: point.load.clone(),
            is_control,
            published,
            verdict: verdict(published, is_control, simulated.as_ref()),
            simulated,
            is_identical: self.is_identical,
            events: self.events,
            counts: self.counts.clone(),
            better,
            values: self.values.clone(),
        }
    }
}

fn verdict(published: Option<f64>, is_control: bool, simulated: Option<&Effect>) -> Verdict {
    simulated.map_or(Verdict::NotProven, |simulated| {
        Verdict::of(published, is_control, simulated)
    })
}

/// The case as a whole: the geometric mean over its points, of gains (where better is more).
fn judge(points: Vec<PointResult>, scenario: &Scenario, options: &RunOptions) -> CaseResult {
    let is_control = scenario.control || points.iter().all(|p| p.is_control);
    let judged = || points.iter().filter(|p| p.is_control == is_control);
    let nr = judged().count() as f64;
    let direction = scenario.better.direction();
    // Ratios of the changed value to the baseline, as if that were 1.
    let gains = judged().map(|p| {
        let change = match p.better {
            Better::Higher => p.published?,
            Better::Lower => -p.published?,
        };
        Some(goodness(p.better.direction(), 1.0 + change))
    });
    let published = gains
        .sum::<Option<f64>>()
        .map(|sum| part_of_gain(direction, sum / nr));
    let side = |side: usize| -> Option<Vec<f64>> {
        let run = |i: usize| -> Option<f64> {
            let goods = judged().map(|p| {
                let value = *p.values.as_ref()?.get(side)?.get(i)?;
                Some(goodness(p.better.direction(), value))
            });
            goods.sum::<Option<f64>>().map(|sum| sum / nr)
        };
        let lengths = judged().map(|p| p.values.as_ref().map_or(0, |v| v[side].len()));
        (0..lengths.min().unwrap_or(0)).map(run).collect()
    };
    let sides = side(0).zip(side(1));
    let simulated =
        sides.and_then(|(a, b)| Effect::of_goodness(&a, &b, direction, options.confidence));
    CaseResult {
        verdict: verdict(published, is_control, simulated.as_ref()),
        is_control,
        published,
        simulated,
        points,
    }
}
