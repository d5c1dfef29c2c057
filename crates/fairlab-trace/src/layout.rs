//! How the events of each kind are read, by their `format` files.

use crate::assemble::{self, ABSENT, Parts, assemble};
use crate::context::Context;
use crate::counts::CountId;
use crate::endian::Endian;
use crate::field::{Comm, Number};
use crate::format::EventFormat;
use crate::known::Known;
use crate::raw::{NONE, RawEvent};
use crate::state::{self, StateBits};

/// A task among the fields.
#[derive(Clone, Copy, Debug)]
struct Who {
    pid: Number,
    comm: Option<Comm>,
    prio: Option<Number>,
}

impl Who {
    fn find(format: &EventFormat, pid: &[&str], comm: &str, prio: &str) -> Option<Self> {
        Some(Self {
            pid: Number::of(pid.iter().find_map(|name| format.field(name))?)?,
            comm: format.field(comm).map(Comm::of),
            prio: format.field(prio).and_then(Number::of),
        })
    }

    /// The task's number, that of its name, and its priority.
    #[inline(always)]
    fn read(&self, endian: Endian, bytes: &[u8], ctx: &mut Context) -> Option<(i64, u32, i64)> {
        let number = self.pid.read(endian, bytes)?;
        let pid = assemble::pid(number);
        let name = match &self.comm {
            Some(comm) if pid != 0 => comm.read(endian, bytes, pid, ctx)?,
            _ => NONE,
        };
        let prio = match &self.prio {
            Some(prio) => prio.read(endian, bytes)?,
            None => ABSENT,
        };
        Some((number, name, prio))
    }
}

/// When and where an event was recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub time: u64,
    pub cpu: u32,
    /// Who ran there, if that is known otherwise than by the event's own `common_pid`.
    pub current: Option<u32>,
}

/// How to read the events of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub count: CountId,
    /// What to make of it; `None` for events that are only counted.
    plan: Option<Box<Plan>>,
}

#[derive(Clone, Debug)]
struct Plan {
    known: Known,
    common_pid: Option<Number>,
    a: Option<Who>,
    b: Option<Who>,
    first: Option<Number>,
    second: Option<Number>,
    state_bits: Option<StateBits>,
}

impl Layout {
    /// Prepares reading events of this format.
    pub(crate) fn new(format: &EventFormat, ctx: &mut Context) -> Self {
        let plan = Known::from_name(&format.name).and_then(|known| Plan::new(known, format));
        Self {
            count: ctx.counts.id(&format.name, plan.is_some()),
            plan: plan.map(Box::new),
        }
    }

    /// Is an event made of it, or is it only counted?
    pub(crate) fn is_decoded(&self) -> bool {
        self.plan.is_some()
    }

    /// Makes an event of the bytes, and counts it.
    #[inline]
    pub(crate) fn decode(
        &self,
        endian: Endian,
        bytes: &[u8],
        stamp: Stamp,
        ctx: &mut Context,
    ) -> Option<RawEvent> {
        ctx.counts.add(self.count);
        self.plan.as_ref()?.decode(endian, bytes, stamp, ctx)
    }
}

impl Plan {
    fn new(known: Known, format: &EventFormat) -> Option<Self> {
        let number = |name: &str| Number::of(format.field(name)?);
        let who = |pid: &[&str], comm, prio| Who::find(format, pid, comm, prio);
        let task = |prio| who(&["pid", "tid"], "comm", prio);
        let mut plan = Self {
            known,
            common_pid: number("common_pid"),
            a: None,
            b: None,
            first: None,
            second: None,
            state_bits: None,
        };
        match known {
            Known::Switch => {
                plan.a = Some(who(&["prev_pid"], "prev_comm", "prev_prio")?);
                plan.b = Some(who(&["next_pid"], "next_comm", "next_prio")?);
                plan.first = number("prev_state");
                plan.state_bits = StateBits::from_print_format(&format.print);
            }
            Known::Waking | Known::Wakeup | Known::WakeupNew => {
                plan.a = Some(task("prio")?);
                plan.first = number("target_cpu").or_else(|| number("cpu"));
                plan.second = number("success");
            }
            Known::Migrate => {
                plan.a = Some(task("prio")?);
                plan.first = Some(number("orig_cpu")?);
                plan.second = Some(number("dest_cpu")?);
            }
            Known::Fork => {
                let parent = ["parent_pid", "parent_tid", "pid"];
                plan.a = Some(who(&parent, "parent_comm", "")?);
                let child = ["child_pid", "child_tid"];
                plan.b = Some(who(&child, "child_comm", "")?);
            }
            Known::Exec => plan.a = Some(task("")?),
            Known::Exit => plan.a = Some(task("prio")?),
            Known::StatRuntime => {
                plan.a = Some(task("")?);
                plan.first = Some(number("runtime")?);
            }
            Known::StatWait | Known::StatSleep | Known::StatBlocked | Known::StatIoWait => {
                plan.a = Some(task("")?);
                plan.first = Some(number("delay")?);
            }
            Known::PiSetprio => plan.a = Some(task("newprio")?),
            Known::CpuIdle | Known::CpuFrequency => {
                plan.first = Some(number("state")?);
                plan.second = number("cpu_id");
            }
            Known::TaskRename => plan.a = Some(who(&["pid"], "newcomm", "")?),
            Known::TaskNew => plan.a = Some(task("")?),
        }
        Some(plan)
    }

