//! Whole, cut and damaged files of every format.

use std::io::Write as _;

use fairlab_trace::{EventKind, OpenError, Recording, from_bytes};
use proptest::prelude::*;

use crate::fixture;

/// Reads to the end; gives the number of switches and the recording.
fn read(name: &str, bytes: Vec<u8>) -> Result<(u64, Recording), OpenError> {
    let size = bytes.len();
    let mut recording = from_bytes(name, bytes)?;
    let (mut switches, mut events) = (0, 0);
    let mut last = fairlab_units::Timestamp::ZERO;
    for event in recording.by_ref() {
        assert!(event.time >= last, "{name}: time goes back");
        last = event.time;
        events += 1;
        // Each event takes some bytes in every format, even unpacked.
        assert!(
            events < 100 * size + 1_000_000,
            "{name}: events without end"
        );
        switches += u64::from(matches!(event.kind, EventKind::Switch { .. }));
    }
    Ok((switches, recording))
}

#[test]
fn whole_fixtures_are_read_without_a_problem() {
    for (name, bytes) in fixture::all() {
        let (_, recording) = read(name, bytes).unwrap();
        let (counts, ledger) = (recording.counts(), recording.ledger());
        assert_eq!(counts.get("sched_switch"), fixture::SWITCHES, "{name}");
        assert_eq!(ledger.nr_problems(), 0, "{name}: {:?}", ledger.problems());
        assert_eq!(ledger.late_events(), 0, "{name}");
        let has_name = (0..recording.names().len() as u32)
            .any(|id| recording.names().get(fairlab_trace::NameId(id)) == "a ==> b: c");
        assert!(has_name, "{name}");
        let lost = match name {
            name if name.starts_with("trace.dat") => 123,
            name if name.starts_with("perf") => 5,
            "text" => 9,
            name if name.starts_with("CTF") => 4,
            _ => 0,
        };
        assert_eq!(ledger.lost_events(), (lost, false), "{name}");
    }
}

#[test]
fn rewinding_gives_the_same_events() {
    for (name, bytes) in fixture::all() {
        let mut recording = from_bytes(name, bytes).unwrap();
        let first: Vec<_> = recording.by_ref().collect();
        recording.rewind().unwrap();
        let second: Vec<_> = recording.by_ref().collect();
        assert_eq!(first, second, "{name}");
        assert!(!first.is_empty(), "{name}");
    }
}

#[test]
fn packing_changes_nothing() {
    for (name, bytes) in fixture::all() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&bytes).unwrap();
        let gz = gz.finish().unwrap();
        let zst = zstd::bulk::compress(&bytes, 1).unwrap();
        for packed in [gz, zst] {
            let (_, recording) = read(name, packed).unwrap();
            assert_eq!(
                recording.counts().get("sched_switch"),
                fixture::SWITCHES,
                "{name}"
            );
        }
    }
}

#[test]
fn packing_over_and_over_is_refused() {
    let mut bytes = fixture::text();
    for _ in 0..10 {
        bytes = zstd::bulk::compress(&bytes, 1).unwrap();
    }
    let error = read("x", bytes).unwrap_err().to_string();
    assert!(error.contains("packed more than"), "{error}");
}

#[test]
fn files_cut_at_any_byte_give_what_is_there() {
    for (name, bytes) in fixture::all() {
        let mut before = 0;
        // Every byte where it matters, and steps where pages are filled with zeros.
        let step = (bytes.len() / 1500).max(1);
        for end in (0..bytes.len()).step_by(step) {
            let Ok((_, recording)) = read(name, bytes[..end].to_vec()) else {
                continue;
            };
            let count = recording.counts().get("sched_switch");
            // With more bytes there is never less, but for tables at the end that say what records mean.
            if !name.starts_with("perf.data") {
                assert!(
                    count >= before,
                    "{name} cut at {end}: {count} after {before}"
                );
            }
            before = count;
        }
        assert!(
            before > 0 || name.contains("packed") || name.contains("zipped"),
            "{name}"
        );
    }
}

fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    let byte = prop_oneof![any::<u8>(), Just(0), Just(0xff), Just(0x7f), Just(0x80)];
    prop::collection::vec((any::<prop::sample::Index>(), byte), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_neither_panic_nor_hang(which in any::<prop::sample::Index>(), damage in damage()) {
        let fixtures = fixture::all();
        let (name, bytes) = which.get(&fixtures);
        let mut bytes = bytes.clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(name, bytes);
    }

    #[test]
    fn damaged_numbers_neither_panic_nor_hang(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        number in prop_oneof![Just(u64::MAX), Just(u64::MAX / 2), Just(1 << 63), Just(1 << 40), Just(0), any::<u64>()],
        len in 2usize..=8,
    ) {
        let fixtures = fixture::all();
        let (name, bytes) = which.get(&fixtures);
        let mut bytes = bytes.clone();
        let at = at.index(bytes.len() - 8);
        bytes[at..at + len].copy_from_slice(&number.to_le_bytes()[..len]);
        let _ = read(name, bytes);
    }

    #[test]
    fn pieces_of_files_in_any_order_neither_panic_nor_hang(
        which in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        len in 1usize..5000,
    ) {
        let fixtures = fixture::all();
        let (name, bytes) = which.get(&fixtures);
        let mut bytes = bytes.clone();
        let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
        let piece = bytes[from..(from + len).min(bytes.len())].to_vec();
        bytes.splice(to..to, piece);
        let _ = read(name, bytes);
    }
}
