//! Options: what else trace-cmd writes down.

use super::{Buffer, CpuData, Description};
use crate::endian::Endian;
use crate::metadata::Snapshot;

pub(super) const DONE: u16 = 0;
pub(super) const CPUSTAT: u16 = 2;
pub(super) const BUFFER: u16 = 3;
pub(super) const TRACECLOCK: u16 = 4;
pub(super) const UNAME: u16 = 5;
const OFFSET: u16 = 7;
pub(super) const CPUCOUNT: u16 = 8;
const VERSION: u16 = 9;
const TSC2NSEC: u16 = 14;
pub(super) const HEADER_INFO: u16 = 16;
pub(super) const FTRACE_EVENTS: u16 = 17;
pub(super) const EVENT_FORMATS: u16 = 18;
pub(super) const CMDLINES: u16 = 21;
pub(super) const BUFFER_TEXT: u16 = 22;
/// Ours, far above trace-cmd's own, which passes over what it does not know. A word with a zero at its
/// end says what follows: [`TOOL`] or [`SNAPSHOT`].
pub(super) const FAIRLAB: u16 = 0xfab0;
/// What recorded, with its version.
pub(super) const TOOL: &str = "tool";
/// A [`Snapshot`].
pub(super) const SNAPSHOT: &str = "snapshot.tar.gz";

/// How time stamps become ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// Multiplier and shift for processor ticks.
    ticks: Option<(u32, u32)>,
    /// Added to all.
    offset: i64,
}

impl Clock {
    #[inline]
    pub(super) fn to_ns(self, time: u64) -> u64 {
        let time = match self.ticks {
            Some((multiplier, shift)) => {
                ((u128::from(time) * u128::from(multiplier)) >> shift.min(127)) as u64
            }
            None => time,
        };
        time.saturating_add_signed(self.offset)
    }
}

/// Takes an option in.
pub(super) fn read(id: u16, data: &[u8], endian: Endian, description: &mut Description) {
    let text = || {
        let end = memchr::memchr(0, data).unwrap_or(data.len());
        String::from_utf8_lossy(&data[..end]).trim().to_owned()
    };
    match id {
        CPUSTAT => description.overruns.extend(overrun(&text())),
        TRACECLOCK => description.metadata.clock = chosen_clock(&text()),
        UNAME => uname(&text(), description),
        OFFSET => description.clock.offset = text().parse().unwrap_or(0),
        CPUCOUNT => {
            let count = endian.u32(data, 0).filter(|&count| count > 0);
            description.metadata.nr_cpus = count.or(description.metadata.nr_cpus);
        }
        VERSION => description.metadata.tool = Some(format!("trace-cmd {}", text())),
        FAIRLAB => {
            if let Some((word, rest)) = string(data) {
                match word.as_str() {
                    TOOL => {
                        description.metadata.tool =
                            Some(String::from_utf8_lossy(rest).into_owned());
                    }
                    SNAPSHOT => description.metadata.snapshot = Some(Snapshot(rest.to_vec())),
                    _ => {}
                }
            }
        }
        TSC2NSEC => {
            if let (Some(multiplier), Some(shift)) = (endian.u32(data, 0), endian.u32(data, 4))
                && multiplier != 0
            {
                description.clock.ticks = Some((multiplier, shift));
            }
        }
        _ => {}
    }
}

/// `[local] global counter`: what is in brackets.
fn chosen_clock(text: &str) -> Option<String> {
    let chosen = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(text, |(name, _)| name);
    (!chosen.is_empty()).then(|| chosen.to_owned())
}

/// `Linux host 4.14.62-v7 #1 SMP ... armv7l`.
fn uname(text: &str, description: &mut Description) {
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [_, host, release, version @ .., arch] = words.as_slice() {
        description.metadata.hostname = Some((*host).to_owned());
        description.metadata.kernel_release = Some((*release).to_owned());
        description.metadata.kernel_version = (!version.is_empty()).then(|| version.join(" "));
        description.metadata.arch = Some((*arch).to_owned());
    }
}

/// What the kernel's statistics of a CPU's buffer say was overwritten or dropped.
fn overrun(text: &str) -> Option<(u32, u64)> {
    let mut cpu = None;
    let mut lost = 0u64;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match key.trim() {
            "CPU" => cpu = value.parse().ok(),
            "overrun" | "dropped events" | "commit overrun" => {
                lost = lost.saturating_add(value.parse().unwrap_or(0));
            }
            _ => {}
        }
    }
    (lost > 0).then_some((cpu?, lost))
}

/// An instance of version 6: where it is, and its name.
pub(super) fn instance(data: &[u8], endian: Endian) -> Option<(u64, String)> {
    let offset = endian.u64(data, 0)?;
    let (name, _) = string(data.get(8..)?)?;
    Some((offset, name))
}

/// A buffer of version 7.
pub(super) fn buffer(data: &[u8], endian: Endian, description: &mut Description) -> Option<()> {
    let (name, rest) = string(data.get(8..)?)?;
    let (clock, rest) = string(rest)?;
    if name.is_empty() && !clock.is_empty() {
        description.metadata.clock = Some(clock);
    }
    const PER_CPU: usize = 4 + 8 + 8;
    // Newer writers put the page size before the count.
    let (page_size, rest) = if rest.len() % PER_CPU == 8 {
        (endian.u32(rest, 0), rest.get(4..)?)
    } else {
        (None, rest)
    };
    let count = endian.u32(rest, 0)? as usize;
    let mut cpus = Vec::new();
    for row in rest.get(4..)?.chunks_exact(PER_CPU).take(count) {
        cpus.push(CpuData {
            cpu: endian.u32(row, 0)?,
            offset: endian.u64(row, 4)?,
            size: endian.u64(row, 12)?,
        });
    }
    description.buffers.push(Buffer {
        name,
        page_size: page_size
            .map(|size| size as usize)
            .filter(|size| (64..=0x400_0000).contains(size)),
        cpus,
    });
    Some(())
}

fn string(data: &[u8]) -> Option<(String, &[u8])> {
    let end = memchr::memchr(0, data)?;
    let text = String::from_utf8_lossy(&data[..end]).into_owned();
    Some((text, &data[end + 1..]))
}
