//! What the events print, in the kernel's form and in the older ones of perf and trace-cmd.

use fairlab_event::SwitchState;

use super::line::Frame;
use super::{is_cpu, number};
use crate::context::Context;
use crate::known::Known;
use crate::raw::{NO_PRIO, NONE, RawEvent, RawKind};
use crate::state;

/// What became of a line.
pub(super) enum Decoded {
    /// An event.
    Event(RawEvent),
    /// Nothing happened: a wakeup of a task that was awake.
    Nothing,
    /// It cannot be read.
    Bad,
}

/// A task as it is printed.
#[derive(Clone, Copy)]
struct Printed<'a> {
    comm: &'a [u8],
    pid: u32,
    prio: i16,
}

/// Makes an event of a line.
pub(super) fn decode(known: Known, frame: &Frame<'_>, ctx: &mut Context) -> Decoded {
    // Said of the old kernels' wakeups that found the task awake.
    if matches!(known, Known::Wakeup | Known::WakeupNew | Known::Waking)
        && number::has(frame.args, b" success=0")
    {
        ctx.ledger.idle_wakeup();
        return Decoded::Nothing;
    }
    decode_known(known, frame, ctx).map_or(Decoded::Bad, Decoded::Event)
}

fn decode_known(known: Known, frame: &Frame<'_>, ctx: &mut Context) -> Option<RawEvent> {
    let args = frame.args;
    let mut event = RawEvent::new(frame.time, frame.cpu, RawKind::Named);
    event.current = frame.pid;
    match known {
        Known::Switch => {
            let (prev, state, next) = switch(args)?;
            event.kind = RawKind::Switch;
            event.state = state;
            set_a(&mut event, prev, ctx);
            set_b(&mut event, next, ctx);
        }
        Known::Waking | Known::Wakeup | Known::WakeupNew => {
            event.kind = match known {
                Known::Waking => RawKind::Waking,
                Known::Wakeup => RawKind::Wakeup,
                _ => RawKind::WakeupNew,
            };
            let (task, rest) =
                keyed(args, b"comm=", b" pid=", b" prio=").or_else(|| short(args))?;
            let cpu = number::after(rest, b"target_cpu=")
                .or_else(|| number::after(rest, b"CPU:"))
                .or_else(|| number::after(rest, b"["));
            event.value = match cpu {
                Some(cpu) => u64::from(u32::try_from(cpu).ok().filter(|&cpu| is_cpu(cpu))?),
                None => u64::from(NONE),
            };
            set_a(&mut event, task, ctx);
        }
        Known::Migrate => {
            event.kind = RawKind::Migrate;
            let (task, rest) =
                keyed(args, b"comm=", b" pid=", b" prio=").or_else(|| short(args))?;
            let from = number::after(rest, b"orig_cpu=").or_else(|| number::after(rest, b"from: "));
            let to = number::after(rest, b"dest_cpu=").or_else(|| number::after(rest, b"to: "));
            let (from, to) = (u32::try_from(from?).ok()?, u32::try_from(to?).ok()?);
            if !is_cpu(from) || !is_cpu(to) {
                return None;
            }
            event.value = u64::from(from) << 32 | u64::from(to);
            set_a(&mut event, task, ctx);
        }
        Known::Fork => {
            event.kind = RawKind::Fork;
            let (parent, _) = keyed(args, b"comm=", b" pid=", b" child_comm=")?;
            let at = memchr::memmem::rfind(args, b" child_comm=")?;
            let child = &args[at + 1..];
            let (child, _) = keyed(child, b"child_comm=", b" child_pid=", b"")?;
            set_a(&mut event, parent, ctx);
            set_b(&mut event, child, ctx);
        }
        Known::Exec => {
            event.kind = RawKind::Exec;
            let at = memchr::memmem::rfind(args, b" pid=")?;
            event.a = u32::try_from(number::leading(&args[at + 5..])?.0).ok()?;
        }
        Known::Exit => {
            event.kind = RawKind::Exit;
            let (task, _) = keyed(args, b"comm=", b" pid=", b" prio=").or_else(|| short(args))?;
            set_a(&mut event, task, ctx);
        }
        Known::StatRuntime
        | Known::StatWait
        | Known::StatSleep
        | Known::StatBlocked
        | Known::StatIoWait => {
            let (kind, key): (_, &[u8]) = match known {
                Known::StatRuntime => (RawKind::StatRuntime, b" runtime="),
                Known::StatWait => (RawKind::StatWait, b" delay="),
                Known::StatSleep => (RawKind::StatSleep, b" delay="),
                Known::StatBlocked => (RawKind::StatBlocked, b" delay="),
                _ => (RawKind::StatIoWait, b" delay="),
            };
            event.kind = kind;
            let (task, rest) = keyed(args, b"comm=", b" pid=", key).or_else(|| short(args))?;
            event.value = number::after(rest, &key[1..])?;
            set_a(&mut event, task, ctx);
        }
        Known::PiSetprio => {
            let (mut task, rest) = keyed(args, b"comm=", b" pid=", b" oldprio=")?;
            let at = memchr::memmem::find(rest, b"newprio=")?;
            task.prio = i16::try_from(number::leading_signed(&rest[at + 8..])?.0).ok()?;
            set_a(&mut event, task, ctx);
        }
        Known::CpuIdle => {
            event.kind = RawKind::CpuIdle;
            event.value = number::after(args, b"state=")? & u64::from(u32::MAX);
            if let Some(cpu) = number::after(args, b"cpu_id=") {
                let cpu = u32::try_from(cpu).ok().filter(|&cpu| is_cpu(cpu))?;
                if cpu != event.cpu {
                    // Another CPU tells of it, which says nothing about who runs there.
                    event.current = NONE;
                }
                event.cpu = cpu;
            }
        }
        Known::CpuFrequency => {
            event.kind = RawKind::CpuFrequency;
            let khz = number::after(args, b"state=")? & u64::from(u32::MAX);
            let cpu = number::after(args, b"cpu_id=").unwrap_or(u64::from(frame.cpu));
            let cpu = u32::try_from(cpu).ok().filter(|&cpu| is_cpu(cpu))?;
            event.value = u64::from(cpu) << 32 | khz;
        }
        Known::TaskRename => {
            let (task, _) = renamed(args)?;
            set_a(&mut event, task, ctx);
        }
        Known::TaskNew => {
            let pid = u32::try_from(number::after(args, b"pid=")?).ok()?;
            let start = memchr::memmem::find(args, b" comm=")? + 6;
            let end = memchr::memmem::rfind(args, b" clone_flags=")?;
            let comm = args.get(start..end)?;
            let prio = NO_PRIO;
            set_a(&mut event, Printed { comm, pid, prio }, ctx);
        }
    }
    Some(event)
}

