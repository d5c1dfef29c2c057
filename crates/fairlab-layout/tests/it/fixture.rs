//! Inputs that are built here, so that no binary has to be kept.

use std::io::Cursor;

use fairlab_layout::LayoutError;
use fairlab_layout::input::{Contents, Input};
use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};

/// Reads `bytes` as a file called `name`.
pub fn read(name: &str, bytes: &[u8]) -> Result<Contents, LayoutError> {
    Input::open(name, Cursor::new(bytes))?.contents()
}

/// A small object: 24 bytes of code in two functions, a per-CPU section, data and bss.
pub fn object(architecture: Architecture, endian: Endianness) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, endian);
    let text = object.add_section(vec![], b".text".to_vec(), SectionKind::Text);
    object.append_section_data(text, &[0x90; 24], 8);
    let constants = object.add_section(vec![], b".rodata".to_vec(), SectionKind::ReadOnlyData);
    object.append_section_data(constants, b"abcd", 4);
    let data = object.add_section(vec![], b".data".to_vec(), SectionKind::Data);
    object.append_section_data(data, &[1; 16], 8);
    let percpu = object.add_section(vec![], b".data..percpu".to_vec(), SectionKind::Data);
    object.append_section_data(percpu, &[0; 72], 64);
    let bss = object.add_section(vec![], b".bss".to_vec(), SectionKind::UninitializedData);
    object.append_section_bss(bss, 40, 8);
    let mut add = |name: &str, value, size, kind, scope, section| {
        object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value,
            size,
            kind,
            scope,
            weak: false,
            section,
            flags: SymbolFlags::None,
        });
    };
    let (code, variable) = (SymbolKind::Text, SymbolKind::Data);
    let (local, global) = (SymbolScope::Compilation, SymbolScope::Dynamic);
    add("first", 0, 16, code, global, SymbolSection::Section(text));
    add(
        "second.isra.0",
        16,
        8,
        code,
        local,
        SymbolSection::Section(text),
    );
    add(
        "count.17",
        0,
        4,
        variable,
        local,
        SymbolSection::Section(data),
    );
    add(
        "table",
        8,
        8,
        variable,
        global,
        SymbolSection::Section(data),
    );
    add(
        "hot",
        0,
        8,
        variable,
        global,
        SymbolSection::Section(percpu),
    );
    add(
        "cold",
        64,
        8,
        variable,
        global,
        SymbolSection::Section(percpu),
    );
    add("zeros", 0, 40, variable, local, SymbolSection::Section(bss));
    add(
        "elsewhere",
        0,
        0,
        SymbolKind::Unknown,
        SymbolScope::Unknown,
        SymbolSection::Undefined,
    );
    object.write().unwrap()
}

/// Raw BTF of `struct pair { int a; long b; char c:3; char d:5; }` and a pointer to it.
pub fn btf(is_big_endian: bool) -> Vec<u8> {
    let strings = b"\0int\0long int\0char\0pair\0a\0b\0c\0d\0";
    let offset = |name: &str| {
        let wanted = format!("\0{name}\0");
        let at = strings
            .windows(wanted.len())
            .position(|w| w == wanted.as_bytes());
        u32::try_from(at.unwrap() + 1).unwrap()
    };
    let kind = |kind: u32, count: u32| kind << 24 | count;
    let mut types: Vec<u32> = Vec::new();
    types.extend([offset("int"), kind(1, 0), 4, 1 << 24 | 32]);
    types.extend([offset("long int"), kind(1, 0), 8, 1 << 24 | 64]);
    types.extend([offset("char"), kind(1, 0), 1, 8]);
    types.extend([offset("pair"), kind(4, 4) | 1 << 31, 24]);
    types.extend([offset("a"), 1, 0]);
    types.extend([offset("b"), 2, 64]);
    types.extend([offset("c"), 3, 3 << 24 | 128]);
    types.extend([offset("d"), 3, 5 << 24 | 131]);
    types.extend([0, kind(2, 0), 4]);
    let u32s = |numbers: &[u32]| -> Vec<u8> {
        let bytes = |n: &u32| {
            if is_big_endian {
                n.to_be_bytes()
            } else {
                n.to_le_bytes()
            }
        };
        numbers.iter().flat_map(bytes).collect()
    };
    let length = u32::try_from(types.len() * 4).unwrap();
    let strings_length = u32::try_from(strings.len()).unwrap();
    let mut file = if is_big_endian {
        vec![0xeb, 0x9f, 1, 0]
    } else {
        vec![0x9f, 0xeb, 1, 0]
    };
    file.extend(u32s(&[24, 0, length, length, strings_length]));
    file.extend(u32s(&types));
    file.extend(strings);
    file
}
