//! Perfetto's tracks for marks: `TrackDescriptor`s and `TrackEvent`s, beside the ftrace events.
//!
//! Slices of one track have to nest, and marks may overlap; so a track of ours becomes as many of
//! Perfetto's, with the same name, as there are marks at once, which its viewer draws as one.
//! Names are interned, so a mark takes few bytes.
//!
//! # Source
//! MarkValue numbers are those of `protos/perfetto/trace/track_event/` (`track_descriptor.proto`,
//! `track_event.proto`, `debug_annotation.proto`) and `trace_packet.proto`.

use std::collections::BTreeMap;

use super::mark::{Mark, MarkValue};
use super::perfetto::{bytes, number};

/// The number by which Perfetto knows this sequence of packets; that of the events is another.
const SEQUENCE: u64 = 2;
/// The track above all others.
const TOP: u64 = 0xfa1;

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;

/// `SEQ_INCREMENTAL_STATE_CLEARED` and `SEQ_NEEDS_INCREMENTAL_STATE`.
const CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// The tracks so far.
#[derive(Default)]
pub(super) struct Tracks {
    /// By name: when each track of Perfetto's ends, and its number.
    lanes: BTreeMap<String, Vec<(u64, u64)>>,
    names: BTreeMap<String, u64>,
    next: u64,
    has_begun: bool,
}

impl Tracks {
    /// Appends the packets of a mark.
    pub(super) fn mark(&mut self, mark: &Mark<'_>, out: &mut Vec<u8>) {
        if !self.has_begun {
            self.has_begun = true;
            self.next = TOP + 1;
            describe(TOP, None, "fairlab", out);
        }
        let track = self.lane(mark, out);
        let (name, interned) = self.intern(mark.name);
        let mut event = Vec::with_capacity(64);
        for (key, value) in mark.fields {
            let mut field = Vec::with_capacity(32);
            bytes(&mut field, 10, key.as_bytes());
            match *value {
                MarkValue::Flag(flag) => number(&mut field, 2, u64::from(flag)),
                MarkValue::Number(value) => number(&mut field, 3, value),
                MarkValue::Text(text) => bytes(&mut field, 6, text.as_bytes()),
            }
            bytes(&mut event, 4, &field);
        }
        number(
            &mut event,
            9,
            if mark.ns > 0 { SLICE_BEGIN } else { INSTANT },
        );
        number(&mut event, 10, name);
        number(&mut event, 11, track);
        packet(mark.from.0, &event, interned.as_deref(), out);
        if mark.ns > 0 {
            let mut end = Vec::with_capacity(16);
            number(&mut end, 9, SLICE_END);
            number(&mut end, 11, track);
            packet(mark.from.0.saturating_add(mark.ns), &end, None, out);
        }
    }

    /// The track of Perfetto's on which the mark overlaps nothing.
    fn lane(&mut self, mark: &Mark<'_>, out: &mut Vec<u8>) -> u64 {
        let lanes = match self.lanes.get_mut(mark.track) {
            Some(lanes) => lanes,
            None => self.lanes.entry(mark.track.to_owned()).or_default(),
        };
        let end = mark.from.0.saturating_add(mark.ns);
        if let Some((until, track)) = lanes.iter_mut().find(|(until, _)| *until <= mark.from.0) {
            *until = end;
            return *track;
        }
        let track = self.next;
        self.next += 1;
        lanes.push((end, track));
        describe(track, Some(TOP), mark.track, out);
        track
    }

    /// The number of a name, and the message that tells it when it is new.
    fn intern(&mut self, name: &str) -> (u64, Option<Vec<u8>>) {
        if let Some(&number) = self.names.get(name) {
            return (number, None);
        }
        let id = self.names.len() as u64 + 1;
        self.names.insert(name.to_owned(), id);
        let mut entry = Vec::with_capacity(16 + name.len());
        number(&mut entry, 1, id);
        bytes(&mut entry, 2, name.as_bytes());
        let mut data = Vec::with_capacity(entry.len() + 4);
        bytes(&mut data, 2, &entry);
        (id, Some(data))
    }
}

