//! CTF: the input is a description, a zero byte, and a file of packets.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let split = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    let (description, packets) = bytes.split_at(split);
    let packets = packets.get(1..).unwrap_or_default();
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in [("metadata", description), ("channel0_0", packets)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive
            .append_data(&mut header, path, content)
            .expect("memory takes everything");
    }
    let archive = archive.into_inner().expect("memory takes everything");
    let Ok(mut recording) = fairlab_trace::from_bytes("fuzz", archive) else {
        return;
    };
    recording.finish();
});
