//! Published results as scenarios: what the simulator says about each, and how often it agrees.
//!
//! ```text
//!   scenarios/ID.toml --parse--> Scenario { machine, kernels, metric, points }
//!                                    | per point: Plan, execute (fairlab-experiment)
//!                                    v
//!                                CaseResult { points: published effect, simulated effect, verdict }
//!                                    | all of them
//!                                    v
//!                                Agreement { signs, rank correlation, controls, not expressible }
//! ```
//!
//! An effect is a part of the baseline and positive when the change is better, whichever way the
//! metric points. `scenarios/README.md` describes the files. What a case cannot express is listed with
//! its reason and never dropped.

mod agreement;
mod effect;
mod embedded;
mod error;
mod facts;
mod glob;
mod metric;
mod number;
mod report;
mod run;
mod scenario;
mod verdict;

pub use agreement::{Agreement, EFFECT_THRESHOLD, Tally};
pub use effect::Effect;
pub use embedded::embedded;
pub use error::ScenarioError;
pub use facts::{Published, PublishedPoint, differing_facts, parse_published};
pub use glob::matches_glob;
pub use metric::Metric;
pub use number::number;
pub use report::{
    CaseReport, FullReport, PointReport, TallyReport, text_of_agreement, text_of_case,
};
pub use run::{CaseResult, PointResult, Prepared, RunOptions, prepare, run};
pub use scenario::{Better, Point, Scenario};
pub use verdict::Verdict;
