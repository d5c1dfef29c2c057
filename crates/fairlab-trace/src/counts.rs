//! How many events of which name a recording holds.

use std::collections::BTreeMap;

/// Events by name, as the recording calls them (without the system: `sched_switch`).
///
/// Counts what the file holds and could be framed, before anything is made of it: a line with a cut
/// end counts, and so does a wakeup that woke nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    rows: Vec<Count>,
    by_name: BTreeMap<String, u32>,
}

/// One row of [`Counts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The event's name.
    pub name: String,
    /// How many there were.
    pub count: u64,
    /// Does this crate know the event's meaning? If not, it is counted and otherwise passed over.
    pub is_known: bool,
}

/// Most names that are told apart; a broken file must not fill memory with invented ones.
const MOST_NAMES: usize = 10_000;

/// A row of the table, for quick counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountId(u32);

impl Counts {
    /// How many events are called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> u64 {
        self.by_name
            .get(name)
            .and_then(|&row| self.rows.get(row as usize))
            .map_or(0, |row| row.count)
    }

    /// All names, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &Count> {
        self.by_name
            .values()
            .filter_map(|&row| self.rows.get(row as usize))
            .filter(|row| row.count > 0)
    }

    /// Events of all names together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.rows.iter().map(|row| row.count).sum()
    }

    pub(crate) fn id(&mut self, name: &str, is_known: bool) -> CountId {
        if let Some(&row) = self.by_name.get(name) {
            return CountId(row);
        }
        let name = if self.rows.len() < MOST_NAMES {
            name
        } else {
            "(other names)"
        };
        if let Some(&row) = self.by_name.get(name) {
            return CountId(row);
        }
        let row = self.rows.len() as u32;
        self.rows.push(Count {
            name: name.to_owned(),
            count: 0,
            is_known,
        });
        self.by_name.insert(name.to_owned(), row);
        CountId(row)
    }

    pub(crate) fn add(&mut self, id: CountId) {
        if let Some(row) = self.rows.get_mut(id.0 as usize) {
            row.count += 1;
        }
    }
}
