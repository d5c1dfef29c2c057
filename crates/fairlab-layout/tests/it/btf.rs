//! Structures from BTF, in the form of pahole.

use std::io::Cursor;

use expect_test::expect;
use fairlab_layout::input::Input;
use fairlab_layout::structs::{self, difference};

use crate::fixture::btf;

#[test]
fn a_structure_is_printed_like_pahole_prints_it() {
    for is_big_endian in [false, true] {
        let bytes = btf(is_big_endian);
        let input = Input::open("btf", Cursor::new(&bytes)).unwrap();
        let types = input.types(&[], None).unwrap();
        let id = types.find("struct pair").unwrap();
        // Compared with pahole 1.24 on the little-endian bytes.
        expect![[r#"
            struct pair {
            	int                        a;                    /*     0     4 */

            	/* XXX 4 bytes hole, try to pack */

            	long int                   b;                    /*     8     8 */
            	char                       c:3;                  /*    16: 0  1 */
            	char                       d:5;                  /*    16: 3  1 */

            	/* size: 24, cachelines: 1, members: 4 */
            	/* sum members: 12, holes: 1, sum holes: 4 */
            	/* sum bitfield members: 8 bits (1 bytes) */
            	/* padding: 7 */
            	/* last cacheline: 24 bytes */
            };
        "#]]
        .assert_eq(&structs::print(&types, id));
    }
}

#[test]
fn a_structure_does_not_differ_from_itself() {
    let bytes = btf(false);
    let input = Input::open("btf", Cursor::new(&bytes)).unwrap();
    let types = input.types(&[], None).unwrap();
    let id = types.find("pair").unwrap();
    assert!(!difference::compare((&types, id), (&types, id)).is_change());
}
