//! Events from the records of a file: from samples, and from the others that tell of tasks and losses.

use std::collections::{BTreeMap, BTreeSet};

use super::attr::{Plain, SampleLayout};
use super::header::Description;
use super::record;
use crate::context::Context;
use crate::counts::CountId;
use crate::endian::Endian;
use crate::known::Known;
use crate::layout::{Layouts, Stamp};
use crate::raw::{NONE, RawEvent, RawKind};

/// Numbers of attributes whose layout is at hand.
const RECENT: usize = 64;

/// Makes events of records.
pub(super) struct Decoder {
    pub name: String,
    pub endian: Endian,
    layouts: Layouts,
    /// The fields of samples; by number only where attributes differ.
    layout: Option<SampleLayout>,
    /// The same in short, where all samples are alike.
    plain: Option<Plain>,
    by_id: BTreeMap<u64, SampleLayout>,
    /// Where the number is; without one nothing is there.
    id_at: usize,
    /// The layouts that were found last, by the low bits of the number: there are as many numbers as
    /// events times CPUs, and a tree of them costs more than all else about a sample.
    recent: Box<[Recent; RECENT]>,
    /// Forks and exits are told by tracepoints, too.
    has_fork: bool,
    has_exit: bool,
    others: CountId,
    no_cpu_told: bool,
    foreign: u64,
}

/// The fields of samples of one number.
#[derive(Clone, Copy, Debug)]
struct Recent {
    id: u64,
    layout: Option<SampleLayout>,
    plain: Option<Plain>,
}

impl Recent {
    const NONE: Self = Self {
        id: u64::MAX,
        layout: None,
        plain: None,
    };

    #[cold]
    fn find(&mut self, id: u64, by_id: &BTreeMap<u64, SampleLayout>) {
        self.id = id;
        self.layout = by_id.get(&id).copied();
        self.plain = self.layout.and_then(|layout| layout.plain());
    }
}

impl Decoder {
    pub(super) fn new(name: &str, description: &Description, ctx: &mut Context) -> Self {
        let mut layouts = Layouts::new(description.endian, ctx);
        for format in &description.formats {
            layouts.add(format, ctx);
        }
        let traced: BTreeSet<u64> = description
            .attrs
            .iter()
            .filter(|attr| attr.is_tracepoint)
            .map(|attr| attr.config)
            .collect();
        let has = |known: Known| {
            description.formats.iter().any(|format| {
                Known::from_name(&format.name) == Some(known)
                    && traced.contains(&u64::from(format.id))
            })
        };
        let first = description.attrs.first().map(|attr| attr.layout);
        let is_uniform = description
            .attrs
            .iter()
            .all(|attr| Some(attr.layout) == first);
        let mut by_id = BTreeMap::new();
        if !is_uniform {
            for attr in &description.attrs {
                by_id.extend(attr.ids.iter().map(|&id| (id, attr.layout)));
            }
        }
        if description.attrs.is_empty() {
            ctx.ledger.problem(
                name,
                "nothing says what the records mean (no attributes); no event can be read",
            );
        }
        Self {
            name: name.to_owned(),
            endian: description.endian,
            layouts,
            layout: first,
            plain: first
                .filter(|_| is_uniform)
                .and_then(|layout| layout.plain()),
            by_id,
            id_at: first
                .and_then(|layout| layout.id)
                .map_or(usize::MAX, usize::from),
            recent: Box::new([Recent::NONE; RECENT]),
            has_fork: has(Known::Fork),
            has_exit: has(Known::Exit),
            others: ctx.counts.id("(other samples)", false),
            no_cpu_told: false,
            foreign: 0,
        }
    }

    /// Which fields this sample has, where samples differ.
    #[inline]
    fn recent(&mut self, body: &[u8]) -> Option<&Recent> {
        // The number is at the same place in all of them, or there would be no telling.
        let id = self.endian.u64(body, self.id_at)?;
        let recent = &mut self.recent[id as usize % RECENT];
        if recent.id != id {
            recent.find(id, &self.by_id);
        }
        Some(recent)
    }

    #[inline]
    fn plain_of(&mut self, body: &[u8]) -> Option<Plain> {
        if self.by_id.is_empty() {
            return self.plain;
        }
        self.recent(body)?.plain
    }

    fn layout_of(&mut self, body: &[u8]) -> Option<SampleLayout> {
        if self.by_id.is_empty() {
            return self.layout;
        }
        self.recent(body)?.layout
    }

