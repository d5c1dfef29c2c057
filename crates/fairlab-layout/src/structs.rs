//! Structures: holes, padding, cache lines, and the form in which `pahole` prints them.

pub mod difference;
mod holes;
mod print;
mod type_name;

pub use self::holes::{Gap, Layout, Slot};
pub use self::print::{Printer, print};
pub use self::type_name::declaration;