    #[inline]
    fn decode(
        &self,
        endian: Endian,
        bytes: &[u8],
        stamp: Stamp,
        ctx: &mut Context,
    ) -> Option<RawEvent> {
        let mut decode = |known, endian| self.decode_as(known, endian, bytes, stamp, ctx);
        if endian.is_big {
            return decode(self.known, endian);
        }
        // The kinds that recordings are full of have code of their own, without the others' branches.
        match self.known {
            Known::Switch => decode(Known::Switch, Endian::LITTLE),
            Known::StatRuntime => decode(Known::StatRuntime, Endian::LITTLE),
            Known::Waking => decode(Known::Waking, Endian::LITTLE),
            Known::Wakeup => decode(Known::Wakeup, Endian::LITTLE),
            known => decode(known, Endian::LITTLE),
        }
    }

    #[inline(always)]
    fn decode_as(
        &self,
        known: Known,
        endian: Endian,
        bytes: &[u8],
        stamp: Stamp,
        ctx: &mut Context,
    ) -> Option<RawEvent> {
        let mut parts = Parts::EMPTY;
        if let Some(who) = &self.a {
            (parts.a, parts.a_name, parts.a_prio) = who.read(endian, bytes, ctx)?;
        }
        if let Some(who) = &self.b {
            (parts.b, parts.b_name, parts.b_prio) = who.read(endian, bytes, ctx)?;
        }
        if let Some(first) = &self.first {
            parts.first = first.read(endian, bytes)?;
        }
        if let Some(second) = &self.second {
            parts.second = second.read(endian, bytes)?;
        }
        if known == Known::Switch {
            let state = parts.first as u64;
            parts.state = match &self.state_bits {
                Some(bits) => bits.decode(state),
                None => state::from_old_number(state),
            };
        }
        let current = match stamp.current {
            Some(current) => current,
            None => match &self.common_pid {
                Some(number) => assemble::pid(number.read(endian, bytes)?),
                None => NONE,
            },
        };
        assemble(known, stamp.time, stamp.cpu, current, &parts, ctx)
    }
}

/// The layouts of all events, by the number in `common_type`.
#[derive(Clone, Debug)]
pub(crate) struct Layouts {
    endian: Endian,
    /// Where the number of an event is, and its size.
    common_type: (usize, u8),
    by_id: Vec<Option<Layout>>,
    unknown: CountId,
}

/// Numbers of events have 16 bits.
const MOST_IDS: u32 = 1 << 16;

impl Layouts {
    pub(crate) fn new(endian: Endian, ctx: &mut Context) -> Self {
        Self {
            endian,
            // Until a format says otherwise.
            common_type: (0, 2),
            by_id: Vec::new(),
            unknown: ctx.counts.id("(no format)", false),
        }
    }

    pub(crate) fn add(&mut self, format: &EventFormat, ctx: &mut Context) {
        if format.id >= MOST_IDS {
            return;
        }
        if let Some(field) = format.field("common_type") {
            self.common_type = (field.offset as usize, field.size.min(255) as u8);
        }
        let index = format.id as usize;
        if index >= self.by_id.len() {
            self.by_id.resize(index + 1, None);
        }
        self.by_id[index] = Some(Layout::new(format, ctx));
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Layout> {
        self.by_id.get(id as usize)?.as_ref()
    }

    pub(crate) const fn endian(&self) -> Endian {
        self.endian
    }

    /// Is there any event that becomes one of ours?
    pub(crate) fn is_any_decoded(&self) -> bool {
        self.by_id.iter().flatten().any(Layout::is_decoded)
    }

    /// Makes an event of the bytes of a tracepoint, and counts it.
    #[inline]
    pub(crate) fn decode(&self, bytes: &[u8], stamp: Stamp, ctx: &mut Context) -> Option<RawEvent> {
        let id = match self.common_type {
            (at, 2) => u32::from(self.endian.u16(bytes, at)?),
            (at, size) => self.endian.int(bytes, at, size, false)? as u32,
        };
        match self.get(id) {
            Some(layout) => layout.decode(self.endian, bytes, stamp, ctx),
            None => {
                ctx.counts.add(self.unknown);
                None
            }
        }
    }
}
