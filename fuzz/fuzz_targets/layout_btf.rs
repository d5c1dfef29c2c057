//! Raw BTF: types, and every structure printed.
#![no_main]

use std::io::Cursor;

use fairlab_layout::input::Input;
use fairlab_layout::structs::Printer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = Input::open("fuzz", Cursor::new(bytes)) else {
        return;
    };
    let Ok(types) = input.types(&[], None) else {
        return;
    };
    let mut printer = Printer::new(&types, 64);
    for (id, _, _) in types.composites().take(16) {
        let _ = printer.print(id);
    }
});