fn set_a(event: &mut RawEvent, task: Printed<'_>, ctx: &mut Context) {
    event.a = task.pid;
    event.a_prio = task.prio;
    if task.pid != 0 && task.pid != NONE {
        event.a_name = ctx.comm(task.pid, task.comm);
    }
}

fn set_b(event: &mut RawEvent, task: Printed<'_>, ctx: &mut Context) {
    event.b = task.pid;
    event.b_prio = task.prio;
    if task.pid != 0 && task.pid != NONE {
        event.b_name = ctx.comm(task.pid, task.comm);
    }
}

/// `pid=1 oldcomm=a newcomm=b oom_score_adj=0`.
fn renamed(args: &[u8]) -> Option<(Printed<'_>, &[u8])> {
    let pid = u32::try_from(number::after(args, b"pid=")?).ok()?;
    let start = memchr::memmem::rfind(args, b" newcomm=")? + 9;
    let end = memchr::memmem::rfind(args, b" oom_score_adj=").filter(|&end| end >= start)?;
    let comm = args.get(start..end)?;
    let prio = NO_PRIO;
    Some((Printed { comm, pid, prio }, &args[end..]))
}

/// `comm=... pid=12 third=...`: the task, and what follows its number, from the third key on.
///
/// Names may hold spaces and even keys, so the number is the last one that is followed by the third
/// key. Where the third key is `prio=`, the priority is read, too.
fn keyed<'a>(
    args: &'a [u8],
    comm_key: &[u8],
    pid_key: &[u8],
    third: &[u8],
) -> Option<(Printed<'a>, &'a [u8])> {
    let args = args.strip_prefix(comm_key)?;
    let mut end = args.len();
    while let Some(at) = memchr::memmem::rfind(&args[..end], pid_key) {
        if let Some((pid, rest)) = number::leading_signed(&args[at + pid_key.len()..])
            && let Some(after) = rest.strip_prefix(third)
        {
            let prio = if third.ends_with(b"prio=") {
                number::leading_signed(after)
                    .and_then(|(prio, _)| i16::try_from(prio).ok())
                    .unwrap_or(NO_PRIO)
            } else {
                NO_PRIO
            };
            let pid = u32::try_from(pid).unwrap_or(NONE);
            let comm = &args[..at];
            return Some((Printed { comm, pid, prio }, rest));
        }
        end = at;
    }
    None
}