/// The first packet of the sequence begins its table of names.
fn describe(track: u64, parent: Option<u64>, name: &str, out: &mut Vec<u8>) {
    let mut descriptor = Vec::with_capacity(32 + name.len());
    number(&mut descriptor, 1, track);
    bytes(&mut descriptor, 2, name.as_bytes());
    if let Some(parent) = parent {
        number(&mut descriptor, 5, parent);
    }
    let mut packet = Vec::with_capacity(descriptor.len() + 16);
    number(&mut packet, 10, SEQUENCE);
    let flags = if parent.is_none() {
        CLEARED
    } else {
        NEEDS_STATE
    };
    number(&mut packet, 13, flags);
    bytes(&mut packet, 60, &descriptor);
    bytes(out, 1, &packet);
}

fn packet(time: u64, event: &[u8], interned: Option<&[u8]>, out: &mut Vec<u8>) {
    let mut packet = Vec::with_capacity(event.len() + 64);
    number(&mut packet, 8, time);
    number(&mut packet, 10, SEQUENCE);
    if let Some(interned) = interned {
        bytes(&mut packet, 12, interned);
    }
    number(&mut packet, 13, NEEDS_STATE);
    bytes(&mut packet, 11, event);
    bytes(out, 1, &packet);
}

#[cfg(test)]
mod tests {
    use fairlab_units::Timestamp;

    use super::*;

    /// The fields of a message: number, and value or bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = bytes[0];
                *bytes = &bytes[1..];
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return value;
                }
            }
        }
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = varint(&mut bytes);
            let inner = if key & 7 == 2 {
                let (inner, rest) = bytes.split_at(value as usize);
                bytes = rest;
                inner
            } else {
                &[]
            };
            fields.push((key >> 3, value, inner));
        }
        fields
    }

    fn get(message: &[u8], field: u64) -> Option<u64> {
        let found = fields(message).into_iter().find(|f| f.0 == field);
        found.map(|(_, value, _)| value)
    }

    fn inner(message: &[u8], field: u64) -> Option<&[u8]> {
        let found = fields(message).into_iter().find(|f| f.0 == field);
        found.map(|(_, _, inner)| inner)
    }

    #[test]
    fn marks_at_once_stand_on_tracks_of_one_name_and_nest_nowhere() {
        let mut tracks = Tracks::default();
        let mut out = Vec::new();
        for (from, ns) in [(10, 20), (15, 5), (40, 0)] {
            let mark = Mark {
                track: "waits",
                from: Timestamp(from),
                ns,
                name: "late",
                fields: &[("task", MarkValue::Number(7))],
            };
            tracks.mark(&mark, &mut out);
        }
        let packets: Vec<&[u8]> = fields(&out).into_iter().map(|f| f.2).collect();
        let described: Vec<&[u8]> = packets.iter().filter_map(|p| inner(p, 60)).collect();
        let names: Vec<_> = described.iter().filter_map(|d| inner(d, 2)).collect();
        assert_eq!(names, [&b"fairlab"[..], b"waits", b"waits"]);
        // When, what, and on which track.
        let events: Vec<_> = packets
            .iter()
            .filter_map(|p| Some((get(p, 8)?, inner(p, 11)?)))
            .map(|(time, event)| (time, get(event, 9), get(event, 11)))
            .collect();
        let (a, b) = (get(described[1], 1), get(described[2], 1));
        assert_eq!(
            events,
            [
                (10, Some(SLICE_BEGIN), a),
                (30, Some(SLICE_END), a),
                (15, Some(SLICE_BEGIN), b),
                (20, Some(SLICE_END), b),
                (40, Some(INSTANT), a),
            ]
        );
        // The name is told once, and the sequence begins with a clean table.
        assert_eq!(packets.iter().filter(|p| inner(p, 12).is_some()).count(), 1);
        assert_eq!(get(packets[0], 13), Some(CLEARED));
    }
}
