//! Sections, and how they add up to text, data and bss.

use serde::Serialize;

/// One section, with what decides where its bytes are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The name.
    pub name: String,
    /// The address it is linked to; 0 in relocatable objects.
    pub address: u64,
    /// Bytes in memory.
    pub size: u64,
    /// What it is to `size`.
    #[serde(flatten)]
    pub flags: SectionFlags,
}

/// What decides where a section's bytes are counted, and the letter of its symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SectionFlags {
    /// Takes memory when the program runs.
    pub is_alloc: bool,
    /// May be written.
    pub is_writable: bool,
    /// Holds instructions.
    pub is_code: bool,
    /// Has bytes in the file.
    pub has_contents: bool,
}

impl Section {
    /// Does it hold variables that exist once per CPU?
    #[doc(alias = "DEFINE_PER_CPU")]
    pub fn is_percpu(&self) -> bool {
        self.name == ".data..percpu" || self.name.starts_with(".data..percpu.")
    }
}

/// Bytes as `size` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Code and whatever else is not written.
    pub text: u64,
    /// Written, with initial values in the file.
    pub data: u64,
    /// Written, zero at the start.
    pub bss: u64,
}

impl Sizes {
    /// Counts sections by the Berkeley rules of binutils' `size`: only what takes memory counts; code
    /// and everything that is not written is text.
    pub fn of<'a>(sections: impl IntoIterator<Item = &'a Section>) -> Self {
        let mut sizes = Self::default();
        for section in sections {
            let flags = section.flags;
            if !flags.is_alloc {
                continue;
            }
            let part = if flags.is_code || !flags.is_writable {
                &mut sizes.text
            } else if flags.has_contents {
                &mut sizes.data
            } else {
                &mut sizes.bss
            };
            *part = part.wrapping_add(section.size);
        }
        sizes
    }

    /// The sum of all three. Wraps, as `size` does, where section headers lie.
    pub fn total(self) -> u64 {
        self.text.wrapping_add(self.data).wrapping_add(self.bss)
    }

    /// The sums of two.
    pub fn plus(self, other: Self) -> Self {
        Self {
            text: self.text.wrapping_add(other.text),
            data: self.data.wrapping_add(other.data),
            bss: self.bss.wrapping_add(other.bss),
        }
    }
}
