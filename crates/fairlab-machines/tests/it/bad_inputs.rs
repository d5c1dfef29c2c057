//! Inputs that are damaged or hostile: one clear error each, quickly.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use crate::fixture::{Archive, CPU, Folder, Tree, bzip2, gzip, xz};
use crate::support::error;

/// The error of `reference`, which must contain `wanted`. A second is what a user should wait at
/// most; the rest is for a busy test machine without optimisation.
fn check(what: &str, reference: &str, wanted: &str) {
    let start = Instant::now();
    let text = error(reference);
    let time = start.elapsed();
    eprintln!("{what}: {time:.1?}: {text}");
    assert!(text.contains(wanted), "{what}: {text}");
    assert!(
        text.lines().count() == 1 && text.len() < 700,
        "{what}: {text}"
    );
    assert!(time < Duration::from_secs(4), "{what} took {time:?}");
}

#[test]
fn truncated_archives() {
    let tar = Tree::machine(64, 2, 16, 32).tar("m");
    let folder = Folder::new();
    for (name, bytes) in [
        ("tar", tar.clone()),
        ("gz", gzip(&tar)),
        ("bz2", bzip2(&tar)),
        ("xz", xz(&tar)),
    ] {
        for part in [3, 10] {
            let cut = &bytes[..bytes.len() * part / 11];
            let reference = folder.file(&format!("{name}-{part}"), cut);
            check(name, &reference, "cut off");
        }
    }
    // At the border of two entries nothing but the missing end mark tells.
    let end = tar.len() - 1024;
    check(
        "border",
        &folder.file("border", &tar[..end - 1024]),
        "cut off",
    );
}

#[test]
fn garbage_of_100_megabytes() {
    let folder = Folder::new();
    let mut state = 1_u64;
    let garbage: Vec<u8> = (0..100_000_000 / 8)
        .flat_map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state.to_le_bytes()
        })
        .collect();
    check(
        "garbage",
        &folder.file("garbage", &garbage),
        "starts with the bytes",
    );
    for (name, magic) in [
        ("gz", &[0x1f, 0x8b, 8, 0][..]),
        ("bz2", b"BZh91AY&SY"),
        ("xz", &[0xfd, b'7', b'z', b'X', b'Z', 0]),
    ] {
        let bytes = [magic, &garbage].concat();
        check(name, &folder.file(name, bytes), "damaged or cut off");
    }
    let xml = [b"<?xml version='1.0'?>".as_slice(), &garbage].concat();
    check(
        "xml",
        &folder.file("xml", xml),
        "above 67108864 it is refused",
    );
    let json = [b"{".as_slice(), &garbage[..50_000_000]].concat();
    check("json", &folder.file("json", json), "json:1:");
}

#[test]
fn a_sparse_file_of_2_gigabytes() {
    let folder = Folder::new();
    for (name, head, wanted) in [
        ("zeros", &b""[..], "it starts with zeros"),
        (
            "gz",
            &[0x1f, 0x8b, 8, 0],
            "archives above 134217728 are refused",
        ),
        (
            "xml",
            b"<?xml version=\"1.0\"?>",
            "above 67108864 it is refused",
        ),
    ] {
        let mut file = File::create(folder.path(name)).unwrap();
        file.write_all(head).unwrap();
        file.seek(SeekFrom::Start((2 << 30) - 1)).unwrap();
        file.write_all(&[0]).unwrap();
        drop(file);
        check(name, &folder.reference(name), wanted);
    }
}

