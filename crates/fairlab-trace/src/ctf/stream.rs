//! The packets of one file as a stream of events.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::bits;
use super::plan::{Role, role};
use super::types::{Int, StreamType, Trace, Type};
use crate::assemble::{self, Parts, assemble};
use crate::context::Context;
use crate::counts::CountId;
use crate::known::Known;
use crate::merge::Stream;
use crate::raw::{NONE, RawEvent};
use crate::source::{Piece, Source};
use crate::state;

/// What a packet begins with, where it has a magic number.
const MAGIC: u64 = 0xc1fc_1fc1;
/// Bytes that one event or packet header may take.
const LARGEST_EVENT: usize = 128 << 10;
/// Events that one call gives.
const BATCH: usize = 2048;
/// Elements of arrays that are looked at one by one.
const MOST_ELEMENTS: u64 = 1 << 20;

/// Reads the packets of one file.
pub(super) struct FileStream {
    trace: Rc<Trace>,
    piece: Piece,
    name: String,
    /// Kinds of events by stream and number.
    events: Rc<Events>,
    packet: Option<Packet>,
    /// Where the next packet begins.
    next_packet: u64,
    clock: ClockValue,
    frequency: u64,
    dialect: Dialect,
    /// By stream and CPU: how many events had been discarded.
    discarded: BTreeMap<(u64, u32), u64>,
    last_time: u64,
}

/// What the numbers of a recording mean.
#[derive(Clone, Copy, Debug)]
struct Dialect {
    /// States of tasks are those of 4.14 and later.
    is_new_kernel: bool,
    /// Priorities are less by that of the highest nice value, as LTTng writes them.
    has_lttng_prio: bool,
}

impl Dialect {
    /// The kernel's priority.
    ///
    /// # Source
    /// lttng-modules 2.x `instrumentation/events/lttng-module/sched.h`: `p->prio - MAX_RT_PRIO`.
    fn prio(self, number: i64) -> i64 {
        const FIRST_NICE: i64 = 100;
        const NICE_VALUES: i64 = 40;
        if self.has_lttng_prio && number < NICE_VALUES {
            number.saturating_add(FIRST_NICE)
        } else {
            number
        }
    }
}

/// What to do with events, by stream and number.
pub(super) type Events = BTreeMap<(u64, u64), EventPlan>;

/// What to do with the events of one kind.
pub(super) struct EventPlan {
    count: CountId,
    known: Option<Known>,
    /// By index of the top fields.
    roles: Vec<Option<Role>>,
    context: Option<Rc<Type>>,
    fields: Option<Rc<Type>>,
}

/// The packet that is being read.
#[derive(Clone)]
struct Packet {
    start: u64,
    stream: StreamType,
    cpu: u32,
    /// In bits from the packet's start.
    at: u64,
    content_end: u64,
}

/// A clock whose low bits are written.
#[derive(Clone, Copy, Debug, Default)]
struct ClockValue(u64);

impl ClockValue {
    /// Takes the low `size` bits of a new time in.
    fn update(&mut self, low: u64, size: u32) {
        if size >= 64 {
            self.0 = low;
            return;
        }
        let mask = (1u64 << size) - 1;
        let mut time = (self.0 & !mask) | low;
        if time < self.0 {
            time = time.wrapping_add(mask + 1);
        }
        self.0 = time;
    }
}

/// Decodes types at bits.
struct Decoder<'a> {
    bytes: &'a [u8],
    at: u64,
    is_big: bool,
    clock: ClockValue,
    /// Numbers that were read, for lengths and choices: name, value, and the label of an enumeration.
    scope: Vec<(&'a str, i64, Option<&'a str>)>,
}

/// What was read, as far as it may be of use.
enum Read<'a> {
    Number(i64),
    Text(&'a [u8]),
    Nothing,
}

impl<'a> Decoder<'a> {
    fn align(&mut self, align: u32) {
        let align = u64::from(align.max(1));
        self.at = self.at.div_ceil(align) * align;
    }

    fn int(&mut self, int: &Int) -> Option<i64> {
        self.align(int.align);
        let is_big = int.is_big_endian.unwrap_or(self.is_big);
        let number = bits::read(self.bytes, self.at, int.size, is_big)?;
        self.at += u64::from(int.size);
        if int.is_time {
            self.clock.update(number, int.size);
        }
        Some(if int.is_signed {
            bits::sign(number, int.size)
        } else {
            number as i64
        })
    }

