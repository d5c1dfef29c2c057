//! Perfetto traces: packets of protobuf, of which the bundles of ftrace events matter here.
//!
//! ```text
//!   Trace { packet*: TracePacket { ftrace_events: FtraceEventBundle { cpu, event*, compact_sched },
//!                                  process_tree, system_info, compressed_packets, ... } }
//! ```
//!
//! Events within a bundle are in time order. Bundles follow each other as the tracing service emptied the
//! buffers, and when several data sources read a CPU's buffer (one its switches, another its idle
//! states), those of one lie behind those of the other. So a first pass notes where the bundles of each
//! CPU and source are and when they begin, and the second reads all of them side by side. Numbers of fields are those of `protos/perfetto/trace/`.

mod bundle;
mod compact;
mod event;
mod index;
mod proto;

use crate::context::Context;
use crate::detect::Opened;
use crate::error::OpenError;
use crate::merge::Merge;
use crate::metadata::Format;
use crate::source::Source;

use bundle::BundleStream;
use index::Index;
use proto::{Fields, Value};

/// Does a file of `len` bytes that begins with `head` look like one?
pub(crate) fn is_perfetto(head: &[u8], len: u64) -> bool {
    let mut rest = head;
    let mut packets = 0;
    while packets < 3 {
        let Some((packet, after)) = index::packet(rest) else {
            // The head ends within a packet.
            break;
        };
        let mut has_field = false;
        for field in Fields::new(packet) {
            let Some((number, _)) = field else {
                return false;
            };
            if number == 0 || number > 10_000 {
                return false;
            }
            has_field = true;
        }
        if !has_field && !packet.is_empty() {
            return false;
        }
        packets += 1;
        rest = after;
    }
    if packets > 0 {
        return rest.is_empty() || rest.first() == Some(&index::PACKET_TAG);
    }
    // One packet larger than the head: then its fields begin as they should.
    index::packet_start(head).is_some_and(|(start, size)| {
        size <= len
            && size as usize > head.len() - start
            && matches!(
                Fields::new(&head[start..]).next(),
                Some(Some((number, _))) if number > 0 && number < 1000
            )
    })
}

/// Opens a trace.
pub(crate) fn open(source: &Source, ctx: &mut Context) -> Result<Opened, OpenError> {
    let unpacked = index::unpack(source, ctx)?;
    let index = Index::read(unpacked.as_ref().unwrap_or(source), ctx);
    let streams = index
        .bundles
        .into_iter()
        .map(|((cpu, _), places)| {
            BundleStream::new(
                unpacked.as_ref().unwrap_or(source).clone(),
                cpu,
                places,
                index.is_new_kernel,
                ctx,
            )
        })
        .collect();
    Ok(Opened {
        reader: Box::new(Merge::new(streams)),
        format: Format::Perfetto,
        metadata: index.metadata,
    })
}
