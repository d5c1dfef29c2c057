//! Tests of the crate as callers see it.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod fixture;
mod support;

mod bad_inputs;
mod catalogue;
mod drawings;
mod exports;
mod properties;
mod shared_data;
mod short_specs;
mod sysfs_trees;