    /// Reads a value of the type; `name` is what its number is called in the scope.
    fn read(&mut self, kind: &'a Type, name: &'a str) -> Option<Read<'a>> {
        match kind {
            Type::Int(int) => {
                let number = self.int(int)?;
                self.scope.push((name, number, None));
                Some(Read::Number(number))
            }
            Type::Enum { int, labels } => {
                let number = self.int(int)?;
                let label = labels
                    .iter()
                    .find(|(_, first, last)| (*first..=*last).contains(&number))
                    .map(|(label, _, _)| label.as_str());
                self.scope.push((name, number, label));
                Some(Read::Number(number))
            }
            Type::Float { size, align } => {
                self.align(*align);
                self.at += u64::from(*size);
                (self.at <= self.bytes.len() as u64 * 8).then_some(Read::Nothing)
            }
            Type::Text => {
                self.align(8);
                let rest = self.bytes.get((self.at / 8) as usize..)?;
                let end = memchr::memchr(0, rest)?;
                self.at += (end as u64 + 1) * 8;
                Some(Read::Text(&rest[..end]))
            }
            Type::Struct(structure) => {
                self.align(structure.align);
                for (name, kind) in &structure.fields {
                    self.read(kind, name)?;
                }
                Some(Read::Nothing)
            }
            Type::Variant { tag, options, .. } => {
                let tag = tag.as_deref()?;
                let tag = tag.rsplit('.').next().unwrap_or(tag);
                let label = self
                    .scope
                    .iter()
                    .rev()
                    .find(|(name, _, _)| *name == tag)
                    .and_then(|(_, _, label)| *label)?;
                let (_, kind) = options.iter().find(|(option, _)| {
                    option == label || option.strip_prefix('_') == Some(label)
                })?;
                self.read(kind, name)
            }
            Type::Array { element, len } => self.elements(element, *len),
            Type::Sequence { element, len } => {
                let field = len.rsplit('.').next().unwrap_or(len);
                let len = self
                    .scope
                    .iter()
                    .rev()
                    .find(|(name, _, _)| *name == field)
                    .map(|(_, number, _)| *number)?;
                self.elements(element, u64::try_from(len).ok()?)
            }
        }
    }

    fn elements(&mut self, element: &'a Type, len: u64) -> Option<Read<'a>> {
        if let Type::Int(int) = element
            && int.size == 8
            && int.align <= 8
        {
            self.align(8);
            let start = usize::try_from(self.at / 8).ok()?;
            let bytes = self.bytes.get(start..)?.get(..usize::try_from(len).ok()?)?;
            self.at += len * 8;
            let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
            return Some(Read::Text(&bytes[..end]));
        }
        if len > MOST_ELEMENTS {
            return None;
        }
        let before = self.scope.len();
        for _ in 0..len {
            let start = self.at;
            self.read(element, "")?;
            self.scope.truncate(before);
            if self.at == start {
                // Elements without bits: as many as one likes, and nothing to read.
                break;
            }
        }
        Some(Read::Nothing)
    }

    fn value(&self, name: &str) -> Option<u64> {
        self.scope
            .iter()
            .find(|(found, _, _)| *found == name)
            .map(|(_, number, _)| *number as u64)
    }

    /// Like [`Decoder::value`], but the last of that name.
    fn last_value(&self, name: &str) -> Option<u64> {
        self.scope
            .iter()
            .rev()
            .find(|(found, _, _)| *found == name)
            .map(|(_, number, _)| *number as u64)
    }
}

impl FileStream {
    /// What to do with the events of a trace; the same for all of its files.
    pub(super) fn plans(trace: &Trace, ctx: &mut Context) -> Rc<Events> {
        let mut events = Events::new();
        for event in &trace.events {
            let name = event
                .name
                .rsplit_once(':')
                .map_or(event.name.as_str(), |(_, name)| name);
            let known = Known::from_name(name);
            let top = match event.fields.as_deref() {
                Some(Type::Struct(top)) => top.fields.as_slice(),
                _ => &[],
            };
            let roles = top
                .iter()
                .map(|(field, _)| {
                    role(known?, field, |other| {
                        top.iter().any(|(name, _)| name == other)
                    })
                })
                .collect();
            let plan = EventPlan {
                count: ctx.counts.id(name, known.is_some()),
                known,
                roles,
                context: event.context.clone(),
                fields: event.fields.clone(),
            };
            events.insert((event.stream, event.id), plan);
        }
        Rc::new(events)
    }

