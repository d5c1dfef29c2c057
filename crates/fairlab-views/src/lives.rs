//! Something for each life of a task's number: numbers are used again.

use std::collections::BTreeMap;

use fairlab_units::TaskId;

/// No entry.
const NONE: u32 = u32::MAX;
/// Numbers below this are looked up by index: `PID_MAX_LIMIT`, above which kernels give none.
const DIRECT: usize = 4 << 20;

/// Entries in the order in which their tasks appeared.
#[derive(Clone, Debug)]
pub(crate) struct Lives<T> {
    entries: Vec<(TaskId, T)>,
    /// By number: the entry of the present life.
    low: Vec<u32>,
    high: BTreeMap<u32, u32>,
}

impl<T: Default> Lives<T> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            low: Vec::new(),
            high: BTreeMap::new(),
        }
    }

    #[inline]
    fn slot(&mut self, task: TaskId) -> &mut u32 {
        let index = task.index();
        if index >= self.low.len() {
            return self.fresh_slot(task);
        }
        &mut self.low[index]
    }

    #[cold]
    fn fresh_slot(&mut self, task: TaskId) -> &mut u32 {
        let index = task.index();
        if index >= DIRECT {
            return self.high.entry(task.0).or_insert(NONE);
        }
        self.low.resize(index + 1, NONE);
        &mut self.low[index]
    }

    /// The entry of the task as it lives now, a fresh one if there was none.
    #[inline]
    pub(crate) fn get(&mut self, task: TaskId) -> &mut T {
        let known = *self.slot(task);
        if (known as usize) < self.entries.len() {
            return &mut self.entries[known as usize].1;
        }
        let fresh = self.entries.len();
        *self.slot(task) = fresh as u32;
        self.entries.push((task, T::default()));
        &mut self.entries[fresh].1
    }

    /// A new task has this number from now on.
    pub(crate) fn begin(&mut self, task: TaskId) {
        *self.slot(task) = NONE;
    }

    /// All lives, in the order in which they appeared. Says whether the number is still theirs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TaskId, bool, &T)> {
        self.entries
            .iter()
            .enumerate()
            .map(|(index, (task, entry))| (*task, self.present(*task) == index as u32, entry))
    }

    fn present(&self, task: TaskId) -> u32 {
        let low = self.low.get(task.index()).copied();
        low.or_else(|| self.high.get(&task.0).copied())
            .unwrap_or(NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_used_again_has_an_entry_of_its_own() {
        let mut lives = Lives::<u32>::new();
        *lives.get(TaskId(7)) = 1;
        *lives.get(TaskId(u32::MAX - 1)) = 2;
        lives.begin(TaskId(7));
        assert_eq!(*lives.get(TaskId(7)), 0);
        let all = Vec::from_iter(
            lives
                .iter()
                .map(|(task, is_present, _)| (task.0, is_present)),
        );
        assert_eq!(all, [(7, false), (u32::MAX - 1, true), (7, true)]);
    }
}
