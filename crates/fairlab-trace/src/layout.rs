//! The kernel's `format` files: which field of an event is where.

use crate::assemble::{self, Parts, assemble};
use crate::context::Context;
use crate::counts::CountId;
use crate::endian::Endian;
use crate::known::Known;
use crate::raw::{NONE, RawEvent};
use crate::state::{self, StateBits};

/// A `format` file, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventFormat {
    pub name: String,
    pub id: u32,
    pub fields: Vec<Field>,
    pub print: String,
}

/// One field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub name: String,
    pub offset: u32,
    pub size: u32,
    pub is_signed: bool,
    /// The field holds offset and length of its data, which are elsewhere in the event.
    pub is_data_loc: bool,
    /// The same, counted from the end of the field.
    pub is_rel_loc: bool,
}

impl EventFormat {
    /// Reads a `format` file; `None` if it has no name or number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut name = None;
        let mut id = None;
        let mut fields = Vec::new();
        let mut print = String::new();
        for line in text.lines() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("name:") {
                name = Some(rest.trim().to_owned());
            } else if let Some(rest) = line.strip_prefix("ID:") {
                id = rest.trim().parse().ok();
            } else if let Some(rest) = line.strip_prefix("field:") {
                fields.extend(Field::parse(rest));
            } else if let Some(rest) = line.strip_prefix("print fmt:") {
                rest.trim().clone_into(&mut print);
            }
        }
        Some(Self {
            name: name?,
            id: id?,
            fields,
            print,
        })
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Field {
    /// Reads `char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let declaration = parts.next()?.trim();
        let (mut offset, mut size, mut is_signed) = (None, None, None);
        for part in parts {
            match part.trim().split_once(':') {
                Some(("offset", number)) => offset = number.trim().parse().ok(),
                Some(("size", number)) => size = number.trim().parse().ok(),
                Some(("signed", number)) => is_signed = Some(number.trim() != "0"),
                _ => {}
            }
        }
        let word = declaration.split_whitespace().next_back()?;
        let word = word.trim_start_matches('*');
        Some(Self {
            name: word.split('[').next()?.to_owned(),
            offset: offset?,
            size: size?,
            // Kernels before 2.6.32 do not say; their tracepoints say it by type.
            is_signed: is_signed.unwrap_or_else(|| !declaration.contains("unsigned")),
            is_data_loc: declaration.contains("__data_loc"),
            is_rel_loc: declaration.contains("__rel_loc"),
        })
    }

    fn number(&self) -> Number {
        Number::new(self.offset, self.size, self.is_signed)
    }
}

/// Where a number is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    offset: u32,
    size: u8,
    is_signed: bool,
    /// The bits that a word which begins there has above the number; 64 for numbers of odd sizes.
    above: u8,
}

impl Number {
    fn new(offset: u32, size: u32, is_signed: bool) -> Self {
        Self {
            offset,
            size: size.min(255) as u8,
            is_signed,
            above: match size {
                1 | 2 | 4 | 8 => 64 - 8 * size as u8,
                _ => 64,
            },
        }
    }

    // Seven of them make an event, and calls would cost more than what they do.
    #[inline(always)]
    pub(crate) fn read(self, endian: Endian, bytes: &[u8]) -> Option<i64> {
        // One load and two shifts whatever the size, where there are eight bytes.
        let at = self.offset as usize;
        if let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk)
            && self.above < 64
            && !endian.is_big
        {
            let word = u64::from_le_bytes(*word) << self.above;
            return Some(if self.is_signed {
                word.cast_signed() >> self.above
            } else {
                (word >> self.above).cast_signed()
            });
        }
        endian.int(bytes, at, self.size, self.is_signed)
    }
}

/// Where a task's name is.
#[derive(Clone, Copy, Debug)]
enum Comm {
    /// The usual array.
    Sixteen(usize),
    /// An array of another size.
    Array(usize, usize),
    /// Somewhere behind the fields.
    Located { at: usize, is_relative: bool },
}

