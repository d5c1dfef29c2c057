//! Per-entity load tracking in the kernel's fixed point
