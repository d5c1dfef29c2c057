//! The deterministic simulator
