//! Tests of the crate as callers see it.

mod catalogue;
mod short_specs;
mod support;
