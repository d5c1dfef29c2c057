//! Names of tasks.

use std::collections::HashMap;

use fairlab_event::NameId;

/// The names that a recording's [`NameId`]s stand for. Grows while the events go by.
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Vec<Box<str>>,
    ids: HashMap<Box<[u8]>, NameId>,
}

/// Longest name that is kept; the kernel's have 15 bytes, those of Perfetto's threads may have more.
const LONGEST: usize = 256;

impl Names {
    /// The name; empty for a number that is not from here.
    #[must_use]
    pub fn get(&self, id: NameId) -> &str {
        self.texts.get(id.0 as usize).map_or("", |name| name)
    }

    /// How many names there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Is there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The number of `name`, a new one if it is new.
    pub fn intern(&mut self, name: &[u8]) -> NameId {
        let name = name.get(..LONGEST).unwrap_or(name);
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = NameId(self.texts.len() as u32);
        self.texts.push(String::from_utf8_lossy(name).into());
        self.ids.insert(name.into(), id);
        id
    }
}
