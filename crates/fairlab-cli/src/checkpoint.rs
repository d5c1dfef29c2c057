//! A point of a run, saved, and what a run is made of.
//!
//! A run is a function of its inputs, so a checkpoint holds these and the time, and not the memory of
//! the simulator: it can be read by people, outlives changes of the simulator's insides, and whoever
//! goes on from it first runs up to the point, which the hash of the events proves to be the same one.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use fairlab::kernel::Kernel;
use fairlab::sim::CostTable;
use fairlab::topology::Machine;
use fairlab::units::{Nanos, Timestamp};
use fairlab_experiment::{Outcome, Point};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::SceneArgs;
use crate::costs_arg;
use crate::workload_arg::{Loaded, WorkloadSource};

const FORMAT: &str = "fairlab-checkpoint/1";

/// Checkpoints may be this large; a machine of 8192 CPUs takes 2 MB.
const SIZE_LIMIT: u64 = 64 << 20;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    /// The version that wrote it.
    fairlab: String,
    at_ns: u64,
    event_hash: String,
    kernel: String,
    seed: u64,
    workload: WorkloadSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    costs: Option<String>,
    machine: Value,
}

/// What a run is made of, but for the kernel.
pub struct Scene {
    pub machine: Machine,
    pub loaded: Loaded,
    pub costs: Option<CostTable>,
    pub seed: u64,
    /// Where it begins, if not at the start.
    pub point: Option<Point>,
    workload: WorkloadSource,
    costs_text: Option<String>,
}

impl Scene {
    /// The scene that was typed, or that of the checkpoint.
    pub fn load(args: &SceneArgs) -> Result<Self> {
        if let Some(path) = &args.from.from {
            return Self::read(path).with_context(|| path.display().to_string());
        }
        let machine = args.machine.load()?;
        let workload = args.workload.source()?;
        Ok(Self {
            loaded: workload.load(&machine)?,
            costs: args.costs.load(&machine)?,
            costs_text: args.costs.source()?,
            machine,
            workload,
            seed: args.seed.seed,
            point: None,
        })
    }

    fn read(path: &Path) -> Result<Self> {
        let size = std::fs::metadata(path)?.len();
        if size > SIZE_LIMIT {
            bail!("{size} bytes are too many for a checkpoint, at most {SIZE_LIMIT} are read");
        }
        let text = std::fs::read_to_string(path)?;
        let file: File = serde_json::from_str(&text).context(
            "this is no checkpoint as `fairlab run --until TIME --save FILE` writes them",
        )?;
        if file.format != FORMAT {
            bail!("format {} is not known, {FORMAT} is", file.format);
        }
        let machine = fairlab_machines::from_json(file.machine.to_string().as_bytes(), "machine")?;
        let kernel: Kernel = file.kernel.parse().context("kernel")?;
        let event_hash = u64::from_str_radix(&file.event_hash, 16)
            .map_err(|_| anyhow!("event_hash {} is no number in base 16", file.event_hash))?;
        let costs = file.costs.as_ref();
        Ok(Self {
            loaded: file.workload.load(&machine)?,
            costs: costs
                .map(|text| costs_arg::parse(text, Path::new("costs"), &machine))
                .transpose()?,
            machine,
            seed: file.seed,
            point: Some(Point {
                at: Timestamp(file.at_ns),
                kernel,
                event_hash,
            }),
            workload: file.workload,
            costs_text: file.costs,
        })
    }

    /// Saves the end of `outcome`, a run of this scene under `kernel` that was cut off.
    ///
    /// # Errors
    /// When the run did not begin at its start under the same kernel, or was over before it was cut
    /// off at `until`.
    pub fn save(
        &self,
        path: &Path,
        kernel: &Kernel,
        outcome: &Outcome,
        until: Timestamp,
    ) -> Result<()> {
        if outcome.end().0 < until.0 {
            bail!(
                "nothing to save: the run was over at {}, before --until",
                outcome.end()
            );
        }
        if self.point.is_some_and(|point| point.kernel != *kernel) {
            bail!(
                "a run that has changed its kernel cannot be saved: save it before, under {}",
                self.point.map(|p| p.kernel.to_string()).unwrap_or_default()
            );
        }
        let machine = fairlab_machines::to_json(&self.machine);
        let file = File {
            format: FORMAT.to_owned(),
            fairlab: env!("CARGO_PKG_VERSION").to_owned(),
            at_ns: until.0,
            event_hash: format!("{:016x}", outcome.event_hash),
            kernel: kernel.to_string(),
            seed: self.seed,
            workload: self.workload.clone(),
            costs: self.costs_text.clone(),
            machine: serde_json::from_str(&machine).context("writing the machine")?,
        };
        let mut text = serde_json::to_string_pretty(&file).context("writing the checkpoint")?;
        text.push('\n');
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The point from which a run went on, in reports.
#[derive(Serialize)]
pub struct PointReport {
    at_ns: u64,
    kernel: String,
}

impl From<Point> for PointReport {
    fn from(point: Point) -> Self {
        Self {
            at_ns: point.at.0,
            kernel: point.kernel.to_string(),
        }
    }
}

/// Says from which point a run went on.
pub fn from_point(point: &Point) -> String {
    format!(
        "from {} on, up to where it was {}; figures are of the time after",
        Nanos(point.at.0),
        point.kernel
    )
}
