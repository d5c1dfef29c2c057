//! The loads: one file per tool that they are modelled on.

pub mod fork;
