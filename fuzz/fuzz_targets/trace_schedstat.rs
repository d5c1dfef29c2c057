//! Snapshots of /proc/schedstat.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = fairlab_trace::schedstat::Schedstat::parse(&String::from_utf8_lossy(bytes));
});
