//! Any bytes as a file of `fairlab layout`, with one of the magic numbers in front of most of them.
#![no_main]

use std::io::Cursor;

use fairlab_layout::input::Input;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(input) = Input::open("fuzz", Cursor::new(bytes)) {
        let _ = input.contents();
    }
});
