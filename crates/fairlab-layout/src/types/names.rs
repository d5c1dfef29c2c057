//! Names, each kept once.

use std::collections::HashMap;

/// A name in a [`super::Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(u32);

/// Longer names are cut off. No identifier of C is nearly this long, and a lying file could name one
/// long string from a million places.
const LONGEST: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Names {
    names: Vec<Box<str>>,
    // Only looked up, never walked.
    numbers: HashMap<Box<str>, Name>,
}

impl Names {
    pub(super) fn intern(&mut self, text: &[u8]) -> Name {
        let text = String::from_utf8_lossy(text.get(..LONGEST).unwrap_or(text));
        if let Some(name) = self.numbers.get(&*text) {
            return *name;
        }
        let name = Name(u32::try_from(self.names.len()).unwrap_or(0));
        let text: Box<str> = text.into();
        self.names.push(text.clone());
        self.numbers.insert(text, name);
        name
    }

    pub(super) fn get(&self, name: Name) -> &str {
        self.names.get(name.0 as usize).map_or("", |name| name)
    }
}
