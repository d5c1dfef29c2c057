//! The tasks of a cgroup as those that sched_ext schedules, and no others.
//!
//! A scheduler that takes over in part schedules the tasks whose policy is `SCHED_EXT`. What they fork
//! inherits it; what joins the cgroup later is found by looking again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::LiveError;
use crate::sys::{policy_of, set_policy};

/// The policy of tasks that sched_ext schedules (`SCHED_EXT` in `uapi/linux/sched.h`).
pub(crate) const SCHED_EXT: i32 = 7;

/// Where cgroups are, as distributions mount them.
const MOUNT: &str = "/sys/fs/cgroup";

/// The threads of a cgroup and of those below it.
#[derive(Debug)]
pub struct Members {
    folder: PathBuf,
    /// Threads that were given to us, with the policy that they had.
    taken: BTreeMap<i32, i32>,
}

impl Members {
    /// Those of the cgroup at `path`, absolute or below where cgroups are mounted.
    ///
    /// # Errors
    /// When there is no such cgroup.
    pub fn of(path: &Path) -> Result<Self, LiveError> {
        let below = Path::new(MOUNT).join(path.strip_prefix("/").unwrap_or(path));
        for folder in [path.to_owned(), below] {
            if folder.join("cgroup.threads").is_file() {
                return Ok(Self {
                    folder,
                    taken: BTreeMap::new(),
                });
            }
        }
        Err(LiveError::NoCgroup {
            path: path.to_owned(),
        })
    }

    /// Takes the threads that are in the cgroup now, and gives back those that have left. Threads of
    /// realtime and idle policies stay what they are.
    pub fn update(&mut self) {
        let mut now = BTreeMap::new();
        for thread in threads_below(&self.folder) {
            let Some(policy) = policy_of(thread) else {
                continue;
            };
            if policy == SCHED_EXT {
                let before = self.taken.remove(&thread);
                now.insert(thread, before.unwrap_or(libc::SCHED_OTHER));
            } else if [libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&policy)
                && set_policy(thread, SCHED_EXT)
            {
                now.insert(thread, policy);
            }
        }
        self.release();
        self.taken = now;
    }

    /// How many threads are ours.
    #[must_use]
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Is none ours?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// Gives all threads back.
    fn release(&mut self) {
        for (thread, policy) in std::mem::take(&mut self.taken) {
            if policy_of(thread) == Some(SCHED_EXT) {
                set_policy(thread, policy);
            }
        }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.release();
    }
}

/// The threads of the cgroup in `folder` and of those below it. Cgroups come and go: what cannot be read
/// is gone.
fn threads_below(folder: &Path) -> Vec<i32> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let text = fs::read_to_string(folder.join("cgroup.threads")).unwrap_or_default();
        found.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    found
}
