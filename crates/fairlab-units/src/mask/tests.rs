use super::*;
use alloc::string::ToString;
use alloc::vec::Vec;

fn list(text: &str) -> CpuMask {
    CpuMask::parse_list(text, 8192).unwrap()
}

fn numbers(cpus: impl Iterator<Item = CpuId>) -> Vec<u32> {
    cpus.map(|c| c.0).collect()
}

#[test]
fn lists_print_as_they_are_read() {
    for text in ["", "0", "0-3,8", "63-64,127-129", "5,7,9"] {
        assert_eq!(list(text).to_string(), text);
    }
    assert_eq!(list(" 0-1\n").to_string(), "0-1");
    assert_eq!(list("0-15:2/4").to_string(), "0-1,4-5,8-9,12-13");
}

#[test]
fn bad_lists_are_refused() {
    for text in ["x", "3-1", "1-", "-1", "1,,2", "0-7:3/2", "0-7:1/0"] {
        assert_eq!(
            CpuMask::parse_list(text, 64),
            Err(ParseMaskError::NotAList),
            "{text}"
        );
    }
    let beyond = ParseMaskError::Beyond {
        cpu: 4_000_000_000,
        limit: 64,
    };
    assert_eq!(CpuMask::parse_list("0-4000000000", 64), Err(beyond));
}

#[test]
fn hex_masks_have_words_of_32_bits() {
    assert_eq!(
        CpuMask::parse_hex("00000003,80000001", 8192).unwrap(),
        list("0,31-33")
    );
    assert_eq!(CpuMask::parse_hex("0xffff", 8192).unwrap(), list("0-15"));
    assert_eq!(
        CpuMask::parse_hex("0x10000000000000001", 8192).unwrap(),
        list("0,64")
    );
    assert_eq!(list("0,64").to_hex(), "0x10000000000000001");
    assert_eq!(list("").to_hex(), "0x0");
    assert_eq!(CpuMask::parse_hex("zz", 64), Err(ParseMaskError::NotAMask));
    assert_eq!(CpuMask::parse_hex("", 64), Err(ParseMaskError::NotAMask));
}

#[test]
fn wrap_walks_start_anywhere() {
    let mask = list("1,3,64,70");
    assert_eq!(numbers(mask.iter_wrap(CpuId(3))), [3, 64, 70, 1]);
    assert_eq!(numbers(mask.iter_wrap(CpuId(2))), [3, 64, 70, 1]);
    assert_eq!(numbers(mask.iter_wrap(CpuId(71))), [1, 3, 64, 70]);
    assert_eq!(numbers(mask.iter_wrap(CpuId(500))), [1, 3, 64, 70]);
    assert_eq!(numbers(mask.iter_wrap(CpuId(0))), [1, 3, 64, 70]);
    assert_eq!(numbers(list("").iter_wrap(CpuId(5))), [0u32; 0]);
}

#[test]
fn masks_of_different_lengths_compare_by_members() {
    let short = CpuMask::from_cpus(4, [CpuId(1)]);
    let long = CpuMask::from_cpus(256, [CpuId(1)]);
    assert_eq!(short, long);
    assert!(long.is_subset(&short));
    assert!(!list("1,200").is_subset(&short));
    assert_eq!(list("1,200").and(&short), short);
    assert_eq!(list("1,200").last(), Some(CpuId(200)));
    let mut copy = CpuMask::new(256);
    copy.copy_from(&short);
    assert_eq!(copy, short);
    copy.assign_and(&list("0-3"), &list("2-200"));
    assert_eq!(copy.to_string(), "2-3");
    let mut grown = short.clone();
    grown.or_with(&list("200"));
    assert_eq!(grown.to_string(), "1,200");
    grown.and_not_with(&list("1"));
    assert_eq!(grown.weight(), 1);
}
