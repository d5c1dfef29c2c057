//! Damaged and hostile texts: an answer or an error, never a panic, and in a moment.

use fairlab_results::{
    By, CompareOptions, Format, ReadOptions, assemble, check_claims, compare, read, read_bytes,
};
use proptest::prelude::*;

/// One text per tool, to be damaged.
const SEEDS: [&str; 14] = [
    "Wakeup Latencies percentiles (usec) runtime 30 (s) (41 total samples)\n  50.0th: 11  (10 samples)\n* 99.0th: 36 (33 samples)\n  min=1, max=731\naverage rps: 1442889.23\n",
    "Process fork+exit: 294.4118 microseconds\nProcess fork+exit: 279.15 microseconds\n",
    "                 L M B E N C H  2 . 0\n----------------------\nContext switching - times in microseconds - smaller is better\n--------------------------------\nHost    OS  2p/0K\n            ctxsw\n------- --- -----\n800     Lin 7.620\n",
    "Throughput 225.554 MB/sec  1 clients  1 procs  max_latency=9.904 ms\n cr CPU    %c0  GHz  TSC\n   0   0  24.47 2.84 2.29\n",
    "# Running sched/pipe benchmark...\n# Executed 1000000 pipe operations between two processes\n\n     Total time: 8.210 [sec]\n\n       8.210600 usecs/op\n         121793 ops/sec\n",
    " Performance counter stats for 'x' (5 runs):\n\n  1,234,567 cycles # 1 GHz ( +- 1.00% )\n  1.5 +- 0.1 seconds time elapsed ( +- 2% )\n",
    "T: 0 ( 1449) P:80 I:200 C: 800368 Min:   0 Act:   32 Avg:   22 Max:  128\n0:1:23\n0:2:24\n0:3:25\n",
    "x a\n+ b\n+------+\n|x   + |\n+------+\n    N Min Max Median Avg Stddev\nx 3 1 3 2 2 1\n+ 3 2 4 3 3 1\nDifference at 95.0% confidence\n\t1 +/- 0.5\n",
    "         5.5-rc7    5.5-rc7\n         a          b\nAmean 1   22.63 ( 0.00%)  20.54 * 9.23%*\nAmean 2   22.63 ( 0.00%)  20.54 * 9.23%*\n",
    "Clients: tip    tip + patch\n 8 3263.81 (0.00 pct)  3086.81 (-5.42 pct)\n",
    "   text data bss dec hex filename\n 66446 18957 676 86079 1503f core.o\nadd/remove: 0/0 grow/shrink: 0/1 up/down: 0/-32 (-32)\nFunction old new delta\nf 884 852 -32\n",
    "struct a {\n  int b; /* 0 4 */\n /* XXX 4 bytes hole, try to pack */\n /* size: 8, cachelines: 1, members: 1 */\n0000000000020518 D sd_a\nffffffff81000000 T _text\n",
    "cpu0 0 0 0 0 0 0 15 36 18\ndomain0 00000000,00010001 0 0 0\nArchitecture: x\nCPU(s): 8\nNUMA node0 CPU(s): 0-7,32-39\n",
    "command,mean,stddev,median,user,system,min,max\na,1,2,3,4,5,6,7\nb,1,2,3,4,5,6,7\n",
];

/// Everything that is done with an input.
fn use_all(bytes: &[u8], options: &ReadOptions) {
    let Ok(document) = read_bytes(bytes, "x", options) else {
        return;
    };
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    for block in &document.blocks {
        assert!(*block.lines.start() >= 1 && *block.lines.end() <= lines.max(1));
    }
    let _ = check_claims(&document);
    let options = CompareOptions {
        resamples: 5,
        ..CompareOptions::default()
    };
    for by in [
        By::Auto,
        By::File,
        By::Label,
        By::Column,
        By::Command,
        By::Block,
    ] {
        let results = assemble(&[document.clone(), document.clone()], by);
        let _ = compare(&results, &options);
        let text = fairlab_results::to_json(&results);
        let _ = fairlab_results::from_json(&text, "x");
    }
}

