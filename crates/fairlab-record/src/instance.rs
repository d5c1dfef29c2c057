//! A buffer of our own, which goes away with its owner.

use std::fs;
use std::io;
use std::path::Path;

use crate::RecordError;
use crate::tracefs::Tracefs;

/// How names of instances begin; the maker's number and start time follow.
const PREFIX: &str = "fairlab-";

/// The name of an instance that this process makes: who makes it, by number and start time, since
/// numbers are used again.
#[must_use]
pub fn instance_name(host: &Path) -> String {
    let pid = std::process::id();
    format!("{PREFIX}{pid}-{}", started(host, pid).unwrap_or(0))
}

/// When a process started, in ticks since the boot; `None` when there is none.
fn started(host: &Path, pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(host.join(format!("proc/{pid}/stat"))).ok()?;
    // The name in parentheses may hold anything; the 22nd field is the 20th after it.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}

/// Removes instances whose makers are gone, and gives their names.
pub fn remove_stale(tracefs: &Tracefs) -> Vec<String> {
    let entries = fs::read_dir(tracefs.path("instances"));
    let mut removed = Vec::new();
    for entry in entries.into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let maker = name.strip_prefix(PREFIX).and_then(|rest| {
            let (pid, start) = rest.split_once('-')?;
            Some((pid.parse::<u32>().ok()?, start.parse::<u64>().ok()?))
        });
        let Some((pid, start)) = maker else {
            continue;
        };
        if started(tracefs.host(), pid) != Some(start) && fs::remove_dir(entry.path()).is_ok() {
            removed.push(name);
        }
    }
    removed.sort_unstable();
    removed
}

/// An instance. Dropping it stops and removes it.
pub(crate) struct Instance {
    files: Tracefs,
}

impl Instance {
    pub(crate) fn create(tracefs: &Tracefs) -> Result<Self, RecordError> {
        let name = instance_name(tracefs.host());
        let path = tracefs.path("instances").join(&name);
        match fs::create_dir(&path) {
            Ok(()) => {}
            // Of an earlier recording of this very process, which could not be removed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(RecordError::file("create the instance", path)(error)),
        }
        Ok(Self {
            files: tracefs.within(&name),
        })
    }

    pub(crate) const fn files(&self) -> &Tracefs {
        &self.files
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the next recording removes what is left.
        let _ = self.files.write("tracing_on", "0");
        let _ = fs::remove_dir(self.files.path(""));
    }
}
