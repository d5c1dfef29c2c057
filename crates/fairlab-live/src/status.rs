//! What the running kernel tells of sched_ext.

use std::fs;
use std::path::Path;

use crate::error::LiveError;

/// The name under which the kernel knows our scheduler.
pub const NAME: &str = "fairlab";

/// State of sched_ext on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// `uname -r`.
    pub release: String,
    /// Its state (`disabled`, `enabled` ...); none without sched_ext.
    pub state: Option<String>,
    /// The loaded scheduler.
    pub scheduler: Option<String>,
    /// Does the kernel describe its types?
    pub has_btf: bool,
    /// How often a scheduler was enabled since boot.
    pub enable_seq: Option<u64>,
    /// Tasks that were refused.
    pub nr_rejected: Option<u64>,
    /// Does the scheduler have all tasks, or only those that ask for it?
    pub switches_all: Option<bool>,
    /// How often CPUs came or went since boot.
    pub hotplug_seq: Option<u64>,
    /// What the kernel counts of the scheduler's life, by its own names.
    pub events: Vec<(String, u64)>,
}

impl Status {
    /// Reads the state below `root` (`/` for this machine).
    #[must_use]
    pub fn read(root: &Path) -> Self {
        let text = |path: &str| {
            let text = fs::read_to_string(root.join(path)).ok()?;
            Some(text.trim().to_owned())
        };
        let number = |path: &str| text(path)?.parse::<u64>().ok();
        Self {
            release: text("proc/sys/kernel/osrelease").unwrap_or_default(),
            state: text("sys/kernel/sched_ext/state"),
            scheduler: text("sys/kernel/sched_ext/root/ops").filter(|name| !name.is_empty()),
            has_btf: root.join("sys/kernel/btf/vmlinux").exists(),
            enable_seq: number("sys/kernel/sched_ext/enable_seq"),
            nr_rejected: number("sys/kernel/sched_ext/nr_rejected"),
            switches_all: number("sys/kernel/sched_ext/switch_all").map(|n| n != 0),
            hotplug_seq: number("sys/kernel/sched_ext/hotplug_seq"),
            events: text("sys/kernel/sched_ext/root/events")
                .map(|text| events(&text))
                .unwrap_or_default(),
        }
    }

    /// Is our scheduler the one that runs?
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.state.as_deref() == Some("enabled")
            && self
                .scheduler
                .as_deref()
                .is_some_and(|name| name.starts_with(NAME))
    }

    /// Can the policy watch here, without scheduling?
    ///
    /// # Errors
    /// Why not.
    pub fn check_shadow(&self, is_root: bool) -> Result<(), LiveError> {
        let release = self.release.clone();
        if !self.has_btf {
            return Err(LiveError::NoBtf { release });
        }
        if version(&release) < (6, 4) {
            return Err(LiveError::TooOldToWatch { release });
        }
        if is_root {
            return Ok(());
        }
        Err(LiveError::NotRoot {
            what: "watching the kernel's placements",
        })
    }

    /// Can a scheduler be loaded here?
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, is_root: bool) -> Result<(), LiveError> {
        let release = self.release.clone();
        let Some(state) = &self.state else {
            return Err(if version(&release) < (6, 12) {
                LiveError::TooOld { release }
            } else {
                LiveError::NoSchedExt { release }
            });
        };
        if !self.has_btf {
            return Err(LiveError::NoBtf { release });
        }
        if !is_root {
            return Err(LiveError::NotRoot {
                what: "taking over scheduling",
            });
        }
        if state != "disabled" {
            let name = self.scheduler.clone();
            return Err(LiveError::OtherScheduler {
                name: name.unwrap_or_else(|| "?".to_owned()),
            });
        }
        Ok(())
    }
}

/// Are we root?
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Names and counts, one of each to a line.
fn events(text: &str) -> Vec<(String, u64)> {
    text.lines()
        .filter_map(|line| {
            let (name, count) = line.trim().rsplit_once(char::is_whitespace)?;
            Some((name.trim().to_owned(), count.parse().ok()?))
        })
        .collect()
}

/// Major and minor number of a kernel release; zeroes for what is no number.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        Status {
            release: "7.2.13+deb14-cloud-amd64".to_owned(),
            state: Some("disabled".to_owned()),
            scheduler: None,
            has_btf: true,
            enable_seq: Some(0),
            nr_rejected: Some(0),
            switches_all: None,
            hotplug_seq: Some(0),
            events: Vec::new(),
        }
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        let message = |status: &Status, is_root| match status.check(is_root) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(message(&status(), true), "");
        assert!(message(&status(), false).contains("sudo"));
        let mut other = status();
        other.state = Some("enabled".to_owned());
        other.scheduler = Some("simple".to_owned());
        assert!(message(&other, true).contains("`simple` is loaded already"));
        let mut old = status();
        (old.state, old.release) = (None, "6.1.0-51-cloud-amd64".to_owned());
        assert!(message(&old, true).contains("6.12 and newer"));
        old.release = "6.12.117+deb13-cloud-amd64".to_owned();
        assert!(message(&old, true).contains("CONFIG_SCHED_CLASS_EXT"));
        let mut untyped = status();
        untyped.has_btf = false;
        assert!(message(&untyped, true).contains("CONFIG_DEBUG_INFO_BTF"));
    }

    #[test]
    fn watching_needs_no_sched_ext() {
        let mut old = status();
        (old.state, old.release) = (None, "6.12.117+deb13-cloud-amd64".to_owned());
        assert!(old.check_shadow(true).is_ok());
        assert!(old.check_shadow(false).is_err());
        old.release = "6.1.0-51-cloud-amd64".to_owned();
        assert!(old.check_shadow(true).is_err());
    }

    #[test]
    fn events_are_names_and_numbers() {
        let read = events("SCX_EV_SELECT_CPU_FALLBACK 0\nSCX_EV_ENQ_SLICE_DFL 12\nodd\n");
        let wanted = [
            ("SCX_EV_SELECT_CPU_FALLBACK", 0),
            ("SCX_EV_ENQ_SLICE_DFL", 12),
        ];
        assert_eq!(read, wanted.map(|(name, count)| (name.to_owned(), count)));
    }

    #[test]
    fn releases_compare_as_numbers() {
        assert!(version("6.12.1") >= (6, 12));
        assert!(version("6.9.0-rc1") < (6, 12));
        assert_eq!(version("odd"), (0, 0));
    }
}