    // What is most of a recording is decoded without a call.
    #[inline(always)]
    pub(super) fn sample(&mut self, body: &[u8], ctx: &mut Context) -> Option<RawEvent> {
        let plain = self.plain_of(body);
        if let Some(told) = plain.and_then(|plain| plain.read(body, self.endian)) {
            let stamp = Stamp {
                time: told.time,
                cpu: told.cpu,
                current: Some(told.tid),
            };
            return self.layouts.decode(told.raw, stamp, ctx);
        }
        self.odd_sample(body, ctx)
    }

    /// A sample whose fields are elsewhere, or not all there.
    #[cold]
    fn odd_sample(&mut self, body: &[u8], ctx: &mut Context) -> Option<RawEvent> {
        let Some(layout) = self.layout_of(body) else {
            self.foreign += 1;
            return None;
        };
        if !layout.is_tracepoint {
            ctx.counts.add(self.others);
            return None;
        }
        let word = |at: Option<u16>| self.endian.u32(body, usize::from(at?));
        let (Some(raw), Some(time)) = (
            layout.raw(body, self.endian),
            layout
                .time
                .and_then(|at| self.endian.u64(body, usize::from(at))),
        ) else {
            self.foreign += 1;
            return None;
        };
        let current = word(layout.tid);
        let cpu = word(layout.cpu);
        if cpu.is_none() && !self.no_cpu_told {
            self.no_cpu_told = true;
            ctx.ledger.problem(
                self.name.clone(),
                "samples do not say their CPU; they are only counted (record with --sample-cpu or -a)",
            );
        }
        let stamp = Stamp {
            time,
            cpu: cpu.unwrap_or(0),
            current,
        };
        let event = self.layouts.decode(raw, stamp, ctx)?;
        cpu.is_some().then_some(event)
    }

    /// Records other than samples.
    pub(super) fn other(
        &mut self,
        kind: u32,
        body: &[u8],
        newest: u64,
        ctx: &mut Context,
    ) -> Option<RawEvent> {
        let word = |at| self.endian.u32(body, at);
        let trailer = self.layout.map(|layout| layout.trailer).unwrap_or_default();
        let from_end = |back: u16| body.len().checked_sub(usize::from(back));
        let time = trailer
            .time
            .and_then(|back| self.endian.u64(body, from_end(back)?));
        let cpu = trailer
            .cpu
            .and_then(|back| self.endian.u32(body, from_end(back)?));
        let on_cpu = cpu.unwrap_or(NONE);
        match kind {
            record::LOST | record::LOST_SAMPLES => {
                let at = if kind == record::LOST { 8 } else { 0 };
                let count = self.endian.u64(body, at)?;
                let time = time.filter(|&time| time > 0).unwrap_or(newest);
                Some(RawEvent::lost(time, on_cpu, Some(count)))
            }
            record::COMM => {
                let (process, tid) = (word(0)?, word(4)?);
                let text = body.get(8..)?;
                let end = memchr::memchr(0, text)?;
                let name = &text[..end];
                // What perf says of tasks that ran before has no time; it names them once they are seen.
                let Some(time) = time.filter(|&time| time > 0) else {
                    ctx.list(tid, name);
                    ctx.tasks.belongs(tid, process, NONE);
                    return None;
                };
                let name = ctx.comm(tid, name);
                let mut event = RawEvent::new(time, on_cpu, RawKind::Process);
                event.value = u64::from(process);
                event.a = tid;
                event.a_name = name;
                Some(event)
            }
            record::FORK | record::EXIT => {
                let (process, tid, parent) = (word(0)?, word(8)?, word(12)?);
                let Some(time) = self.endian.u64(body, 16).filter(|&time| time > 0) else {
                    if kind == record::FORK {
                        ctx.tasks.belongs(tid, process, parent);
                    }
                    return None;
                };
                if (kind == record::EXIT && self.has_exit) || cpu.is_none() {
                    return None;
                }
                if kind == record::FORK && self.has_fork {
                    let mut event = RawEvent::new(time, on_cpu, RawKind::Process);
                    event.value = u64::from(process);
                    event.current = parent;
                    event.a = tid;
                    return Some(event);
                }
                let mut event = RawEvent::new(time, on_cpu, RawKind::Exit);
                event.a = tid;
                if kind == record::FORK {
                    event.kind = RawKind::Fork;
                    event.value = u64::from(process);
                    event.a = parent;
                    event.b = tid;
                }
                Some(event)
            }
            _ => None,
        }
    }

    pub(super) fn finish(&mut self, ctx: &mut Context) {
        if self.foreign > 0 {
            ctx.ledger.problem(
                self.name.clone(),
                format!(
                    "{} samples fit no attribute and are left out",
                    std::mem::take(&mut self.foreign)
                ),
            );
        }
    }
}
