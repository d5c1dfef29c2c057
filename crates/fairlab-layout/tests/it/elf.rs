//! ELF objects of several processors, byte orders and classes.

use expect_test::expect;
use fairlab_layout::growth::{self, Category};
use fairlab_layout::input::Data;
use fairlab_layout::{lines, moves, sizes};
use object::{Architecture, Endianness};

use crate::fixture::{object, read};

const ALL: [(Architecture, Endianness); 7] = [
    (Architecture::X86_64, Endianness::Little),
    (Architecture::I386, Endianness::Little),
    (Architecture::Aarch64, Endianness::Little),
    (Architecture::PowerPc64, Endianness::Little),
    (Architecture::PowerPc, Endianness::Big),
    (Architecture::S390x, Endianness::Big),
    (Architecture::Riscv64, Endianness::Little),
];

#[test]
fn sizes_are_the_same_for_every_class_and_byte_order() {
    for (architecture, endian) in ALL {
        let contents = read("t.o", &object(architecture, endian)).unwrap();
        let rows = sizes::rows(&contents, None);
        // 24 of code and 4 of constants; 16 and 72 of data.
        let got = (rows[0].sizes.text, rows[0].sizes.data, rows[0].sizes.bss);
        assert_eq!(got, (28, 88, 40), "{architecture:?}");
    }
}

#[test]
fn symbols_are_printed_like_nm_prints_them() {
    let contents = read("t.o", &object(Architecture::S390x, Endianness::Big)).unwrap();
    // Compared with `nm -n` of binutils 2.40 on the same bytes.
    expect![[r#"
                         U elsewhere
        0000000000000000 d count.17
        0000000000000000 T first
        0000000000000000 D hot
        0000000000000000 b zeros
        0000000000000008 D table
        0000000000000010 t second.isra.0
        0000000000000040 D cold
    "#]]
    .assert_eq(&moves::map_text(contents.symbol_lists()[0]));
}

#[test]
fn only_percpu_variables_count_for_lines_where_there_are_any() {
    let contents = read("t.o", &object(Architecture::X86_64, Endianness::Little)).unwrap();
    let variables = lines::variables(&contents.symbol_lists(), false);
    let lines = lines::lines(&variables, 64);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].names, ["hot"]);
    assert_eq!(lines[1].names, ["cold"]);
}

#[test]
fn growth_has_the_form_of_bloat_o_meter() {
    let contents = read("t.o", &object(Architecture::X86_64, Endianness::Little)).unwrap();
    let lists = contents.symbol_lists();
    let mut after = lists[0].clone();
    for symbol in &mut after.symbols {
        match symbol.name.as_str() {
            "first" => symbol.size = Some(20),
            "count.17" => symbol.name = "count.3".into(),
            "second.isra.0" => symbol.name = "third".into(),
            _ => {}
        }
    }
    let growth = growth::compare(&lists, &[&after], Category::All);
    expect![[r#"
        add/remove: 1/1 grow/shrink: 1/0 up/down: 12/-8 (4)
        Function                                     old     new   delta
        third                                          -       8      +8
        first                                         16      20      +4
        second.isra                                    8       -      -8
        Total: Before=92, After=96, chg +4.35%
    "#]]
    .assert_eq(&growth::table(&growth).text.unwrap());
}

#[test]
fn archives_are_read_by_member() {
    let member = object(Architecture::X86_64, Endianness::Little);
    let mut archive = b"!<arch>\n".to_vec();
    for name in ["one.o/", "two.o/"] {
        let header = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            644,
            member.len()
        );
        archive.extend(header.as_bytes());
        archive.extend(&member);
        if archive.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    let contents = read("lib.a", &archive).unwrap();
    let Data::Objects(objects) = &contents.data else {
        panic!("no objects");
    };
    assert_eq!(objects.len(), 2);
    let rows = sizes::rows(&contents, None);
    assert_eq!(rows[1].filename, "two.o (ex lib.a)");
    assert_eq!(sizes::totals(&rows).sizes.text, 56);
}

#[test]
fn compressed_modules_are_unpacked() {
    use std::io::Write;
    let plain = object(Architecture::X86_64, Endianness::Little);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let packed = [
        gzip.finish().unwrap(),
        zstd::bulk::compress(&plain, 1).unwrap(),
    ];
    for bytes in packed {
        let contents = read("t.ko", &bytes).unwrap();
        assert_eq!(sizes::rows(&contents, None)[0].sizes.text, 28);
        assert!(contents.compression.is_some());
    }
}