#[test]
fn archives_that_unpack_to_too_much() {
    let folder = Folder::new();
    // One huge entry is refused by its header.
    let mut archive = Archive::new();
    archive.header("m/big", b'0', 7 << 30, "");
    let mut bytes = archive.finish();
    bytes.resize(1 << 20, 0);
    check("entry", &folder.file("entry", &bytes), "small files only");
    // Many entries of zeros are refused at the limit.
    let mut archive = Archive::new();
    let zeros = vec![0; 30 << 20];
    for i in 0..5 {
        archive.file(&format!("m/{i}"), &zeros);
    }
    let bytes = archive.finish();
    check(
        "gz bomb",
        &folder.file("bomb.gz", gzip(&bytes)),
        "more than 128 MiB",
    );
    check(
        "bz2 bomb",
        &folder.file("bomb.bz2", bzip2(&bytes)),
        "more than 128 MiB",
    );
    check(
        "xz bomb",
        &folder.file("bomb.xz", xz(&bytes)),
        "more than 128 MiB",
    );
    let kept = format!("m/{CPU}/cpu0/topology/core_id");
    let mut archive = Archive::new();
    archive.file(&kept, &zeros);
    check(
        "kept",
        &folder.file("kept", archive.finish()),
        "at most 1048576 are accepted",
    );
}

#[test]
fn archives_with_too_many_entries() {
    let mut archive = Archive::new();
    for _ in 0..200_001 {
        archive.header("m/a", b'5', 0, "");
    }
    let folder = Folder::new();
    check(
        "entries",
        &folder.file("many.gz", gzip(&archive.finish())),
        "more than 200000 entries",
    );
}

#[test]
fn archives_that_reach_outside() {
    let folder = Folder::new();
    let online = format!("{CPU}/online");
    type Case<'a> = (&'a str, &'a dyn Fn(&mut Archive), &'a str);
    let cases: [Case<'_>; 6] = [
        (
            "dots",
            &|a| _ = a.file(&format!("../m/{online}"), b"0"),
            "leaves the archive with `..`",
        ),
        (
            "inner dots",
            &|a| _ = a.file("m/../../x", b"0"),
            "leaves the archive",
        ),
        (
            "absolute",
            &|a| _ = a.file(&format!("/{online}"), b"0"),
            "absolute path",
        ),
        (
            "link out",
            &|a| {
                _ = a.link(
                    &format!("m/{CPU}/cpu0/topology"),
                    "../../../../../../../etc",
                )
            },
            "leads out of the archive",
        ),
        (
            "link loop",
            &|a| {
                a.link(&format!("m/{CPU}/cpu0/topology"), "../cpu1/topology");
                a.link(&format!("m/{CPU}/cpu1/topology"), "../cpu0/topology");
            },
            "runs in a circle",
        ),
        (
            "link to itself",
            &|a| _ = a.link(&format!("m/{CPU}/cpu0"), "cpu0/cpu0/cpu0"),
            "runs in a circle",
        ),
    ];
    for (name, make, wanted) in cases {
        let mut archive = Archive::new();
        archive.tree("m/", &Tree::machine(2, 1, 2, 2).without("topology"));
        make(&mut archive);
        check(name, &folder.file(name, archive.finish()), wanted);
    }
}

#[test]
fn machines_without_cpus() {
    let folder = Folder::new();
    let nothing = Tree::default().with("sys/devices/system/cpu/kernel_max", "63");
    check(
        "no cpus",
        &folder.tree("none", &nothing),
        "no CPU is described",
    );
    let offline = Tree::machine(2, 1, 2, 2).with(&format!("{CPU}/online"), "");
    check(
        "offline",
        &folder.tree("offline", &offline),
        "no CPU is online",
    );
    let high = Tree::default().with(&format!("{CPU}/cpu99999/topology/core_id"), "0");
    check(
        "high",
        &folder.tree("high", &high),
        "CPU numbers below 8192",
    );
    let other = Tree::default().with("etc/passwd", "x");
    check(
        "no sysfs",
        &folder.tree("other", &other),
        "holds no sysfs tree",
    );
    let mut archive = Archive::new();
    archive.file("etc/passwd", b"x");
    check(
        "empty tar",
        &folder.file("other.tar", archive.finish()),
        "holds no sysfs tree",
    );
}