impl Comm {
    fn of(field: &Field) -> Self {
        let offset = field.offset as usize;
        if field.is_data_loc || field.is_rel_loc {
            Self::Located {
                at: offset,
                is_relative: field.is_rel_loc,
            }
        } else if field.size == 16 {
            Self::Sixteen(offset)
        } else {
            Self::Array(offset, field.size as usize)
        }
    }

    /// The number of the name.
    #[inline]
    fn read(&self, endian: Endian, bytes: &[u8], pid: u32, ctx: &mut Context) -> Option<u32> {
        let text = match *self {
            Self::Sixteen(offset) => {
                let comm = bytes.get(offset..)?.first_chunk()?;
                return Some(ctx.comm16(pid, *comm));
            }
            Self::Array(offset, size) => bytes.get(offset..)?.get(..size)?,
            Self::Located { at, is_relative } => {
                let packed = endian.u32(bytes, at)?;
                let mut offset = (packed & 0xffff) as usize;
                if is_relative {
                    offset += at + 4;
                }
                let length = (packed >> 16) as usize;
                let text = bytes.get(offset..)?;
                // Names have at most 16 bytes. They are read as one word, which may reach behind the name, or, at
                // the end of the event, begin before it.
                let word = match (text.first_chunk(), bytes.last_chunk()) {
                    (Some(word), _) => Some(u128::from_le_bytes(*word)),
                    (None, Some(word)) if !text.is_empty() => {
                        Some(u128::from_le_bytes(*word) >> (128 - 8 * text.len()))
                    }
                    _ => None,
                };
                if let Some(word) = word
                    && (1..=text.len().min(16)).contains(&length)
                {
                    let comm = word & (u128::MAX >> (128 - 8 * length));
                    return Some(ctx.comm16(pid, comm.to_le_bytes()));
                }
                text.get(..length)?
            }
        };
        let end = memchr::memchr(0, text).unwrap_or(text.len());
        Some(ctx.comm(pid, &text[..end]))
    }
}

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
            pid: pid.iter().find_map(|name| format.field(name))?.number(),
            comm: format.field(comm).map(Comm::of),
            prio: format.field(prio).map(Field::number),
        })
    }
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

    /// Makes an event of the bytes, and counts it. `current`, where it is known otherwise, takes the
    /// place of the event's own `common_pid`.
    #[inline]
    pub(crate) fn decode(
        &self,
        endian: Endian,
        bytes: &[u8],
        time: u64,
        cpu: u32,
        current: Option<u32>,
        ctx: &mut Context,
    ) -> Option<RawEvent> {
        ctx.counts.add(self.count);
        self.plan
            .as_ref()?
            .decode(endian, bytes, time, cpu, current, ctx)
    }
}

impl Plan {
    fn new(known: Known, format: &EventFormat) -> Option<Self> {
        let number = |name: &str| format.field(name).map(Field::number);
        let task = |prio| Who::find(format, &["pid", "tid"], "comm", prio);
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
                plan.a = Some(Who::find(format, &["prev_pid"], "prev_comm", "prev_prio")?);
                plan.b = Some(Who::find(format, &["next_pid"], "next_comm", "next_prio")?);
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
                plan.a = Some(Who::find(format, &parent, "parent_comm", "")?);
                let child = ["child_pid", "child_tid"];
                plan.b = Some(Who::find(format, &child, "child_comm", "")?);
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
            Known::TaskRename => plan.a = Some(Who::find(format, &["pid"], "newcomm", "")?),
            Known::TaskNew => plan.a = Some(task("")?),
        }
        Some(plan)
    }

    #[inline]
    fn decode(
        &self,
        endian: Endian,
        bytes: &[u8],
        time: u64,
        cpu: u32,
        current: Option<u32>,
        ctx: &mut Context,
    ) -> Option<RawEvent> {
        let mut parts = Parts::EMPTY;
        if let Some(who) = &self.a {
            parts.a = who.pid.read(endian, bytes)?;
            let pid = assemble::pid(parts.a);
            if pid != 0
                && let Some(comm) = &who.comm
            {
                parts.a_name = comm.read(endian, bytes, pid, ctx)?;
            }
            if let Some(prio) = who.prio {
                parts.a_prio = prio.read(endian, bytes)?;
            }
        }
        if let Some(who) = &self.b {
            parts.b = who.pid.read(endian, bytes)?;
            let pid = assemble::pid(parts.b);
            if pid != 0
                && let Some(comm) = &who.comm
            {
                parts.b_name = comm.read(endian, bytes, pid, ctx)?;
            }
            if let Some(prio) = who.prio {
                parts.b_prio = prio.read(endian, bytes)?;
            }
        }
        if let Some(first) = self.first {
            parts.first = first.read(endian, bytes)?;
        }
        if let Some(second) = self.second {
            parts.second = second.read(endian, bytes)?;
        }
        if self.known == Known::Switch {
            let state = parts.first as u64;
            parts.state = match &self.state_bits {
                Some(bits) => bits.decode(state),
                None => state::from_old_number(state),
            };
        }
        let current = match current {
            Some(current) => current,
            None => match self.common_pid {
                Some(number) => assemble::pid(number.read(endian, bytes)?),
                None => NONE,
            },
        };
        assemble(self.known, time, cpu, current, &parts, ctx)
    }
}

