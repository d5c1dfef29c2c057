//! The first pass: where the bundles are, and what other packets say.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use super::bundle::bundle_field;
use super::compact::field;
use super::proto::Packed;
use super::{Fields, Value};
use crate::context::Context;
use crate::error::OpenError;
use crate::metadata::Metadata;
use crate::source::{Piece, Source};
use crate::state;
use crate::unwrap::{self, Spool};

/// `Trace.packet`.
pub(super) const PACKET_TAG: u8 = 1 << 3 | 2;
/// Larger packets do not exist; the service cuts them at 1 MB or so.
const LARGEST_PACKET: u64 = 64 << 20;
/// CPUs above this do not exist.
const MOST_CPUS: u64 = 1 << 14;

/// Fields of `TracePacket`.
mod packet_field {
    pub(super) const FTRACE_EVENTS: u32 = 1;
    pub(super) const PROCESS_TREE: u32 = 2;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const PREVIOUS_PACKET_DROPPED: u32 = 42;
    pub(super) const SYSTEM_INFO: u32 = 45;
    pub(super) const COMPRESSED_PACKETS: u32 = 50;
}

/// Where a bundle is in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub offset: u64,
    pub len: u32,
    /// The time of its first event; 0 when it has none.
    pub time: u64,
}

/// What the first pass found.
pub(super) struct Index {
    /// By CPU and by who wrote them: each data source that reads a CPU's buffer goes through its time.
    pub bundles: BTreeMap<(u32, u64), Vec<Place>>,
    pub metadata: Metadata,
    /// Do states of tasks have the bits of 4.14 and later?
    pub is_new_kernel: bool,
}

/// Where the first packet's content begins, and its size.
pub(super) fn packet_start(bytes: &[u8]) -> Option<(usize, u64)> {
    let (&tag, rest) = bytes.split_first()?;
    if tag != PACKET_TAG {
        return None;
    }
    let (size, content) = super::proto::varint(rest)?;
    Some((bytes.len() - content.len(), size))
}

/// The first packet and what follows it.
pub(super) fn packet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (start, size) = packet_start(bytes)?;
    bytes[start..].split_at_checked(usize::try_from(size).ok()?)
}

/// Calls `each` with the offset and the bytes of every packet.
fn walk(
    source: &Source,
    ctx: &mut Context,
    mut each: impl FnMut(u64, &[u8], &mut Context) -> bool,
) {
    let mut piece = Piece::new(source.clone(), 0);
    loop {
        let head = piece.peek(11);
        if head.is_empty() {
            return;
        }
        let found = packet_start(head);
        let at = piece.position();
        let Some((start, size)) = found.filter(|&(_, size)| size <= LARGEST_PACKET) else {
            ctx.ledger.problem(
                format!("{} at byte {at}", source.name()),
                "no packet begins here; read up to here",
            );
            return;
        };
        let size = size as usize;
        let bytes = piece.peek(start + size);
        let Some(content) = bytes.get(start..start + size) else {
            ctx.ledger.problem(
                format!("{} at byte {at}", source.name()),
                "the last packet is cut off",
            );
            // What is there of it may still be of use.
            let content = bytes.get(start..).unwrap_or_default();
            each(at + start as u64, content, ctx);
            return;
        };
        if !each(at + start as u64, content, ctx) {
            return;
        }
        piece.take((start + size) as u64);
    }
}

/// The trace with its compressed packets unpacked; `None` if it has none.
pub(super) fn unpack(source: &Source, ctx: &mut Context) -> Result<Option<Source>, OpenError> {
    let mut scratch = Context::new();
    let mut is_packed = false;
    walk(source, &mut scratch, |_, packet, _| {
        is_packed = compressed(packet).is_some();
        !is_packed
    });
    if !is_packed {
        return Ok(None);
    }
    let mut spool = Spool::new(source.name(), unwrap::largest(source.len()));
    let mut failure = None;
    walk(source, ctx, |offset, packet, ctx| {
        let written = match compressed(packet) {
            Some(packed) => {
                let mut decoder = flate2::read::ZlibDecoder::new(packed);
                let mut buffer = [0; 16 << 10];
                loop {
                    match decoder.read(&mut buffer) {
                        Ok(0) => break Ok(()),
                        Ok(nr) => {
                            if let Err(error) = spool.write_all(&buffer[..nr]) {
                                break Err(error);
                            }
                        }
                        Err(error) => {
                            ctx.ledger.problem(
                                format!("{} at byte {offset}", source.name()),
                                format!("compressed packets are broken ({error})"),
                            );
                            break Ok(());
                        }
                    }
                }
            }
            None => {
                let mut head = vec![PACKET_TAG];
                let mut size = packet.len();
                while size >= 0x80 {
                    head.push(size as u8 | 0x80);
                    size >>= 7;
                }
                head.push(size as u8);
                spool
                    .write_all(&head)
                    .and_then(|()| spool.write_all(packet))
            }
        };
        failure = written.err();
        failure.is_none()
    });
    if let Some(error) = failure {
        ctx.ledger
            .problem(source.name(), format!("unpacking stops: {error}"));
    }
    let unpacked = spool.into_source().map_err(|source_error| OpenError::Io {
        path: source.name().into(),
        source: source_error,
    })?;
    Ok(Some(unpacked))
}

fn compressed(packet: &[u8]) -> Option<&[u8]> {
    Fields::new(packet).flatten().find_map(|(number, value)| {
        (number == packet_field::COMPRESSED_PACKETS)
            .then(|| value.bytes())
            .flatten()
    })
}

