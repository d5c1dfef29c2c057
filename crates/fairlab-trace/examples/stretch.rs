//! Makes a long recording of a short one: repeats the events of a `perf.data` or of a `trace.dat` of
//! version 6, each time later by the recording's length.
//!
//!     cargo run --release -p fairlab-trace --example stretch -- perf.data 30 long.data
//!
//! For measuring readers on files that are too large to be kept. Written for little endian files as
//! `perf sched record` and `trace-cmd record` make them; others are refused.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, from, times, to] = args.as_slice() else {
        return Err("wanted: FROM TIMES TO".into());
    };
    let bytes = std::fs::read(from)?;
    let mut out = BufWriter::new(File::create(to)?);
    match bytes.get(..8) {
        Some(b"PERFILE2") => perf_data(bytes, times.parse()?, &mut out)?,
        Some(b"\x17\x08\x44traci") => trace_dat(&bytes, times.parse()?, &mut out)?,
        _ => return Err("neither perf.data nor trace.dat".into()),
    }
    out.flush()?;
    Ok(())
}

/// Zero where the file ends before.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u64::from_le_bytes(*word))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// The kind of a record that is a sample.
const SAMPLE: u32 = 9;

fn perf_data(mut bytes: Vec<u8>, times: usize, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let (attrs, start, size) = (u64_at(&bytes, 24), u64_at(&bytes, 40), u64_at(&bytes, 48));
    let (start, end) = (start as usize, (start + size) as usize);
    // Fields of fixed size before the time: identifier, address, task.
    let fields = u64_at(&bytes, attrs as usize + 24);
    let has = |bit: u64| usize::from(fields >> bit & 1 != 0);
    if has(2) == 0 {
        return Err("samples have no time".into());
    }
    let time_at = 8 + 8 * (has(16) + has(0) + has(1));
    let mut whens = Vec::new();
    let mut at = start;
    let mut first_sample = None;
    while at + 8 <= end {
        let (kind, size) = (
            u32_at(&bytes, at),
            usize::from(bytes[at + 6]) | usize::from(bytes[at + 7]) << 8,
        );
        if kind == SAMPLE {
            first_sample.get_or_insert(at);
            whens.push(at + time_at);
        }
        if size < 8 {
            return Err("a broken record".into());
        }
        at += size;
    }
    // What comes before the samples tells of tasks that ran before; once is enough.
    let body = first_sample.ok_or("no samples")?;
    let all = || whens.iter().map(|&at| u64_at(&bytes, at));
    let (from, to) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    let step = to - from + 1_000_000;
    let more = ((end - body) * (times - 1)) as u64;
    let table = end;
    put(&mut bytes, 48, size + more);
    // The sections with facts about the machine lie behind.
    let nr_facts: u32 = (0..4)
        .map(|word| u64_at(&bytes, 72 + 8 * word).count_ones())
        .sum();
    for fact in 0..nr_facts as usize {
        let at = table + 16 * fact;
        let offset = u64_at(&bytes, at);
        put(&mut bytes, at, offset + more);
    }
    out.write_all(&bytes[..body])?;
    let mut copy = bytes[body..end].to_vec();
    for _ in 0..times {
        out.write_all(&copy)?;
        for &when in &whens {
            let time = u64_at(&copy, when - body);
            put(&mut copy, when - body, time + step);
        }
    }
    out.write_all(&bytes[end..])?;
    Ok(())
}

fn trace_dat(bytes: &[u8], times: usize, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    if bytes.get(10..13) != Some(b"6\0\0") {
        return Err("not version 6, or big endian".into());
    }
    let page = u32_at(bytes, 14) as usize;
    let mark = b"flyrecord\0";
    let at = bytes
        .windows(mark.len())
        .position(|window| window == mark)
        .ok_or("no pages")?
        + mark.len();
    let mut parts = Vec::new();
    while at + 16 * parts.len() + 16 <= bytes.len() {
        let row = at + 16 * parts.len();
        let (offset, size) = (u64_at(bytes, row) as usize, u64_at(bytes, row + 8) as usize);
        let first = parts.first().map_or(offset, |part: &(usize, usize)| part.0);
        if row >= first || offset + size > bytes.len() {
            break;
        }
        parts.push((offset, size));
    }
    let pages = |&(offset, size): &(usize, usize)| (offset..offset + size).step_by(page);
    let stamps = || parts.iter().flat_map(pages).map(|at| u64_at(bytes, at));
    let (from, to) = (stamps().min().unwrap_or(0), stamps().max().unwrap_or(0));
    // The last pages reach beyond their stamp.
    let step = to - from + 1_000_000_000;
    let begin = parts.first().ok_or("no CPUs")?.0;
    let mut head = bytes[..begin].to_vec();
    let mut offset = begin;
    for (cpu, (_, size)) in parts.iter().enumerate() {
        put(&mut head, at + 16 * cpu, offset as u64);
        put(&mut head, at + 16 * cpu + 8, (size * times) as u64);
        offset += size * times;
    }
    out.write_all(&head)?;
    for part in &parts {
        let mut copy = bytes[part.0..part.0 + part.1].to_vec();
        for _ in 0..times {
            out.write_all(&copy)?;
            for at in (0..copy.len()).step_by(page) {
                let stamp = u64_at(&copy, at);
                put(&mut copy, at, stamp + step);
            }
        }
    }
    Ok(())
}
