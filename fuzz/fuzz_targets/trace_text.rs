//! Traces as text: ftrace, perf script, kernel logs, tables of perf sched.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut recording) = fairlab_trace::from_bytes("fuzz", bytes.to_vec()) else {
        return;
    };
    recording.finish();
});
