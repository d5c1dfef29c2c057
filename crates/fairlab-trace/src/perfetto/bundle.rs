//! The bundles of one CPU as a stream of events.

use super::compact::Compact;
use super::event::EventDecoder;
use super::index::Place;
use super::{Fields, Value};
use crate::context::Context;
use crate::merge::Stream;
use crate::raw::RawEvent;
use crate::source::Source;

/// Fields of `FtraceEventBundle`.
pub(super) mod bundle_field {
    pub const EVENT: u32 = 2;
    pub const LOST_EVENTS: u32 = 3;
    pub const COMPACT_SCHED: u32 = 4;
}

/// Reads the bundles of one CPU.
pub(super) struct BundleStream {
    source: Source,
    cpu: u32,
    places: std::vec::IntoIter<Place>,
    decoder: EventDecoder,
    compact: Compact,
}

impl BundleStream {
    pub(super) fn new(
        source: Source,
        cpu: u32,
        places: Vec<Place>,
        is_new_kernel: bool,
        ctx: &mut Context,
    ) -> Self {
        Self {
            source,
            cpu,
            places: places.into_iter(),
            decoder: EventDecoder::new(cpu, is_new_kernel),
            compact: Compact::new(cpu, is_new_kernel, ctx),
        }
    }
}

impl Stream for BundleStream {
    fn refill(&mut self, ctx: &mut Context, out: &mut Vec<RawEvent>) -> bool {
        let Some(place) = self.places.next() else {
            return false;
        };
        let bytes = self.source.bytes(place.offset, u64::from(place.len));
        let start = out.len();
        let mut has_loss = false;
        for field in Fields::new(&bytes) {
            let Some((number, value)) = field else {
                ctx.ledger.problem(
                    format!("{} at byte {}", self.source.name(), place.offset),
                    format!(
                        "a bundle of events of CPU {} is broken; read up to there",
                        self.cpu
                    ),
                );
                break;
            };
            match (number, value) {
                (bundle_field::EVENT, Value::Bytes(event)) => {
                    out.extend(self.decoder.decode(event, ctx));
                }
                (bundle_field::LOST_EVENTS, Value::Number(1..)) => has_loss = true,
                (bundle_field::COMPACT_SCHED, Value::Bytes(compact)) => {
                    if has_loss {
                        self.compact.forget();
                    }
                    self.compact.decode(compact, ctx, out);
                }
                _ => {}
            }
        }
        // Switches and wakings have tables of their own in the compact form.
        out[start..].sort_by_key(|event| event.time);
        if has_loss {
            let time = out.get(start).map_or(0, |event| event.time);
            if time > 0 {
                out.insert(start, RawEvent::lost(time, self.cpu, None));
            }
        }
        true
    }
}