    pub(super) fn new(source: Source, trace: Rc<Trace>, events: Rc<Events>) -> Self {
        let release = trace
            .env
            .iter()
            .find(|(key, _)| key == "kernel_release" || key == "release")
            .map(|(_, release)| release.as_str());
        Self {
            name: source.name().to_owned(),
            piece: Piece::new(source, 0),
            events,
            packet: None,
            next_packet: 0,
            clock: ClockValue::default(),
            frequency: trace
                .clocks
                .first()
                .map_or(1_000_000_000, |clock| clock.frequency),
            dialect: Dialect {
                is_new_kernel: state::is_new_kernel(release),
                has_lttng_prio: trace
                    .env
                    .iter()
                    .any(|(key, value)| key == "tracer_name" && value.starts_with("lttng")),
            },
            discarded: BTreeMap::new(),
            last_time: 0,
            trace,
        }
    }

    fn ns(&self, ticks: u64) -> u64 {
        if self.frequency == 1_000_000_000 {
            ticks
        } else {
            (u128::from(ticks) * 1_000_000_000 / u128::from(self.frequency)) as u64
        }
    }

    fn problem(&self, at: u64, ctx: &mut Context, what: &str) {
        ctx.ledger
            .problem(format!("{} at byte {at}", self.name), what);
    }

    /// Reads the header of the next packet; false at the end.
    fn begin_packet(&mut self, ctx: &mut Context, out: &mut Vec<RawEvent>) -> bool {
        let start = self.next_packet;
        let here = self.piece.position();
        self.piece.take(start.saturating_sub(here));
        let trace = self.trace.clone();
        let bytes = self.piece.peek(LARGEST_EVENT);
        if bytes.is_empty() {
            return false;
        }
        let mut decoder = Decoder {
            bytes,
            at: 0,
            is_big: trace.is_big_endian,
            clock: self.clock,
            scope: Vec::new(),
        };
        let mut is_read = true;
        if let Some(header) = &trace.packet_header {
            is_read = decoder.read(header, "").is_some();
        }
        let magic = decoder.value("magic");
        let stream = decoder.value("stream_id").unwrap_or(0);
        let kind = trace
            .streams
            .iter()
            .find(|kind| kind.id == stream)
            .or_else(|| trace.streams.first().filter(|_| trace.streams.len() == 1));
        if !is_read || magic.is_some_and(|magic| magic != MAGIC) {
            self.next_packet = u64::MAX / 4;
            let what = "no packet begins here; the rest of the file is left out";
            self.problem(start, ctx, what);
            return false;
        }
        let Some(kind) = kind else {
            self.next_packet = u64::MAX / 4;
            self.problem(start, ctx, "a packet of a stream that is not described");
            return false;
        };
        if let Some(context) = &kind.packet_context
            && decoder.read(context, "").is_none()
        {
            self.next_packet = u64::MAX / 4;
            self.problem(start, ctx, "the header of a packet is cut off");
            return false;
        }
        let whole = u64::MAX / 8 - 64;
        let packet_bits = decoder
            .last_value("packet_size")
            .unwrap_or(whole)
            .min(whole);
        let content_end = decoder
            .last_value("content_size")
            .unwrap_or(packet_bits)
            .min(packet_bits);
        let cpu = decoder.last_value("cpu_id").unwrap_or(0) as u32;
        let begin = decoder
            .last_value("timestamp_begin")
            .unwrap_or(decoder.clock.0);
        let discarded = decoder.last_value("events_discarded");
        let at = decoder.at;
        if packet_bits < at {
            self.next_packet = u64::MAX / 4;
            self.problem(start, ctx, "a packet that is smaller than its header");
            return false;
        }
        self.clock = ClockValue(begin);
        self.next_packet = start.saturating_add(packet_bits / 8);
        self.packet = Some(Packet {
            start,
            stream: kind.clone(),
            cpu,
            at,
            content_end,
        });
        if let Some(total) = discarded {
            let before = self.discarded.insert((stream, cpu), total).unwrap_or(0);
            if total > before {
                let time = self.ns(begin).max(self.last_time);
                out.push(RawEvent::lost(time, cpu, Some(total - before)));
            }
        }
        true
    }

