//! Broken, cut off and lying inputs: an error that helps, never a panic.

use std::io::Cursor;

use fairlab_layout::input::Input;
use fairlab_layout::structs;
use object::{Architecture, Endianness};

use crate::fixture::{btf, object, read};

#[test]
fn a_file_cut_off_anywhere_is_an_error_or_a_part() {
    let whole = object(Architecture::X86_64, Endianness::Little);
    for end in 0..whole.len() {
        let _ = read("t.o", &whole[..end]);
    }
    let error = read("t.o", &whole[..whole.len() / 2]).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
}

#[test]
fn every_changed_byte_is_an_error_or_an_answer() {
    let whole = object(Architecture::PowerPc, Endianness::Big);
    for i in 0..whole.len() {
        for value in [0, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[i] = value;
            let _ = read("t.o", &bytes);
        }
    }
}

#[test]
fn lying_types_end() {
    let whole = btf(false);
    for i in 0..whole.len() {
        for value in [0, 1, 3, 4, 5, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[i] = value;
            let Ok(input) = Input::open("btf", Cursor::new(&bytes)) else {
                continue;
            };
            let Ok(types) = input.types(&[], None) else {
                continue;
            };
            for (id, _, _) in types.composites() {
                let _ = structs::print(&types, id);
            }
        }
    }
}

#[test]
fn a_type_that_contains_itself_ends() {
    // The only member that is a number becomes one of the structure's own type.
    let mut bytes = btf(false);
    let at = 24 + 16 * 3 + 12 + 4;
    assert_eq!(bytes[at], 1);
    bytes[at] = 4;
    let input = Input::open("btf", Cursor::new(&bytes)).unwrap();
    let types = input.types(&[], None).unwrap();
    let id = types.find("pair").unwrap();
    assert!(structs::print(&types, id).contains("struct pair"));
}

#[test]
fn an_array_larger_than_memory_is_only_a_number() {
    // The member that is an `int` becomes an array of arrays of 4 GiB each. A fuzzer found it.
    let mut bytes = btf(false);
    let types = 24;
    let array = |element: u32| [0, 3 << 24, 0, element, 1, u32::MAX];
    let mut tail: Vec<u8> = Vec::new();
    for numbers in [array(2), array(6), array(7)] {
        tail.extend(numbers.iter().flat_map(|n: &u32| n.to_le_bytes()));
    }
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap());
    let end = types + length as usize;
    bytes.splice(end..end, tail.iter().copied());
    let longer = (length + u32::try_from(tail.len()).unwrap()).to_le_bytes();
    bytes[12..16].copy_from_slice(&longer);
    bytes[16..20].copy_from_slice(&longer);
    let member = types + 16 * 3 + 12 + 4;
    bytes[member] = 8;
    let input = Input::open("btf", Cursor::new(&bytes)).unwrap();
    let types = input.types(&[], None).unwrap();
    let id = types.find("pair").unwrap();
    assert!(structs::print(&types, id).contains("[4294967295][4294967295][4294967295]"));
}

#[test]
fn what_is_none_of_the_kinds_is_named() {
    let message = |bytes: &[u8]| read("x", bytes).unwrap_err().to_string();
    assert!(message(b"").contains("it is empty"));
    assert!(message(&[0; 64]).contains("binary, starting with 00 00 00 00"));
    assert!(message(b"BC\xc0\xde....").contains("LLVM bitcode"));
    assert!(message(b"hello there\n").contains("starting with `hello there`"));
    assert!(message(b"MZ\x90\0").contains("PE form"));
    assert!(message(b"\x1f\x8b\x08\0broken").contains("cannot read"));
}

#[test]
fn numbers_with_separators_name_their_line() {
    let error = read(
        "x",
        b"text data bss dec hex filename\n1,5 2 3 6 6 a.o\n1 2 x 3 4 5\n",
    )
    .unwrap_err();
    assert!(error.to_string().starts_with("x:2: "), "{error}");
}

#[test]
fn bytes_that_are_not_utf8_are_told_and_the_rest_is_read() {
    let contents = read("x", b"\xff\xfa\n0000000000000010 T caf\xe9\n").unwrap();
    assert_eq!(contents.symbol_lists()[0].symbols.len(), 1);
    assert!(contents.notes[0].contains("line 1 is not UTF-8"));
}

#[test]
fn utf16_is_read() {
    let mut bytes = vec![0xff, 0xfe];
    for unit in "0000000000000010 T f\n".encode_utf16() {
        bytes.extend(unit.to_le_bytes());
    }
    let contents = read("x", &bytes).unwrap();
    assert_eq!(contents.symbol_lists()[0].symbols[0].name, "f");
}

#[test]
fn a_few_bytes_cannot_unpack_to_gigabytes() {
    let zeros = vec![0; 64 << 20];
    let packed = zstd::bulk::compress(&zeros, 1).unwrap();
    assert!(packed.len() < 16 << 10);
    let error = read("bomb.ko.zst", &packed).unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.to_string().contains("is refused"), "{source}");
}
