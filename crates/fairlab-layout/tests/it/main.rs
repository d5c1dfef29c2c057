//! What the parsers and views say about inputs that are written out here or built on the spot.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod fixture;

mod bad_input;
mod btf;
mod elf;
mod seeds;
mod texts;
