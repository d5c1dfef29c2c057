//! Texts of tools, as people post them.

use fairlab_layout::input::Data;
use fairlab_layout::sizes;
use fairlab_layout::text::Document;

use crate::fixture::read;

fn document(text: &str) -> Document {
    match read("text", text.as_bytes()).unwrap().data {
        Data::Text(document) => document,
        other => panic!("{other:?}"),
    }
}

#[test]
fn labels_in_front_of_sizes_name_the_builds() {
    let contents = read(
        "text",
        b"$ size a.o\n        text  data  bss  dec  hex  filename\nbefore: 10 20 30 60 3c a.o\n\
          after: 8 20 30 58 3a a.o\n",
    )
    .unwrap();
    let rows = sizes::rows(&contents, None);
    assert_eq!(rows[0].label.as_deref(), Some("before"));
    let pairs = sizes::pairs_within(&rows);
    assert_eq!(pairs[0].name, "a.o (before -> after)");
}

#[test]
fn several_lists_in_a_text_are_told_apart_by_their_headings() {
    let Document::Maps(lists) = document(
        "The maps:\n\n- On \"tip\"\n\n0000000000020538 D a\n----- 64B Cacheline Boundary\n\
         0000000000020540 D b\n\n- With the patch\n\n0000000000020530 D a   <----\n\
         ---- 64B Cacheline Boundary\n0000000000020538 D b\n",
    ) else {
        panic!("no lists");
    };
    assert_eq!(lists.len(), 2);
    assert_eq!(lists[0].title.as_deref(), Some("On \"tip\""));
    assert!(lists[0].notes.is_empty());
    // The second mark is in the middle of a line.
    assert_eq!(lists[1].notes.len(), 1);
}

#[test]
fn names_and_addresses_alone_are_a_list() {
    let Document::Maps(lists) = document("sd_numa 20528\nsd_llc 20540\n") else {
        panic!("no list");
    };
    assert_eq!(lists[0].symbols[1].address, Some(0x20540));
}

#[test]
fn a_difference_of_maps_is_two_lists() {
    let Document::MapDiff { old, new } = document(
        "--- a\n+++ b\n@@ -1,3 +1,3 @@\n 0000000000000010 T x\n-0000000000000020 T y\n\
         +0000000000000030 T y\n",
    ) else {
        panic!("no difference");
    };
    assert_eq!(old.symbols.len(), 2);
    assert_eq!(new.symbols[1].address, Some(0x30));
    assert_eq!(new.title.as_deref(), Some("b"));
}

#[test]
fn growth_that_does_not_add_up_is_told() {
    let text = |delta: &str| {
        format!(
            "add/remove: 0/0 grow/shrink: 0/1 up/down: 0/-32 (-32)\n\
             Function old new delta\nfinish_task_switch 884 852 {delta}\n"
        )
    };
    let notes = |text: &str| match document(text) {
        Document::Growth(blocks) => blocks[0].notes.clone(),
        other => panic!("{other:?}"),
    };
    assert!(notes(&text("-32")).is_empty());
    assert_eq!(
        notes(&text("-30"))[0],
        "finish_task_switch: the difference is -32, not -30"
    );
}

#[test]
fn marks_and_holes_of_a_structure_are_checked() {
    let Document::Structs(structs) = document(
        "struct x {\n\tint a; /*     0     4 */\n\n\t/* XXX 8 bytes hole, try to pack */\n\n\
         \tlong b; /*     8     8 */\n\t/* --- cacheline 1 boundary (64 bytes) --- */\n\
         \t/* --- cacheline 2 boundary (120 bytes) --- */\n\tlong c; /*   128     8 */\n};\n",
    ) else {
        panic!("no structures");
    };
    assert_eq!(structs[0].members.len(), 3);
    assert_eq!(structs[0].notes.len(), 2);
}