#[test]
fn files_that_are_not_there_or_not_files() {
    let folder = Folder::new();
    check(
        "missing",
        &folder.reference("nothing.tar"),
        "no such file or directory",
    );
    check(
        "missing part",
        &folder.reference("nothing.tar#x"),
        "no such file or directory",
    );
    check("empty", &folder.file("empty", ""), "the file is empty");
    check(
        "text",
        &folder.file("text", "hello world"),
        "starts with the text \"hello world\"",
    );
    check("device", "/dev/zero", "neither a file nor a directory");
    check("nothing", "", "no machine is called ``");
    check("long", &"x".repeat(100_000), "no machine is called");
}

#[test]
fn xml_bombs() {
    let folder = Folder::new();
    let entities = "<?xml version=\"1.0\"?>\n<!DOCTYPE topology [\n<!ENTITY a \"aaaaaaaaaa\">\n\
                    <!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">\n]>\n<topology><info name=\"x\" \
                    value=\"&b;\"/></topology>";
    check(
        "entities",
        &folder.file("entities.xml", entities),
        "entity declarations are refused",
    );
    let unknown = "<topology><info name=\"x\" value=\"&b;\"/></topology>";
    check(
        "unknown entity",
        &folder.file("unknown.xml", unknown),
        "broken attribute value",
    );
    let deep = format!("<topology>{}", "<object type=\"Group\">".repeat(1_000_000));
    check("deep", &folder.file("deep.xml", deep), "more than 200 deep");
    let wide = format!("<topology>{}", "<object type=\"Misc\"/>".repeat(1_000_000));
    check(
        "wide",
        &folder.file("wide.xml", wide),
        "more than 200000 objects",
    );
    let pus = format!(
        "<topology>{}",
        "<object type=\"PU\" os_index=\"0\"/>".repeat(10_000)
    );
    check("pus", &folder.file("pus.xml", pus), "more than 8192 PUs");
}

#[test]
fn xml_that_is_no_export() {
    let folder = Folder::new();
    for (name, text, wanted) in [
        (
            "html",
            "<?xml version=\"1.0\"?>\n<html/>",
            ":2:1: the root element is <html>",
        ),
        ("cut", "<topology>\n<object type=\"Machine\">", "cut off"),
        (
            "no pu",
            "<topology><object type=\"Machine\"/></topology>",
            "no PU object",
        ),
        (
            "high",
            "<topology><object type=\"PU\" os_index=\"8192\"/></topology>",
            "numbers below 8192",
        ),
        (
            "no number",
            "<topology><object type=\"PU\"/></topology>",
            "without an os_index",
        ),
        ("crossed", "<topology>\n<a></b></topology>", ":2:"),
    ] {
        check(name, &folder.file(&format!("{name}.xml"), text), wanted);
    }
}

#[test]
fn json_that_is_no_machine() {
    let folder = Folder::new();
    let start = "{\"format\":\"fairlab-machine/1\",\"name\":\"m\",\"arch\":\"x86\"";
    for (name, text, wanted) in [
        ("other", "{\"format\":1}".to_owned(), "invalid type"),
        (
            "version",
            format!("{},\"cpus\":[]}}", start.replace("/1", "/2")),
            "reads `fairlab-machine/1`",
        ),
        ("none", format!("{start},\"cpus\":[]}}"), "no online CPU"),
        (
            "unknown key",
            format!("{start},\n\"cpus\":[{{\"id\":0,\"core\":0,\"colour\":1}}]}}"),
            ":2:33: unknown field `colour`",
        ),
        ("cut", format!("{start},\"cpus\":["), "EOF"),
        (
            "twice",
            format!("{start},\"cpus\":[{{\"id\":0,\"core\":0}},{{\"id\":0,\"core\":0}}]}}"),
            "described twice",
        ),
        (
            "node",
            format!("{start},\"cpus\":[{{\"id\":0,\"core\":0,\"node\":3}}]}}"),
            "node 3, which is not described",
        ),
        (
            "deep",
            format!("{{\"format\":{}", "[".repeat(100_000)),
            "invalid type",
        ),
    ] {
        check(name, &folder.file(&format!("{name}.json"), text), wanted);
    }
}
