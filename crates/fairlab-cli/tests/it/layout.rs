//! `fairlab layout` on files that are written out here, and on samples where they are present.

use std::path::PathBuf;

use expect_test::expect;

use crate::run::{answer, fairlab, json};

/// A file in the folder for such things, whose name is that of the test.
fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("layout-{name}"));
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const WITHOUT: &str = "\
0000000000020520 D sd_asym_packing
0000000000020528 D sd_numa
0000000000020530 D sd_llc_shared
0000000000020538 D sd_llc_id
000000000002053c D sd_llc_size
0000000000020540 D sd_llc
";

const WITH: &str = "\
0000000000020520 D sd_asym_packing
0000000000020528 D sd_numa
0000000000020530 D sd_cluster
0000000000020538 D sd_llc_shared
0000000000020540 D sd_share_id
0000000000020544 D sd_llc_id
0000000000020548 D sd_llc_size
0000000000020550 D sd_llc
";

#[test]
fn two_maps_are_explained() {
    let (a, b) = (file("map-a", WITHOUT), file("map-b", WITH));
    let text = answer(&["layout", &a, &b, "--lines"]);
    // Names of folders differ between machines, and are not in this view.
    expect![[r#"
        lines of 64 bytes: each variable before and after
        variable         shift  before    after     line-mates
        sd_asym_packing     +0  20500+32  20500+32  +sd_cluster -sd_llc_id -sd_llc_size
        sd_numa             +0  20500+40  20500+40  +sd_cluster -sd_llc_id -sd_llc_size
        sd_cluster           -  -         20500+48  +sd_asym_packing +sd_llc_shared +sd_numa
        sd_llc_shared       +8  20500+48  20500+56  +sd_cluster -sd_llc_id -sd_llc_size
        sd_share_id          -  -         20540+0   +sd_llc +sd_llc_id +sd_llc_size
        sd_llc_id          +12  20500+56  20540+4   +sd_llc +sd_share_id -sd_asym_packing -sd_llc_shared -sd_numa
        sd_llc_size        +12  20500+60  20540+8   +sd_llc +sd_share_id -sd_asym_packing -sd_llc_shared -sd_numa
        sd_llc             +16  20540+0   20540+16  +sd_llc_id +sd_llc_size +sd_share_id

        sd_asym_packing, sd_numa, sd_llc_shared, sd_llc_id and sd_llc_size: 1 line of 64 bytes before (20500), 2 after (20500, 20540): straddles more lines now
        likely victim: sd_llc_id, which no longer comes with sd_asym_packing, sd_llc_shared and sd_numa; shares its line with sd_share_id, new; shares its line with sd_llc now
        likely victim: sd_llc_size, which no longer comes with sd_asym_packing, sd_llc_shared and sd_numa; shares its line with sd_share_id, new; shares its line with sd_llc now
        likely victim: sd_asym_packing, which no longer comes with sd_llc_id and sd_llc_size; shares its line with sd_cluster, new
        likely victim: sd_numa, which no longer comes with sd_llc_id and sd_llc_size; shares its line with sd_cluster, new
        likely victim: sd_llc_shared, which no longer comes with sd_llc_id and sd_llc_size; shares its line with sd_cluster, new

        lines of 128 bytes: each variable before and after
        variable         shift  before    after     line-mates
        sd_asym_packing     +0  20500+32  20500+32  +sd_cluster +sd_share_id
        sd_numa             +0  20500+40  20500+40  +sd_cluster +sd_share_id
        sd_cluster           -  -         20500+48  +sd_asym_packing +sd_llc +sd_llc_id +sd_llc_shared +sd_llc_size +sd_numa +sd_share_id
        sd_llc_shared       +8  20500+48  20500+56  +sd_cluster +sd_share_id
        sd_share_id          -  -         20500+64  +sd_asym_packing +sd_cluster +sd_llc +sd_llc_id +sd_llc_shared +sd_llc_size +sd_numa
        sd_llc_id          +12  20500+56  20500+68  +sd_cluster +sd_share_id
        sd_llc_size        +12  20500+60  20500+72  +sd_cluster +sd_share_id
        sd_llc             +16  20500+64  20500+80  +sd_cluster +sd_share_id

        likely victim: sd_asym_packing, which shares its line with sd_cluster and sd_share_id, new
        likely victim: sd_numa, which shares its line with sd_cluster and sd_share_id, new
        likely victim: sd_llc_shared, which shares its line with sd_cluster and sd_share_id, new
        likely victim: sd_llc_id, which shares its line with sd_cluster and sd_share_id, new
        likely victim: sd_llc_size, which shares its line with sd_cluster and sd_share_id, new

        why
        sd_cluster (8 bytes) and sd_share_id (4 bytes) came in between, and alignment takes 4 more: sd_llc and what follows moved by +16 bytes
        its neighbours below moved too: sd_llc_shared by +8, sd_llc_id by +12 and sd_llc_size by +12
        sd_llc, 64 byte lines: line 20540 at offset 0 before, line 20540 at offset 16 after
        sd_llc, 128 byte lines: line 20500 at offset 64 before, line 20500 at offset 80 after

        declare at the top
        variables are allocated in the reverse order of their definitions; with the new ones at the top of the file, the others are where they were. Definitions, from the top:

            sd_cluster
            sd_share_id
            sd_llc
            sd_llc_size
            sd_llc_id
            sd_llc_shared
            sd_numa
            sd_asym_packing

        address  variable         64 byte line  128 byte line
        20520    sd_asym_packing      20500+32       20500+32
        20528    sd_numa              20500+40       20500+40
        20530    sd_llc_shared        20500+48       20500+48
        20538    sd_llc_id            20500+56       20500+56
        2053c    sd_llc_size          20500+60       20500+60
        20540    sd_llc                20540+0       20500+64
        20548    sd_share_id           20540+8       20500+72
        20550    sd_cluster           20540+16       20500+80
    "#]].assert_eq(&text);
}

#[test]
fn the_views_are_there_as_json_too() {
    let (a, b) = (file("json-a", WITHOUT), file("json-b", WITH));
    let value = json(&["layout", &a, &b, "--hot", "sd_llc_shared,sd_llc_id"]);
    let lines = &value["cache_lines"][0];
    assert_eq!(lines["line"], 64);
    assert_eq!(lines["sets"][0]["new_lines"].as_array().unwrap().len(), 2);
    let why = &value["explanation"][0];
    assert_eq!(why["insertion"]["last"], "sd_llc");
    assert_eq!(why["insertion"]["shift"], 16);
    assert_eq!(why["at_the_top"]["definitions"][0], "sd_cluster");
}

#[test]
fn size_tables_can_be_markdown_and_csv() {
    let table = "text data bss dec hex filename\n111311 14943 440 126694 1eee6 fair.o\n";
    let path = file("size", table);
    let markdown = answer(&["layout", &path, "--format", "markdown"]);
    assert!(markdown.contains("| 111311 | 14943 | 440 | 126694 | 1eee6 | fair.o |"));
    let csv = answer(&["layout", &path, "--format", "csv"]);
    assert_eq!(
        csv,
        "text,data,bss,dec,hex,filename\n111311,14943,440,126694,1eee6,fair.o\n"
    );
}

#[test]
fn the_binary_itself_has_sizes_and_symbols() {
    let own = env!("CARGO_BIN_EXE_fairlab");
    let value = json(&["layout", own, "--size"]);
    assert!(value["sizes"][0]["text"].as_u64().unwrap() > 100_000);
    let nm = answer(&["layout", own, "--nm", "--symbol", "main"]);
    assert!(nm.trim_end().ends_with(" T main"), "{nm}");
}

#[test]
fn what_cannot_be_read_is_an_error_of_usage() {
    let path = file("nothing", "hello\n");
    let run = fairlab(&["layout", &path]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("accepted are ELF files"),
        "{}",
        run.stderr
    );
    let run = fairlab(&["layout", "/nonexistent"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("cannot open /nonexistent"),
        "{}",
        run.stderr
    );
    let map = file("no-structs", WITHOUT);
    let run = fairlab(&["layout", &map, "--struct", "rq"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("types are read from"), "{}", run.stderr);
}

#[test]
fn posted_samples_are_recognised() {
    let data = std::env::var("FAIRLAB_DATA").map_or_else(
        |_| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let folder = data.join("data/outputs");
    if !folder.is_dir() {
        eprintln!("skipped: no samples at {}", folder.display());
        return;
    }
    for (name, kind) in [
        ("size-sched-core.txt", "size table of 2 rows"),
        ("system-map-percpu-layout.txt", "25 symbols in 3 lists"),
        (
            "bloat-o-meter-context-switch.txt",
            "bloat-o-meter output with 4 comparisons",
        ),
        ("pahole-task-struct-hole.txt", "pahole output with 4 parts"),
    ] {
        let path = folder.join(name);
        let value = json(&["layout", path.to_str().unwrap()]);
        assert_eq!(value["a"]["kind"], kind, "{name}");
        // None of them contradicts itself.
        assert!(value.get("notes").is_none(), "{name}: {}", value["notes"]);
    }
}
