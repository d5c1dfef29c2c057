//! Cost tables in TOML: what hardware and kernel cost a task, each number with its unit, and perhaps
//! with its source and interval.
//!
//! ```toml
//! class = "x86-server"            # what is not said here is as on such machines
//!
//! [context_switch]
//! ns = 1350
//! interval_ns = [1320, 1400]
//! source = "fairlab calibrate"
//!
//! [ipi]
//! ns = { same_llc = 700, remote = 1900 }
//! ```

mod read;
mod write;

use std::collections::BTreeMap;

use fairlab_sim::{CostTable, MachineClass};

use crate::error::WorkFileError;

/// What a file says about an entry of the table beside its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostNote {
    /// Where the numbers come from.
    pub source: Option<String>,
    /// The interval of each number, lowest and highest, in the order of the numbers; none where it is
    /// not known. Empty when none is.
    pub intervals: Vec<Option<(u64, u64)>>,
}

/// A cost table, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostFile {
    /// The class whose numbers fill the gaps.
    pub class: MachineClass,
    /// The table.
    pub table: CostTable,
    /// Notes by the name of the entry.
    pub notes: BTreeMap<&'static str, CostNote>,
    /// On what it was measured: names and values, to be read by people.
    pub environment: Vec<(String, String)>,
}

impl CostFile {
    /// The table of a class, with its sources.
    #[must_use]
    pub fn of_class(class: MachineClass) -> Self {
        Self {
            class,
            table: class.table(),
            notes: BTreeMap::new(),
            environment: Vec::new(),
        }
    }

    /// Reads a file. What it does not say is as `class` has it, unless it names a class itself.
    ///
    /// # Errors
    /// On anything that is not understood, with its place.
    pub fn parse(text: &str, class: MachineClass) -> Result<Self, WorkFileError> {
        read::read(text, class).map_err(|fault| fault.locate(text))
    }

    /// The file as text, with every entry; [`Self::parse`] reads it back.
    #[must_use]
    pub fn to_toml(&self) -> String {
        write::write(self)
    }
}
