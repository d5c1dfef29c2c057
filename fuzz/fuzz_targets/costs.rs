//! Any text as a cost file in TOML; what is read can be written and read again.
#![no_main]

use fairlab_sim::MachineClass;
use fairlab_workfile::CostFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let class = MachineClass::X86Server;
    if let Ok(file) = CostFile::parse(&text, class) {
        let again = CostFile::parse(&file.to_toml(), class);
        assert_eq!(again.map(|file| file.table), Ok(file.table));
    }
});
