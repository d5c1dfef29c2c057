//! Any text as a workload file in TOML.
#![no_main]

use fairlab_units::CpuMask;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = fairlab_workfile::parse(&text, "fuzz", &CpuMask::full(8), None);
});
