//! The frame of a line: who ran, where, when, and which event it is.

use super::{is_cpu, number};
use crate::raw::NONE;

/// A line taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub time: u64,
    pub cpu: u32,
    /// The task that ran, or [`NONE`].
    pub pid: u32,
    /// The event's name, without its system.
    pub event: &'a [u8],
    /// What follows it.
    pub args: &'a [u8],
}

/// The time stamp ends before this byte: a name has at most 256, and a few columns follow. Each colon before it
/// costs a look at what is before the colon.
const FARTHEST: usize = 512;

/// Takes a line apart.
///
/// ```text
///  comm-pid (tgid) [cpu] flags time: event: args        ftrace, systrace, trace-cmd report
///  comm-pid cpuflags timeus : event: args               dumps in kernel logs, latency tracers
///  comm pid/tid [cpu] time: period system:event: args   perf script
/// ```
///
/// Names may hold anything, colons, brackets and arrows too, so it is read from the time stamp to both
/// sides: the first colon after something that is a time, and has a CPU and a task before it.
pub(super) fn parse(line: &[u8]) -> Option<Frame<'_>> {
    if line.first() == Some(&b'#') {
        return None;
    }
    let line = without_log_prefix(line);
    for colon in memchr::memchr_iter(b':', &line[..line.len().min(FARTHEST)]) {
        let before = line[..colon].trim_ascii_end();
        let start = before
            .iter()
            .rposition(u8::is_ascii_whitespace)
            .map_or(0, |at| at + 1);
        let Some(time) = number::time(&before[start..]) else {
            continue;
        };
        let Some((cpu, pid)) = who(before[..start].trim_ascii_end()) else {
            continue;
        };
        let (event, args) = event(&line[colon + 1..])?;
        return Some(Frame {
            time,
            cpu,
            pid,
            event,
            args,
        });
    }
    None
}

/// Does the line have a time stamp and a CPU, so that it should have been readable?
pub(super) fn looks_like_event(line: &[u8]) -> bool {
    number::has(line, b": sched_") && number::has(line, b"[")
}

/// `CPU:1 [LOST 12 EVENTS]`, `CPU:1 [12 EVENTS DROPPED]`, `CPU:1 [EVENTS DROPPED]`.
pub(super) fn loss(line: &[u8]) -> Option<(u32, Option<u64>)> {
    let at = memchr::memmem::find(line, b"CPU:")?;
    let (cpu, rest) = number::leading(&line[at + 4..])?;
    let rest = rest.trim_ascii_start().strip_prefix(b"[")?;
    let cpu = u32::try_from(cpu).ok().filter(|&cpu| is_cpu(cpu))?;
    if let Some(rest) = rest.strip_prefix(b"LOST ") {
        return Some((cpu, number::leading(rest).map(|(count, _)| count)));
    }
    if !number::has(rest, b"EVENTS DROPPED]") {
        return None;
    }
    Some((cpu, number::leading(rest).map(|(count, _)| count)))
}

/// Without what the kernel log puts before a line: `<4>`, `[10363.661789] `, `[  10.1][T12] `.
fn without_log_prefix(line: &[u8]) -> &[u8] {
    let mut line = line;
    if line.first() == Some(&b'<')
        && let Some(end) = memchr::memchr(b'>', line)
        && number::whole(&line[1..end]).is_some()
    {
        line = &line[end + 1..];
    }
    if line.first() == Some(&b'[')
        && let Some(end) = memchr::memchr(b']', line)
        && line[1..end].contains(&b'.')
        && number::time(line[1..end].trim_ascii()).is_some()
    {
        line = &line[end + 1..];
        let caller = line.trim_ascii_start();
        if let Some(rest) = caller
            .strip_prefix(b"[T")
            .or_else(|| caller.strip_prefix(b"[C"))
            .or_else(|| caller.strip_prefix(b"[    T"))
            && let Some(end) = memchr::memchr(b']', rest)
        {
            line = &rest[end + 1..];
        }
    }
    line
}

/// The CPU and the task before a time stamp.
fn who(text: &[u8]) -> Option<(u32, u32)> {
    let (cpu, task) = match bracketed(text) {
        Some(found) => found,
        None => {
            let start = last_word(text);
            let word = &text[start..];
            let rest = text[..start].trim_ascii_end();
            match bracketed(rest) {
                // What is between the CPU and the time is the column of flags.
                Some(found) => found,
                None => {
                    // CPU and flags without a space, as in dumps.
                    let (cpu, flags) = number::leading(word)?;
                    if flags.len() < 3 {
                        return None;
                    }
                    (cpu, rest)
                }
            }
        }
    };
    let cpu = u32::try_from(cpu).ok().filter(|&cpu| is_cpu(cpu))?;
    Some((cpu, pid(task)?))
}

/// `... [012]`: the number, and what is before it.
fn bracketed(text: &[u8]) -> Option<(u64, &[u8])> {
    let inner = text.strip_suffix(b"]")?;
    let open = memchr::memrchr(b'[', inner)?;
    Some((
        number::whole(&inner[open + 1..])?,
        inner[..open].trim_ascii_end(),
    ))
}

fn last_word(text: &[u8]) -> usize {
    text.iter()
        .rposition(u8::is_ascii_whitespace)
        .map_or(0, |at| at + 1)
}

