//! What a description describes.

use std::rc::Rc;

/// A type of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Int(Int),
    /// Bits of a number that is not read.
    Float {
        size: u32,
        align: u32,
    },
    Text,
    Enum {
        int: Int,
        /// Names of ranges.
        labels: Vec<(String, i64, i64)>,
    },
    Struct(Struct),
    Variant {
        /// The field that chooses.
        tag: Option<String>,
        options: Vec<(String, Rc<Type>)>,
        size: Size,
    },
    Array {
        element: Rc<Type>,
        len: u64,
    },
    /// An array whose length is in a field before it.
    Sequence {
        element: Rc<Type>,
        len: String,
    },
}

/// A number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Int {
    pub size: u32,
    pub align: u32,
    pub is_signed: bool,
    /// `None`: as the trace.
    pub is_big_endian: Option<bool>,
    /// A time of a clock.
    pub is_time: bool,
}

/// Fields in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Struct {
    pub fields: Vec<(String, Rc<Type>)>,
    pub align: u32,
    pub size: Size,
}

/// How much work a type is: types may name others, so that a short description stands for a deep or
/// endless one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    depth: u32,
    parts: u32,
}

impl Size {
    /// Of a type with these parts; `None` if that is more than any real one.
    pub(super) fn of(parts: &[(String, Rc<Type>)]) -> Option<Self> {
        let mut size = Self { depth: 1, parts: 1 };
        for (_, part) in parts {
            let part = part.size();
            size.depth = size.depth.max(part.depth + 1);
            size.parts = size.parts.saturating_add(part.parts);
        }
        (size.depth <= 60 && size.parts <= 10_000).then_some(size)
    }
}

impl Type {
    pub(super) fn size(&self) -> Size {
        match self {
            Self::Struct(structure) => structure.size,
            Self::Variant { size, .. } => *size,
            Self::Array { element, .. } | Self::Sequence { element, .. } => {
                let size = element.size();
                Size {
                    depth: size.depth + 1,
                    parts: size.parts.saturating_add(1),
                }
            }
            _ => Size { depth: 1, parts: 1 },
        }
    }

    /// To how many bits it is aligned.
    pub(super) fn align(&self) -> u32 {
        match self {
            Self::Int(int) | Self::Enum { int, .. } => int.align,
            Self::Float { align, .. } => *align,
            Self::Text => 8,
            Self::Struct(structure) => structure.align,
            Self::Variant { .. } => 1,
            Self::Array { element, .. } | Self::Sequence { element, .. } => element.align(),
        }
    }
}

/// A kind of event.
#[derive(Clone, Debug)]
pub(super) struct EventType {
    pub name: String,
    pub id: u64,
    pub stream: u64,
    pub context: Option<Rc<Type>>,
    pub fields: Option<Rc<Type>>,
}

/// A kind of stream.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamType {
    pub id: u64,
    pub packet_context: Option<Rc<Type>>,
    pub event_header: Option<Rc<Type>>,
    pub event_context: Option<Rc<Type>>,
}

/// A clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    pub name: String,
    /// Ticks per second.
    pub frequency: u64,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    pub is_big_endian: bool,
    pub packet_header: Option<Rc<Type>>,
    pub streams: Vec<StreamType>,
    pub events: Vec<EventType>,
    pub clocks: Vec<Clock>,
    pub env: Vec<(String, String)>,
}
