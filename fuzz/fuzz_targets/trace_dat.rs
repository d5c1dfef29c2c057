//! trace.dat of trace-cmd, from behind its magic number.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut file = b"\x17\x08\x44tracing".to_vec();
    file.extend_from_slice(bytes);
    let Ok(mut recording) = fairlab_trace::from_bytes("fuzz", file) else {
        return;
    };
    recording.finish();
});
