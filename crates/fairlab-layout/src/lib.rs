//! What the compiler and the linker did: sections, symbols, cache lines and structures.
//!
//! The crate is given bytes (or a reader), finds out from them what they are, and answers questions
//! about one build or about the difference of two: sections in the form of `size`, growth in the
//! form of `bloat-o-meter`, symbols that moved, variables per cache line, structures in the form of
//! `pahole`. It knows nothing of scheduling, opens no files, and trusts no byte of what it reads.
//!
//! ```text
//!   bytes -> input (what is it?) -> elf, text, types (what does it hold?)
//!                                      |
//!                 section, symbol lists, structures (the same for all formats)
//! ```
//!
//! **Invariant:** any input gives an answer or one error, in memory that its size bounds.

pub mod elf;
pub mod error;
pub mod gone;
pub mod growth;
mod inlined;
pub mod input;
pub mod lines;
pub mod moves;
pub mod placement;
pub mod report;
pub mod section;
pub mod sizes;
pub mod structs;
pub mod symbol;
pub mod text;
pub mod types;
pub mod unpack;

pub use crate::error::LayoutError;
