//! Perfetto traces: the input is one packet after another.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut file = vec![0x0a];
    file.extend_from_slice(bytes);
    let Ok(mut recording) = fairlab_trace::from_bytes("fuzz", file) else {
        return;
    };
    recording.finish();
});
