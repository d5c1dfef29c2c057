//! The programs as the kernel knows them.

use fairlab_topology::Domains;
use libbpf_rs::query::ProgInfoIter;

use crate::config::config;
use crate::error::LiveError;
use crate::object::{Options, Part, configure, load, open, select};

/// The verifier's effort that no program may exceed, in instructions looked at. The kernel would take
/// a million; a program that needs more than this has a loop that the verifier walks step by step.
pub const VERIFIED_LIMIT: u32 = 20_000;

/// One program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name, as far as the kernel keeps it: 15 characters.
    pub name: String,
    /// Instructions that the verifier looked at.
    pub verified: u32,
    /// How often it ran, and for how long, ns, while the kernel counted that.
    pub runs: u64,
    /// See `runs`.
    pub ran_ns: u64,
}

impl Program {
    /// Those of ours that are loaded now.
    #[must_use]
    pub fn loaded() -> Vec<Self> {
        ProgInfoIter::default()
            .filter(|info| info.name.to_string_lossy().starts_with("fairlab_"))
            .map(|info| Self {
                name: info.name.to_string_lossy().into_owned(),
                verified: info.verified_insns,
                runs: info.run_cnt,
                ran_ns: info.run_time_ns,
            })
            .collect()
    }

    /// Those of the scheduler and those that watch or record, as the kernel takes them for a machine with `domains`,
    /// which need not be this one. Nothing is attached.
    ///
    /// # Errors
    /// When the object does not fit, or the kernel does not take it.
    pub fn verify(domains: &Domains, options: &Options) -> Result<Vec<Self>, LiveError> {
        let config = config(domains, &options.kernel, options.settings)?;
        let mut programs = Vec::new();
        for part in [Part::Scheduler, Part::Shadow, Part::Record] {
            let mut open = open(options)?;
            select(&mut open, part);
            configure(&mut open, &config)?;
            let object = load(open, options)?;
            programs.extend(Self::loaded());
            drop(object);
        }
        Ok(programs)
    }

    /// Mean time of a run, ns; none when no run was counted.
    #[must_use]
    pub const fn mean_ns(&self) -> Option<u64> {
        self.ran_ns.checked_div(self.runs)
    }
}