/// `comm:12 [120] ...`, the short form of perf and trace-cmd, perhaps with `task ` before it.
fn short(args: &[u8]) -> Option<(Printed<'_>, &[u8])> {
    let args = args.strip_prefix(b"task ").unwrap_or(args);
    for colon in memchr::memchr_iter(b':', args) {
        let Some((pid, rest)) = number::leading(&args[colon + 1..]) else {
            continue;
        };
        let Some(rest) = rest.strip_prefix(b" [") else {
            continue;
        };
        let Some((prio, rest)) = number::leading_signed(rest) else {
            continue;
        };
        let Some(rest) = rest.strip_prefix(b"]") else {
            continue;
        };
        let task = Printed {
            comm: &args[..colon],
            pid: u32::try_from(pid).ok()?,
            prio: i16::try_from(prio).ok()?,
        };
        return Some((task, rest));
    }
    None
}

/// `prev_comm=... ==> next_comm=...`, with or without the arrow, or the short form.
fn switch(args: &[u8]) -> Option<(Printed<'_>, SwitchState, Printed<'_>)> {
    if !args.starts_with(b"prev_comm=") {
        let (prev, rest) = short(args)?;
        let arrow = memchr::memmem::find(rest, b"==> ")?;
        let state = state::from_text(rest[..arrow].trim_ascii());
        let (next, _) = short(&rest[arrow + 4..])?;
        return Some((prev, state, next));
    }
    // The next task's name is the last thing that could hold a key, so its own keys come first.
    let mut end = args.len();
    loop {
        let at = memchr::memmem::rfind(&args[..end], b" next_comm=")?;
        if let Some((next, _)) = keyed(
            &args[at + 1..],
            b"next_comm=",
            b" next_pid=",
            b" next_prio=",
        ) && let Some((prev, rest)) =
            keyed(&args[..at], b"prev_comm=", b" prev_pid=", b" prev_prio=")
            && let Some(state_at) = memchr::memmem::find(rest, b" prev_state=")
        {
            let state = state::from_text(&rest[state_at + 12..]);
            return Some((prev, state, next));
        }
        end = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_everything() {
        let args = b"prev_comm=a ==> b: (c) prev_pid=3 prev_prio=-1 prev_state=D|K ==> \
            next_comm=x next_pid=9 next_pid=4 next_prio=120";
        let (prev, state, next) = switch(args).unwrap();
        assert_eq!(prev.comm, b"a ==> b: (c)");
        assert_eq!((prev.pid, prev.prio), (3, -1));
        assert_eq!(state, SwitchState::Uninterruptible);
        assert_eq!(next.comm, b"x next_pid=9");
        assert_eq!((next.pid, next.prio), (4, 120));
    }

    #[test]
    fn the_short_form_is_understood() {
        let (prev, state, next) = switch(b"a:b:14569 [120] R ==> migration/1:13 [0]").unwrap();
        assert_eq!((prev.comm, prev.pid, prev.prio), (&b"a:b"[..], 14569, 120));
        assert_eq!(state, SwitchState::Runnable);
        assert_eq!((next.pid, next.prio), (13, 0));
        let (prev, state, _) = switch(b"task swapper:0 [140] (R) ==> perf:1 [120]").unwrap();
        assert_eq!((prev.comm, state), (&b"swapper"[..], SwitchState::Runnable));
    }
}
