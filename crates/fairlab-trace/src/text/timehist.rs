//! Rows of `perf sched timehist`, with its columns of wakeups, migrations and CPUs or without.
//!
//! ```text
//!   975758.720221 [0001]   s   perf[14570]     0.000  0.001  0.108
//!   975758.720223 [0001]    m    migration/1[13]                     migrated: perf[14570] cpu 1 => 0
//! ```
//!
//! A row of times says that a task stops, after running for the last of them; who runs next it says
//! only with `--next`.

use super::{is_cpu, number};
use crate::context::Context;
use crate::known::Known;
use crate::raw::{NONE, RawEvent, RawKind};

/// Does the text have the headings of this table?
pub(super) fn is_timehist(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').take(200).any(|line| {
        [
            &b"time"[..],
            b"cpu",
            b"task name",
            b"sch delay",
            b"run time",
        ]
        .iter()
        .all(|word| number::has(line, word))
    })
}

/// A task as the table prints it: `name[tid]` or `name[tid/pid]`; idle tasks without a number.
fn task(text: &[u8]) -> Option<(&[u8], u32, &[u8])> {
    let text = text.trim_ascii_start();
    for idle in [&b"swapper"[..], b"<idle>"] {
        if let Some(rest) = text.strip_prefix(idle)
            && rest.first().is_none_or(u8::is_ascii_whitespace)
        {
            return Some((idle, 0, rest));
        }
    }
    for open in memchr::memchr_iter(b'[', text) {
        let Some((tid, rest)) = number::leading(&text[open + 1..]) else {
            continue;
        };
        let end = memchr::memchr(b']', rest)?;
        return Some((&text[..open], u32::try_from(tid).ok()?, &rest[end + 1..]));
    }
    None
}

/// Milliseconds with three digits, in ns.
fn ms(text: &[u8]) -> Option<u64> {
    let (whole, rest) = number::leading(text)?;
    let (fraction, rest) = number::leading(rest.strip_prefix(b".")?)?;
    if !rest.is_empty() || fraction >= 1000 {
        return None;
    }
    whole.checked_mul(1_000_000)?.checked_add(fraction * 1000)
}

/// Reads a row; what it says is appended to `out`. `None`: it looks like a row and cannot be read.
/// `Some(false)`: it is no row.
pub(super) fn row(line: &[u8], ctx: &mut Context, out: &mut Vec<RawEvent>) -> Option<bool> {
    let line = line.trim_ascii();
    let first = line.split(u8::is_ascii_whitespace).next()?;
    let Some(time) = number::time(first).filter(|_| first.contains(&b'.')) else {
        return Some(false);
    };
    let rest = line[first.len()..].trim_ascii_start();
    let (cpu, rest) = number::leading(rest.strip_prefix(b"[")?)?;
    let cpu = u32::try_from(cpu).ok().filter(|&cpu| is_cpu(cpu))?;
    let mut rest = rest.strip_prefix(b"]")?.trim_ascii_start();
    // The column of CPUs has one letter in it.
    let word = rest.split(u8::is_ascii_whitespace).next()?;
    if word.iter().all(|letter| b"smi-".contains(letter)) {
        rest = rest[word.len()..].trim_ascii_start();
    }
    let (name, tid, rest) = task(rest)?;
    let name_of = |tid: u32, name: &[u8], ctx: &mut Context| {
        if tid == 0 { NONE } else { ctx.comm(tid, name) }
    };
    let mut event = RawEvent::new(time, cpu, RawKind::Named);
    let known = if let Some(at) = memchr::memmem::find(rest, b"awakened: ") {
        let (wakee, wakee_tid, _) = task(&rest[at + 10..])?;
        event.kind = RawKind::Wakeup;
        event.value = u64::from(NONE);
        event.current = tid;
        event.a = wakee_tid;
        event.a_name = name_of(wakee_tid, wakee, ctx);
        Known::Wakeup
    } else if let Some(at) = memchr::memmem::find(rest, b"migrated: ") {
        let (moved, moved_tid, rest) = task(&rest[at + 10..])?;
        let (from, to) = (number::after(rest, b" cpu ")?, number::after(rest, b"=> ")?);
        let is_real = |cpu: u64| u32::try_from(cpu).is_ok_and(is_cpu);
        if !is_real(from) || !is_real(to) {
            return None;
        }
        event.kind = RawKind::Migrate;
        event.value = from << 32 | to;
        event.current = tid;
        event.a = moved_tid;
        event.a_name = name_of(moved_tid, moved, ctx);
        Known::Migrate
    } else {
        let mut times = rest
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let (Some(_wait), Some(_delay), Some(run)) =
            (ms(times.next()?), ms(times.next()?), ms(times.next()?))
        else {
            return None;
        };
        let a_name = name_of(tid, name, ctx);
        if run > 0 && tid != 0 {
            let mut started = RawEvent::new(time.saturating_sub(run), cpu, RawKind::Named);
            started.current = tid;
            started.a = tid;
            started.a_name = a_name;
            out.push(started);
            event.kind = RawKind::StatRuntime;
            event.value = run;
        }
        event.a = tid;
        event.a_name = a_name;
        if let Some(at) = memchr::memmem::find(rest, b"next: ") {
            let (next, next_tid, _) = task(&rest[at + 6..])?;
            out.push(event);
            event = RawEvent::new(time, cpu, RawKind::Switch);
            event.a = tid;
            event.a_name = a_name;
            event.b = next_tid;
            event.b_name = name_of(next_tid, next, ctx);
        }
        Known::Switch
    };
    let name = match known {
        Known::Wakeup => "sched_wakeup",
        Known::Migrate => "sched_migrate_task",
        _ => "sched_switch",
    };
    let id = ctx.counts.id(name, true);
    ctx.counts.add(id);
    out.push(event);
    Some(true)
}
