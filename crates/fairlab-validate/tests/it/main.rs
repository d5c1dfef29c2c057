//! Tests of whole scenarios.

mod facts;
mod files;
