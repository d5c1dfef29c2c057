//! Any text as a workload file of rt-app, down to the programs of its threads.
#![no_main]

use fairlab_rtapp::{Host, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    // More than a few threads only make it slow.
    let app = parse(&text).ok().filter(|app| app.tasks.iter().all(|t| t.instances < 1_000));
    if let Some(app) = app {
        let _ = app.compile("fuzz", &Host::of_cpus(8), None);
    }
});