impl Index {
    pub(super) fn read(source: &Source, ctx: &mut Context) -> Self {
        let mut index = Self {
            bundles: BTreeMap::new(),
            metadata: Metadata {
                tool: Some("Perfetto".into()),
                is_big_endian: Some(false),
                // The service asks for it where the kernel has it.
                clock: Some("boot".into()),
                ..Metadata::default()
            },
            is_new_kernel: true,
        };
        let mut dropped = 0u64;
        let mut nested = 0u64;
        walk(source, ctx, |offset, packet, ctx| {
            let sequence = number_of(packet, packet_field::SEQUENCE).unwrap_or(0);
            for field in Fields::new(packet) {
                let Some((number, value)) = field else {
                    // A packet that is cut off has been told already; others are told with their bundle.
                    break;
                };
                match (number, value) {
                    (packet_field::FTRACE_EVENTS, Value::Bytes(bundle)) => {
                        // Both are parts of the same bytes.
                        let inner = bundle.as_ptr() as usize - packet.as_ptr() as usize;
                        index.bundle(offset + inner as u64, sequence, bundle);
                    }
                    (packet_field::PROCESS_TREE, Value::Bytes(tree)) => process_tree(tree, ctx),
                    (packet_field::SYSTEM_INFO, Value::Bytes(info)) => index.system_info(info),
                    (packet_field::PREVIOUS_PACKET_DROPPED, Value::Number(1..)) => dropped += 1,
                    (packet_field::COMPRESSED_PACKETS, _) => nested += 1,
                    _ => {}
                }
            }
            true
        });
        if dropped > 0 {
            ctx.ledger.note(format!(
                "{dropped} packets say that the tracing service dropped others before them"
            ));
        }
        if nested > 0 {
            ctx.ledger.problem(
                source.name(),
                format!("{nested} compressed packets within compressed ones; left out"),
            );
        }
        if index.bundles.is_empty() {
            ctx.ledger
                .note("the trace has no ftrace events (no data source `linux.ftrace`)");
        }
        for places in index.bundles.values_mut() {
            // Equal times stay as they were.
            places.sort_by_key(|place| place.time);
        }
        let release = index.metadata.kernel_release.as_deref();
        index.is_new_kernel = state::is_new_kernel(release);
        index
    }

    fn bundle(&mut self, offset: u64, sequence: u64, bundle: &[u8]) {
        // The CPU is not written when it is 0 by some writers.
        let mut cpu = 0;
        for field in Fields::new(bundle) {
            match field {
                Some((1, Value::Number(number))) => {
                    cpu = number;
                    break;
                }
                Some((5, Value::Number(clock))) => {
                    self.metadata.clock = Some(
                        match clock {
                            2 => "global",
                            3 => "local",
                            4 => "mono_raw",
                            _ => "boot",
                        }
                        .into(),
                    );
                }
                Some(_) => {}
                None => break,
            }
        }
        let time = first_time(bundle);
        if let Ok(len) = u32::try_from(bundle.len())
            && cpu < MOST_CPUS
        {
            self.bundles
                .entry((cpu as u32, sequence))
                .or_default()
                .push(Place { offset, len, time });
        }
    }

    fn system_info(&mut self, info: &[u8]) {
        let text = |value: Value<'_>| {
            let text = String::from_utf8_lossy(value.bytes()?).into_owned();
            (!text.is_empty()).then_some(text)
        };
        for (number, value) in Fields::new(info).flatten() {
            match (number, value) {
                (1, Value::Bytes(names)) => {
                    for (number, value) in Fields::new(names).flatten() {
                        match number {
                            2 => self.metadata.kernel_version = text(value),
                            3 => self.metadata.kernel_release = text(value),
                            4 => self.metadata.arch = text(value),
                            _ => {}
                        }
                    }
                }
                (2, _) => self.metadata.hostname = text(value),
                (8, Value::Number(count)) => {
                    self.metadata.nr_cpus = u32::try_from(count).ok().filter(|&count| count > 0);
                }
                _ => {}
            }
        }
    }
}

/// The first number called `wanted` in a message.
fn number_of(message: &[u8], wanted: u32) -> Option<u64> {
    let mut fields = Fields::new(message).flatten();
    fields.find_map(|(number, value)| match value {
        Value::Number(found) if number == wanted => Some(found),
        _ => None,
    })
}

/// The time of the first event of a bundle, in the plain or in the compact form.
fn first_time(bundle: &[u8]) -> u64 {
    let mut first = u64::MAX;
    for (number, value) in Fields::new(bundle).flatten() {
        match (number, value) {
            (bundle_field::EVENT, Value::Bytes(event)) => {
                // They are in order, so the first one will do.
                return number_of(event, 1).unwrap_or(0).min(first);
            }
            (bundle_field::COMPACT_SCHED, Value::Bytes(compact)) => {
                for (number, value) in Fields::new(compact).flatten() {
                    if let (field::SWITCH_TIMESTAMP | field::WAKING_TIMESTAMP, Value::Bytes(times)) =
                        (number, value)
                        && let Some(time) = Packed(times).next()
                    {
                        first = first.min(time);
                    }
                }
            }
            _ => {}
        }
    }
    if first == u64::MAX { 0 } else { first }
}

/// Names of tasks, for those that no event names.
fn process_tree(tree: &[u8], ctx: &mut Context) {
    for (number, value) in Fields::new(tree).flatten() {
        let (2, Value::Bytes(thread)) = (number, value) else {
            continue;
        };
        let (mut tid, mut name) = (None, None);
        for (number, value) in Fields::new(thread).flatten() {
            match (number, value) {
                (1, Value::Number(number)) => tid = u32::try_from(number).ok(),
                (2, Value::Bytes(bytes)) => name = Some(bytes),
                _ => {}
            }
        }
        if let (Some(tid @ 1..), Some(name)) = (tid, name) {
            ctx.list(tid, name);
        }
    }
}
