//! Text: ftrace's `trace` file, `trace-cmd report`, systrace, `perf script`, dumps in kernel logs.

mod args;
mod line;
mod map;
mod number;
mod timehist;

use std::collections::BTreeMap;

use crate::context::{Context, Reader};
use crate::detect::Opened;
use crate::error::OpenError;
use crate::known::Known;
use crate::metadata::{Format, Metadata};
use crate::raw::{NONE, RawEvent};
use crate::source::{Piece, Source};
use crate::window::Window;

/// Longest line; what is longer is cut, and its rest taken for a line of its own.
const LONGEST_LINE: usize = 64 << 10;

/// Opens a text.
pub(crate) fn open(source: &Source, _ctx: &mut Context) -> Result<Opened, OpenError> {
    let head = source.bytes(0, 64 << 10);
    let (form, format) = if timehist::is_timehist(&head) {
        (Form::Timehist, Format::Timehist)
    } else if map::is_map(&head) {
        (Form::Map(map::Map::default()), Format::SchedMap)
    } else {
        (Form::Events, Format::Text)
    };
    Ok(Opened {
        metadata: header(&head),
        format,
        reader: Box::new(TextReader::new(source, is_html(&head), form)),
    })
}

fn is_html(head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    let start = start.get(..15).unwrap_or(start).to_ascii_lowercase();
    start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}

/// What the lines before the first event say.
fn header(head: &[u8]) -> Metadata {
    let mut metadata = Metadata::default();
    for line in head.split(|&byte| byte == b'\n').take(200) {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let line = line.trim();
        if let Some(count) = line.strip_prefix("cpus=") {
            metadata.nr_cpus = count.parse().ok();
            metadata.tool = Some("trace-cmd".into());
        } else if let Some((_, count)) = line.split_once("#P:") {
            let digits = count.trim_start();
            let end = digits
                .find(|letter: char| !letter.is_ascii_digit())
                .unwrap_or(digits.len());
            metadata.nr_cpus = digits[..end].parse().ok();
        } else if let Some((key, value)) = line
            .strip_prefix('#')
            .and_then(|line| line.split_once(" : "))
        {
            // The header of `perf script --header`.
            let value = Some(value.trim().to_owned());
            match key.trim() {
                "hostname" => metadata.hostname = value,
                "os release" => metadata.kernel_release = value,
                "arch" => metadata.arch = value,
                "nrcpus avail" => metadata.nr_cpus = value.and_then(|value| value.parse().ok()),
                "cpudesc" => metadata.cpu_model = value,
                "perf version" => metadata.tool = value.map(|value| format!("perf {value}")),
                "cmdline" => metadata.command_line = value,
                _ => {}
            }
        }
    }
    metadata
}

/// What lines are.
enum Form {
    /// Events.
    Events,
    /// Rows of a table of runs.
    Timehist,
    /// Rows of who runs where.
    Map(map::Map),
}

/// Reads lines and makes events of them.
struct TextReader {
    form: Form,
    piece: Piece,
    line_number: u64,
    window: Window,
    /// Between the tags of a page's trace part, or anywhere when it is no page.
    is_inside: bool,
    is_html: bool,
    /// Losses that wait for the next event of their CPU, which has the time.
    losses: BTreeMap<u32, Option<u64>>,
    /// By CPU: the last time, for jumps.
    last: BTreeMap<u32, u64>,
    last_time: u64,
}

/// What a page calls the part that holds the trace.
const PAGE_STARTS: &[&[u8]] = &[b"class=\"trace-data\"", b"linuxPerfData"];

/// Going back by more than this within a CPU is told; less is two CPUs' clocks.
const BACK_NS: u64 = 1_000_000;

impl TextReader {
    fn new(source: &Source, is_html: bool, form: Form) -> Self {
        Self {
            form,
            piece: Piece::new(source.clone(), 0),
            line_number: 0,
            window: Window::default(),
            is_inside: !is_html,
            is_html,
            losses: BTreeMap::new(),
            last: BTreeMap::new(),
            last_time: 0,
        }
    }

    fn line(&mut self, line: &[u8], ctx: &mut Context) {
        let mut rows = Vec::new();
        match &mut self.form {
            Form::Events => {}
            Form::Timehist => {
                if timehist::row(line, ctx, &mut rows).is_none() {
                    ctx.ledger.unparsed_line(self.line_number, line);
                }
                rows.into_iter().for_each(|row| self.window.push(row));
                return;
            }
            Form::Map(map) => {
                map.row(line, ctx, &mut rows);
                rows.into_iter().for_each(|row| self.window.push(row));
                return;
            }
        }
        if self.is_html {
            if !self.is_inside {
                self.is_inside = PAGE_STARTS.iter().any(|tag| number::has(line, tag));
                // The first line of the trace may follow the tag at once.
            } else if number::has(line, b"</script>") {
                self.is_inside = false;
                return;
            }
        }
        if !self.is_inside {
            return;
        }
        let line = line.strip_suffix(b"\\n\\").unwrap_or(line);
        if let Some((cpu, count)) = line::loss(line) {
            let waiting = self.losses.entry(cpu).or_insert(Some(0));
            *waiting = waiting.zip(count).map(|(a, b)| a.saturating_add(b));
            return;
        }
        let Some(frame) = line::parse(line) else {
            if line::looks_like_event(line) {
                ctx.ledger.unparsed_line(self.line_number, line);
            }
            return;
        };
        self.check_clock(&frame, ctx);
        if !self.losses.is_empty()
            && let Some(count) = self.losses.remove(&frame.cpu)
        {
            self.window
                .push(RawEvent::lost(frame.time, frame.cpu, count));
        }
        let name = std::str::from_utf8(frame.event).unwrap_or("(no name)");
        let known = Known::from_name(name);
        let id = ctx.counts.id(name, known.is_some());
        ctx.counts.add(id);
        let Some(known) = known else { return };
        match args::decode(known, &frame, ctx) {
            args::Decoded::Event(event) => self.window.push(event),
            args::Decoded::Nothing => {}
            args::Decoded::Bad => ctx.ledger.unparsed_line(self.line_number, line),
        }
    }

    fn check_clock(&mut self, frame: &line::Frame<'_>, ctx: &mut Context) {
        self.last_time = frame.time;
        let last = self.last.entry(frame.cpu).or_insert(frame.time);
        if frame.time.saturating_add(BACK_NS) < *last {
            ctx.jump(frame.cpu, *last, frame.time);
        }
        *last = frame.time;
        if self.last.len() > 1 << 16 {
            self.last.clear();
        }
    }
}

impl Reader for TextReader {
    fn fill(&mut self, ctx: &mut Context) -> bool {
        while !self.window.is_full() {
            let bytes = self.piece.peek(LONGEST_LINE);
            let bytes = bytes.get(..LONGEST_LINE).unwrap_or(bytes);
            if bytes.is_empty() {
                for (cpu, count) in std::mem::take(&mut self.losses) {
                    self.window.push(RawEvent::lost(self.last_time, cpu, count));
                }
                self.window.drain(ctx, true);
                return false;
            }
            let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
            let line = bytes[..end].to_vec();
            let taken = (end + 1).min(bytes.len());
            self.line_number += 1;
            self.line(line.strip_suffix(b"\r").unwrap_or(&line), ctx);
            self.piece.take(taken as u64);
        }
        self.window.drain(ctx, false);
        true
    }
}

/// A CPU in text that no machine has.
fn is_cpu(cpu: u32) -> bool {
    cpu < 1 << 20 && cpu != NONE
}