/// Where and how a seed is damaged.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let change = (0..8_u8, any::<prop::sample::Index>(), any::<u8>());
    let seeds = prop::collection::vec(0..SEEDS.len(), 1..4);
    (seeds, prop::collection::vec(change, 0..12)).prop_map(|(seeds, changes)| {
        let mut bytes: Vec<u8> = seeds.iter().flat_map(|at| SEEDS[*at].bytes()).collect();
        for (kind, place, byte) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match kind {
                0 => bytes.truncate(at),
                1 => bytes[at] = byte,
                2 => bytes.insert(at, byte),
                3 => {
                    bytes.remove(at);
                }
                4 => {
                    let signs = b"\n\t ,.;:|%()*+-<>[]{}\"'0123456789eEx";
                    bytes[at] = signs[usize::from(byte) % signs.len()]
                }
                5 => {
                    let part = bytes[at..(at + usize::from(byte)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, part);
                }
                6 => {
                    let huge = b"99999999999999999999999999999999e300 ";
                    bytes.splice(at..at, huge.iter().copied());
                }
                _ => {
                    let words: &[u8] =
                        "\u{b5}\u{2212}\u{1b}[31m\u{feff}\u{0}\u{fffd}\u{1d7d8}".as_bytes();
                    bytes.splice(at..at, words.iter().copied());
                }
            }
        }
        bytes
    })
}

/// A few hundred cases, or as many as `FAIRLAB_FUZZ_SECONDS` seconds allow.
#[test]
fn damaged_texts_never_panic() {
    let seconds = std::env::var("FAIRLAB_FUZZ_SECONDS")
        .ok()
        .and_then(|s| s.parse::<u64>().ok());
    let start = std::time::Instant::now();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let mut rounds = 0;
    loop {
        let strategy = (damaged(), 0..Format::ALL.len() * 3);
        runner
            .run(&strategy, |(bytes, format)| {
                // Two in three are read as what they look like.
                let options = ReadOptions {
                    format: Format::ALL.get(format).copied(),
                    ..ReadOptions::default()
                };
                use_all(&bytes, &options);
                Ok(())
            })
            .unwrap();
        rounds += 1;
        if seconds.is_none_or(|seconds| start.elapsed().as_secs() >= seconds) {
            break;
        }
    }
    if seconds.is_some() {
        eprintln!("{} damaged texts in {:?}", rounds * 200, start.elapsed());
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let zeros = [0_u8; 100];
    let error = read(&zeros[..], "x", &ReadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("x: not text: byte 0 is zero"), "{error}");
    // Plain numbers, then zeros without end: the place is told, and little of it is read.
    let numbers = "12.5\n".repeat(20_000);
    let endless = std::io::Read::chain(numbers.as_bytes(), std::io::repeat(0));
    let error = read(endless, "x", &ReadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("x:20001: "), "{error}");
    // Text without end.
    let error = read(std::io::repeat(b'a'), "x", &ReadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("x: larger than 64 MB"), "{error}");
}

#[test]
fn many_numbers_are_read_in_passing() {
    let numbers = "1.25 7\n".repeat(50_000);
    let document = read(numbers.as_bytes(), "x", &ReadOptions::default()).unwrap();
    assert_eq!(document.blocks[0].lines, 1..=50_000);
    assert_eq!(document.blocks[0].measures.len(), 2);
}

#[test]
fn latin_1_and_utf_16_are_read() {
    let document = read_bytes(
        b"na\xefve before:\nTime: 4.5\n",
        "x",
        &ReadOptions::default(),
    )
    .unwrap();
    assert_eq!(document.notes, ["not UTF-8: read as Latin-1"]);
    assert_eq!(document.blocks.len(), 1);
    let utf16: Vec<u8> = "\u{feff}Time: 4.5\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(
        read_bytes(&utf16, "x", &ReadOptions::default())
            .unwrap()
            .blocks
            .len(),
        1
    );
}
