//! Texts of other tools, as `fairlab layout` reads them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = fairlab_layout::text::parse("fuzz", &text);
    let _ = fairlab_layout::text::hot::names(&text);
    let _ = fairlab_layout::text::hot::is_perf_report(&text);
});