    /// Reads the next event of the packet; false at the packet's end.
    fn event(&mut self, ctx: &mut Context, out: &mut Vec<RawEvent>) -> bool {
        let Some(mut packet) = self.packet.take() else {
            return false;
        };
        if packet.at >= packet.content_end {
            return false;
        }
        let base = packet.at / 64 * 8;
        let here = self.piece.position();
        self.piece.take((packet.start + base).saturating_sub(here));
        let bytes = self.piece.peek(LARGEST_EVENT);
        let left = (packet.content_end - base * 8).div_ceil(8);
        let bytes = bytes
            .get(..usize::try_from(left).unwrap_or(usize::MAX))
            .unwrap_or(bytes);
        if bytes.is_empty() {
            self.problem(
                packet.start + base,
                ctx,
                "the file ends within a packet; read up to there",
            );
            self.next_packet = u64::MAX / 4;
            return false;
        }
        let mut decoder = Decoder {
            bytes,
            at: packet.at - base * 8,
            is_big: self.trace.is_big_endian,
            clock: self.clock,
            scope: Vec::new(),
        };
        let decoded = decode_event(&mut decoder, &packet, &self.events, self.dialect, ctx);
        let Some(mut decoded) = decoded else {
            let at = packet.start + base;
            self.problem(
                at,
                ctx,
                "an event cannot be read; the rest of its packet is left out",
            );
            return false;
        };
        let (end, clock) = (decoder.at, decoder.clock);
        let is_same_place = end + base * 8 <= packet.at;
        packet.at = base * 8 + end;
        self.clock = clock;
        if let Some(event) = &mut decoded {
            event.time = self.ns(clock.0);
            self.last_time = event.time;
            out.push(*event);
        }
        if is_same_place {
            self.problem(
                packet.start + base,
                ctx,
                "events without bits; the rest of the packet is left out",
            );
            return false;
        }
        self.packet = Some(packet);
        true
    }
}

/// Decodes one event. `None`: it cannot be read; `Some(None)`: it is of no use to us.
fn decode_event<'a>(
    decoder: &mut Decoder<'a>,
    packet: &'a Packet,
    events: &'a BTreeMap<(u64, u64), EventPlan>,
    dialect: Dialect,
    ctx: &mut Context,
) -> Option<Option<RawEvent>> {
    let mut id = 0;
    if let Some(header) = &packet.stream.event_header {
        decoder.read(header, "")?;
        // In the extended form the last one counts.
        id = decoder.last_value("id").unwrap_or(0);
    }
    let header_scope = decoder.scope.len();
    let mut current = NONE;
    if let Some(context) = &packet.stream.event_context {
        decoder.read(context, "")?;
        let tid = decoder.scope[header_scope..]
            .iter()
            .find(|(name, _, _)| matches!(*name, "tid" | "_tid"));
        current = tid.map_or(NONE, |(_, number, _)| assemble::pid(*number));
    }
    let plan = events.get(&(packet.stream.id, id))?;
    if let Some(context) = &plan.context {
        decoder.read(context, "")?;
    }
    let mut parts = Parts::EMPTY;
    let (mut a_comm, mut b_comm) = (None, None);
    let mut cpu = packet.cpu;
    match plan.fields.as_deref() {
        Some(Type::Struct(top)) => {
            decoder.align(top.align);
            for ((name, kind), role) in top.fields.iter().zip(&plan.roles) {
                let read = decoder.read(kind, name)?;
                match (role, read) {
                    (Some(Role::A), Read::Number(number)) => parts.a = number,
                    (Some(Role::APrio), Read::Number(number)) => {
                        parts.a_prio = dialect.prio(number)
                    }
                    (Some(Role::B), Read::Number(number)) => parts.b = number,
                    (Some(Role::BPrio), Read::Number(number)) => {
                        parts.b_prio = dialect.prio(number)
                    }
                    (Some(Role::First), Read::Number(number)) => parts.first = number,
                    (Some(Role::Second), Read::Number(number)) => parts.second = number,
                    (Some(Role::Cpu), Read::Number(number)) => cpu = number as u32,
                    (Some(Role::Current), Read::Number(number)) => {
                        current = assemble::pid(number);
                    }
                    (Some(Role::AComm), Read::Text(text)) => a_comm = Some(text),
                    (Some(Role::BComm), Read::Text(text)) => b_comm = Some(text),
                    _ => {}
                }
            }
        }
        Some(kind) => {
            decoder.read(kind, "")?;
        }
        None => {}
    }
    ctx.counts.add(plan.count);
    let Some(known) = plan.known else {
        return Some(None);
    };
    if known == Known::Switch {
        parts.state = state::from_number(parts.first as u64, dialect.is_new_kernel);
    }
    let (a, b) = (assemble::pid(parts.a), assemble::pid(parts.b));
    if let Some(comm) = a_comm.filter(|_| a != 0 && a != NONE) {
        parts.a_name = ctx.comm(a, comm);
    }
    if let Some(comm) = b_comm.filter(|_| b != 0 && b != NONE) {
        parts.b_name = ctx.comm(b, comm);
    }
    Some(assemble(known, 0, cpu, current, &parts, ctx))
}

impl Stream for FileStream {
    fn refill(&mut self, ctx: &mut Context, out: &mut Vec<RawEvent>) -> bool {
        let start = out.len();
        while out.len() - start < BATCH {
            if self.packet.is_none() && !self.begin_packet(ctx, out) {
                return false;
            }
            if !self.event(ctx, out) {
                self.packet = None;
            }
        }
        true
    }
}
