//! The published results of three patches, from their own numbers.

use std::collections::BTreeSet;

use expect_test::expect;
use fairlab_layout::lines::{self, Variable};
use fairlab_layout::symbol::SymbolList;
use fairlab_layout::{moves, placement, sizes};

use crate::fixture::read;

const X86: &str = "\
text\tdata\tbss\tdec\thex\tfilename
0x1264a\t0x1506\t0xb0\t80896\t13c00\tkernel/sched/fair.o.before
0x12672\t0x14fe\t0xb0\t80928\t13c20\tkernel/sched/fair.o.after
";

const POWER9: &str = "\
  text   data    bss    dec    hex filename
111311  14943    440 126694  1eee6 kernel/sched/fair.o
";

const POWER9_AFTER: &str = "\
  text   data    bss    dec    hex filename
111679  14903    440 127022  1f02e kernel/sched/fair.o
";

/// Reverse order of definition, as the two System.map files have them.
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

fn list(text: &str) -> SymbolList {
    let contents = read("map", text.as_bytes()).unwrap();
    let lists = contents.symbol_lists();
    assert_eq!(lists.len(), 1);
    lists[0].clone()
}

fn variables(text: &str) -> Vec<Variable> {
    lines::variables(&[&list(text)], false)
}

#[test]
fn hexadecimal_sizes_are_printed_as_they_came() {
    let rows = sizes::rows(&read("x86", X86.as_bytes()).unwrap(), None);
    assert!(rows.iter().all(|row| row.notes.is_empty()));
    // The first line starts with blanks that count, so it is compared with a mark in front.
    expect![[r#"
        |   text	   data	    bss	    dec	    hex	filename
        0x1264a	 0x1506	   0xb0	  80896	  13c00	kernel/sched/fair.o.before
        0x12672	 0x14fe	   0xb0	  80928	  13c20	kernel/sched/fair.o.after
    "#]]
    .assert_eq(&format!("|{}", sizes::table(&rows).text.unwrap()));
    let difference = sizes::difference(&sizes::pair(&rows[..1], &rows[1..]));
    expect![[r#"
        |   text	   data	    bss	    dec	    hex	  dec %	filename
          +0x28	   -0x8	      0	    +32	    +20	 +0.04%	kernel/sched/fair.o.before -> kernel/sched/fair.o.after
    "#]]
    .assert_eq(&format!("|{}", difference.text.unwrap()));
}

#[test]
fn decimal_sizes_of_two_files_are_compared() {
    let old = sizes::rows(&read("a", POWER9.as_bytes()).unwrap(), None);
    let new = sizes::rows(&read("b", POWER9_AFTER.as_bytes()).unwrap(), None);
    assert!(old.iter().chain(&new).all(|row| row.notes.is_empty()));
    let difference = sizes::difference(&sizes::pair(&old, &new));
    expect![[r#"
        |   text	   data	    bss	    dec	    hex	  dec %	filename
           +368	    -40	      0	   +328	   +148	 +0.26%	kernel/sched/fair.o
    "#]]
    .assert_eq(&format!("|{}", difference.text.unwrap()));
}

#[test]
fn a_sum_that_does_not_follow_is_told() {
    let text = POWER9.replace("126694", "126695");
    let rows = sizes::rows(&read("a", text.as_bytes()).unwrap(), None);
    assert_eq!(
        rows[0].notes,
        ["dec is 126695, but text + data + bss is 126694"]
    );
}

#[test]
fn the_difference_of_the_maps_has_the_form_of_diff() {
    expect![[r#"
        --- without
        +++ with
        @@ -1,6 +1,8 @@
         0000000000020520 D sd_asym_packing
         0000000000020528 D sd_numa
        -0000000000020530 D sd_llc_shared
        -0000000000020538 D sd_llc_id
        -000000000002053c D sd_llc_size
        -0000000000020540 D sd_llc
        +0000000000020530 D sd_cluster
        +0000000000020538 D sd_llc_shared
        +0000000000020540 D sd_share_id
        +0000000000020544 D sd_llc_id
        +0000000000020548 D sd_llc_size
        +0000000000020550 D sd_llc
    "#]]
    .assert_eq(&moves::unified(
        &list(WITHOUT),
        &list(WITH),
        ["without", "with"],
    ));
}

#[test]
fn the_insertion_names_what_moved_by_how_much() {
    let insertion = placement::insertion(&variables(WITHOUT), &variables(WITH)).unwrap();
    assert_eq!(insertion.last, "sd_llc");
    assert_eq!(insertion.shift, 16);
    // 8 bytes of a pointer, 4 of a number, and 4 that align the pointer behind them.
    assert_eq!(insertion.padding, 4);
    let moved: Vec<(&str, i128)> = insertion
        .moved
        .iter()
        .map(|(name, shift)| (name.as_str(), *shift))
        .collect();
    assert_eq!(
        moved,
        [
            ("sd_llc_shared", 8),
            ("sd_llc_id", 12),
            ("sd_llc_size", 12),
            ("sd_llc", 16)
        ]
    );
}

#[test]
fn declaring_at_the_top_gives_the_published_addresses() {
    let (old, new) = (variables(WITHOUT), variables(WITH));
    let insertion = placement::insertion(&old, &new).unwrap();
    let proposal = placement::at_the_top(&insertion, &old, &new).unwrap();
    let places: Vec<String> = proposal
        .variables
        .iter()
        .map(|v| format!("{:x} {}", v.address, v.name))
        .collect();
    assert_eq!(
        places,
        [
            "20520 sd_asym_packing",
            "20528 sd_numa",
            "20530 sd_llc_shared",
            "20538 sd_llc_id",
            "2053c sd_llc_size",
            "20540 sd_llc",
            "20548 sd_share_id",
            "20550 sd_cluster",
        ]
    );
    assert_eq!(
        proposal.definitions[..3],
        ["sd_cluster", "sd_share_id", "sd_llc"]
    );
}

#[test]
fn sd_llc_has_its_line_before_and_after() {
    let (old, new) = (variables(WITHOUT), variables(WITH));
    for (bytes, line, offsets) in [(64, 0x20540, (0, 16)), (128, 0x20500, (64, 80))] {
        let changes = lines::compare(&old, &new, bytes);
        let llc = changes.iter().find(|c| c.name == "sd_llc").unwrap();
        let (before, after) = (llc.old.unwrap(), llc.new.unwrap());
        assert_eq!((before.line, after.line), (line, line));
        assert_eq!((before.offset, after.offset), offsets);
        assert_eq!(llc.shift, Some(16));
    }
    let changes = lines::compare(&old, &new, 64);
    let llc = changes.iter().find(|c| c.name == "sd_llc").unwrap();
    assert_eq!(llc.gained, ["sd_llc_id", "sd_llc_size", "sd_share_id"]);
    assert!(llc.lost.is_empty());
}

#[test]
fn a_hot_set_that_straddles_more_lines_is_told() {
    let (old, new) = (variables(WITHOUT), variables(WITH));
    let hot = ["sd_llc_shared", "sd_llc_id", "sd_llc_size"].map(str::to_owned);
    let change = lines::set_change(&hot, &old, &new, 64);
    assert_eq!(change.old_lines, [0x20500]);
    assert_eq!(change.new_lines, [0x20500, 0x20540]);
    assert!(change.straddles_more());
    assert!(!lines::set_change(&hot, &old, &new, 128).straddles_more());
    let changes = lines::compare(&old, &new, 64);
    let added = BTreeSet::from(["sd_cluster", "sd_share_id"]);
    let victims = lines::victims(&changes, &hot, &added);
    assert_eq!(victims[0].name, "sd_llc_shared");
    assert_eq!(
        victims[0].reasons,
        [
            "no longer comes with sd_llc_id and sd_llc_size",
            "shares its line with sd_cluster, new"
        ]
    );
}
