//! Tests of the crate as callers see it.

mod catalogue;
mod shared_data;
mod short_specs;
mod support;