/// The layouts of all events, by the number in `common_type`.
#[derive(Clone, Debug)]
pub(crate) struct Layouts {
    endian: Endian,
    common_type: Number,
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
            common_type: Number::new(0, 2, false),
            by_id: Vec::new(),
            unknown: ctx.counts.id("(no format)", false),
        }
    }

    pub(crate) fn add(&mut self, format: &EventFormat, ctx: &mut Context) {
        if format.id >= MOST_IDS {
            return;
        }
        if let Some(field) = format.field("common_type") {
            self.common_type = field.number();
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
    pub(crate) fn decode(
        &self,
        bytes: &[u8],
        time: u64,
        cpu: u32,
        current: Option<u32>,
        ctx: &mut Context,
    ) -> Option<RawEvent> {
        let id = self.common_type.read(self.endian, bytes)?;
        match self.get(id as u32) {
            Some(layout) => layout.decode(self.endian, bytes, time, cpu, current, ctx),
            None => {
                ctx.counts.add(self.unknown);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_file_is_taken_apart() {
        let text = "name: x\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:__data_loc char[] comm;\toffset:8;\tsize:4;\tsigned:1;\n\
            \tfield:char prev_comm[16];\toffset:12;\tsize:16;\tsigned:0;\n\nprint fmt: \"%s\", REC->x\n";
        let format = EventFormat::parse(text).unwrap();
        assert_eq!((format.name.as_str(), format.id), ("x", 7));
        assert!(format.field("comm").unwrap().is_data_loc);
        assert_eq!(format.field("prev_comm").unwrap().size, 16);
        assert_eq!(format.print, "\"%s\", REC->x");
    }

    /// Names that lie anywhere in an event, and events that end anywhere behind them.
    #[test]
    fn a_located_name_is_read_wherever_the_event_ends() {
        let text = b"0123456789abcdef";
        for length in 0..=text.len() {
            for behind in 0..20 {
                let mut bytes = vec![0xff; 8];
                bytes.extend(((length as u32) << 16 | 12).to_le_bytes());
                bytes.extend(&text[..length]);
                bytes.resize(bytes.len() + behind, b'x');
                let comm = Comm::Located {
                    at: 8,
                    is_relative: false,
                };
                let mut ctx = Context::new();
                let number = comm.read(Endian::LITTLE, &bytes, 7, &mut ctx);
                let name = ctx.names.get(fairlab_event::NameId(number.unwrap()));
                assert_eq!(name.as_bytes(), &text[..length], "{behind} bytes behind it");
            }
        }
        let beyond = [20, 0, 3, 0];
        let comm = Comm::Located {
            at: 0,
            is_relative: false,
        };
        let read = comm.read(Endian::LITTLE, &beyond, 7, &mut Context::new());
        assert_eq!(read, None);
    }
}
