//! Files of rt-app as their users meet them.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod collection;
mod compiled;
mod mutations;
mod refused;