/// The number of the task: `comm-12`, `comm-12 (  9)`, `comm 12`, `comm 9/12`.
fn pid(text: &[u8]) -> Option<u32> {
    let mut text = text;
    if let Some(inner) = text.strip_suffix(b")")
        && let Some(open) = memchr::memrchr(b'(', inner)
    {
        let group = inner[open + 1..].trim_ascii();
        if group
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'-')
        {
            text = text[..open].trim_ascii_end();
        }
    }
    let word = &text[last_word(text)..];
    if word == b"-1" {
        // A task that is gone.
        return Some(NONE);
    }
    let thread = match memchr::memchr(b'/', word) {
        Some(slash) if number::whole(&word[..slash]).is_some() => &word[slash + 1..],
        _ => word,
    };
    let digits = match number::whole(thread) {
        Some(pid) => pid,
        None => {
            let dash = memchr::memrchr(b'-', word)?;
            number::whole(&word[dash + 1..])?
        }
    };
    u32::try_from(digits).ok()
}

/// The event's name and its arguments, after the time stamp.
fn event(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut text = text.trim_ascii_start();
    // `(+12)`: the time since the event before.
    if let Some(rest) = text.strip_prefix(b"(+")
        && let Some(end) = memchr::memchr(b')', rest)
    {
        text = rest[end + 1..].trim_ascii_start();
    }
    // perf's period.
    if let Some((_, rest)) = number::leading(text)
        && rest.first() == Some(&b' ')
    {
        text = rest.trim_ascii_start();
    }
    loop {
        let Some(colon) = memchr::memchr(b':', text) else {
            return Some((b"(no event name)", text));
        };
        let name = &text[..colon];
        let is_name = !name.is_empty()
            && name
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte));
        if !is_name {
            return Some((b"(no event name)", text));
        }
        let rest = &text[colon + 1..];
        // A system is followed by a name at once, a name by a space.
        if rest.first().is_some_and(|byte| !byte.is_ascii_whitespace()) && looks_like_name(rest) {
            text = rest;
            continue;
        }
        return Some((name, rest.trim_ascii()));
    }
}

/// Does an event's name with its colon come next?
fn looks_like_name(text: &[u8]) -> bool {
    let end = text
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'))
        .unwrap_or(text.len());
    text.get(end) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever looks back from each colon to the start of the line looks at 2 GiB here.
    #[test]
    fn a_line_of_colons_is_not_looked_at_again_for_each() {
        let line = vec![b':'; 64 << 10];
        let begin = std::time::Instant::now();
        assert!(parse(&line).is_none());
        assert!(begin.elapsed() < std::time::Duration::from_millis(100));
        let far = format!("{}-7 [000] 1.000001: sched_switch: x", "n".repeat(256));
        assert!(parse(far.as_bytes()).is_some());
    }

    fn check(line: &str, cpu: u32, pid: u32, time: u64, event: &str) {
        let frame = parse(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(
            (frame.cpu, frame.pid, frame.time),
            (cpu, pid, time),
            "{line}"
        );
        assert_eq!(frame.event, event.as_bytes(), "{line}");
    }

    #[test]
    fn frames_of_all_writers_are_found() {
        check(
            "  <...>-1701  [001]    76.211513: sched_switch:   prev_comm=x",
            1,
            1701,
            76_211_513_000,
            "sched_switch",
        );
        check(
            "kworker/u17:1-959   (  959) [006] d..3   538.064659: sched_switch: p",
            6,
            959,
            538_064_659_000,
            "sched_switch",
        );
        check(
            "<7952>-7952  (-----) [000] ...1   538.064761: tracing_mark_write: B|1|x: y",
            0,
            7952,
            538_064_761_000,
            "tracing_mark_write",
        );
        check(
            "          atrace-14662 [000] 50260.647576: sched_switch: prev",
            0,
            14662,
            50_260_647_576_000,
            "sched_switch",
        );
        check(
            "[10363.661789] rcu_tort-155       1d..2. 10347723897us : sched_switch: prev",
            1,
            155,
            10_347_723_897_000,
            "sched_switch",
        );
        check(
            "    perf 14569 [001] 975758.720111:       sched:sched_wakeup: perf:14570",
            1,
            14569,
            975_758_720_111_000,
            "sched_wakeup",
        );
        check(
            "  a b c 12/34 [001] 1.000000001:   1 sched:sched_wakeup: perf:14570",
            1,
            34,
            1_000_000_001,
            "sched_wakeup",
        );
        check(
            " my-task (x): 1.5: [3]-77 [002] d..2. 5.000000: cpu_idle: state=1",
            2,
            77,
            5_000_000_000,
            "cpu_idle",
        );
        check(
            "  :-1    -1 [002] 5.000000: sched:sched_switch: x",
            2,
            NONE,
            5_000_000_000,
            "sched_switch",
        );
        check(
            "<4>[    1.000000][  T12] bash-1 2d..2. 12us+: sched_switch: x",
            2,
            1,
            12_000,
            "sched_switch",
        );
    }

    #[test]
    fn losses_are_found_in_both_forms() {
        assert_eq!(loss(b"[1.0] CPU:1 [LOST 12 EVENTS]"), Some((1, Some(12))));
        assert_eq!(loss(b"CPU:3 [7 EVENTS DROPPED]"), Some((3, Some(7))));
        assert_eq!(loss(b"CPU:3 [EVENTS DROPPED]"), Some((3, None)));
        assert_eq!(loss(b"perf:1 [120] success=1 CPU:001"), None);
    }
}
