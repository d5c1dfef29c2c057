//! ELF files with debug information: types, structures, and where functions are inlined.
#![no_main]

use std::io::Cursor;

use fairlab_layout::gone::Gone;
use fairlab_layout::input::Input;
use fairlab_layout::structs::{Printer, difference};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = Input::open("fuzz", Cursor::new(bytes)) else {
        return;
    };
    let mut functions = vec![Gone {
        name: "inl".to_owned(),
        size: None,
        became: None,
        inlined_into: None,
    }];
    let _ = input.find_inlined(&mut functions);
    let Ok(types) = input.types(&[], None) else {
        return;
    };
    let mut printer = Printer::new(&types, 64);
    for (id, _, _) in types.composites().take(16) {
        let _ = printer.print(id);
        let _ = difference::compare((&types, id), (&types, id));
    }
});
