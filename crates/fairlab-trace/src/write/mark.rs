//! What others have to say about a trace, on tracks beside its events.

use fairlab_units::Timestamp;

/// Something that was found at a place in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The track on which it stands; marks of a track may overlap.
    pub track: &'a str,
    /// Its begin.
    pub from: Timestamp,
    /// Its length in ns; 0 for a moment.
    pub ns: u64,
    /// What it is.
    pub name: &'a str,
    /// What else is known.
    pub fields: &'a [(&'static str, MarkValue<'a>)],
}

/// A value of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkValue<'a> {
    /// Words.
    Text(&'a str),
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
}
