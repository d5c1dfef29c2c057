//! Operations as they are written: `"run 5ms"`, `{ repeat = 10, do = [...] }`, `{ forever = [...] }`.

use std::ops::Range;

use fairlab_units::Nanos;
use fairlab_workload::{Class, Op, ProgramBuilder, Span, Who};
use toml::de::DeValue;

use crate::error::{Fault, Result, did_you_mean};
use crate::names::Names;
use crate::span;
use crate::table::{self, Value};

/// The operations: name and arguments.
const OPERATIONS: [(&str, &str); 35] = [
    ("run", "SPAN"),
    ("arithmetic", "SPAN"),
    ("spin", "SPAN"),
    ("sleep", "SPAN"),
    ("sleep-until", "TIME"),
    ("timer", "TIMER TIME"),
    ("yield", ""),
    ("exec", ""),
    ("exit", ""),
    ("fork", "TASK"),
    ("wait-children", "N"),
    ("begin", "METRIC"),
    ("end", "METRIC"),
    ("write", "PIPE"),
    ("read", "PIPE"),
    ("barrier", "BARRIER"),
    ("lock", "MUTEX"),
    ("unlock", "MUTEX"),
    ("cond-wait", "CONDITION MUTEX"),
    ("signal", "CONDITION"),
    ("broadcast", "CONDITION"),
    ("sem-wait", "SEMAPHORE"),
    ("sem-post", "SEMAPHORE"),
    ("sem-take", "SEMAPHORE METRIC"),
    ("wait", "FUTEX METRIC"),
    ("post", "FUTEX"),
    ("push", "LIST FUTEX"),
    ("post-all", "LIST"),
    ("affinity", "CPUS"),
    ("group", "GROUP"),
    ("nice", "N"),
    ("class", "CLASS"),
    ("slice", "TIME"),
    ("clamp", "MIN MAX"),
    ("log", "begin|end"),
];

/// What a class looks like, for messages.
pub(crate) const CLASS: &str = "a class: fair, batch, idle, fifo:1..99, rr:1..99 or deadline:TIME";

pub(crate) fn class(text: &str) -> Option<Class> {
    let priority = |n: &str| n.parse().ok().filter(|p| (1..=99).contains(p));
    Some(match text.split_once(':') {
        None => match text {
            "fair" => Class::Fair,
            "batch" => Class::Batch,
            "idle" => Class::Idle,
            _ => return None,
        },
        Some(("fifo", n)) => Class::Fifo(priority(n)?),
        Some(("rr", n)) => Class::RoundRobin(priority(n)?),
        Some(("deadline", time)) => Class::Deadline(span::time(time)?),
        Some(_) => return None,
    })
}

/// Appends the operations of `value`, an array, `depth` loops deep.
pub(crate) fn steps(
    mut p: ProgramBuilder,
    value: &Value<'_>,
    depth: usize,
    names: &mut Names<'_>,
) -> Result<ProgramBuilder> {
    for step in table::array(value, "an array of operations")? {
        p = match step.get_ref() {
            DeValue::String(text) => p.op(operation(text, &step.span(), names)?),
            DeValue::Table(_) => repetition(p, step, depth, names)?,
            _ => {
                let what =
                    "an operation like \"run 5ms\", or a loop like { repeat = 10, do = [...] }";
                return Err(table::wanted(step, what));
            }
        };
    }
    Ok(p)
}

fn repetition(
    p: ProgramBuilder,
    step: &Value<'_>,
    depth: usize,
    names: &mut Names<'_>,
) -> Result<ProgramBuilder> {
    if depth >= ProgramBuilder::MAX_LOOPS {
        let most = ProgramBuilder::MAX_LOOPS;
        let message = format!("loops nest {most} deep at most");
        return Err(Fault::new(&step.span(), message));
    }
    let (mut times, mut body) = (None, None);
    for (key, value) in table::table(step, "a loop")? {
        match key.get_ref().as_ref() {
            "repeat" => times = Some(table::int(value, 1, u32::MAX.into())? as u32),
            "do" => body = Some(value),
            "forever" => (times, body) = (Some(0), Some(value)),
            other => {
                let known = ["repeat", "do", "forever"];
                return Err(table::unknown(&key.span(), other, "a loop", &known));
            }
        }
    }
    let (Some(times), Some(body)) = (times, body) else {
        let message = "a loop wants 'repeat' and 'do', or 'forever'";
        return Err(Fault::new(&step.span(), message));
    };
    if table::array(body, "an array of operations")?.is_empty() {
        return Err(Fault::new(&body.span(), "a loop wants operations"));
    }
    let mut fault = None;
    let built = p.repeat(times, |p| {
        let empty = p.clone();
        steps(p, body, depth + 1, names).unwrap_or_else(|error| {
            fault = Some(error);
            empty
        })
    });
    fault.map_or(Ok(built), Err)
}

fn operation(text: &str, at: &Range<usize>, names: &mut Names<'_>) -> Result<Op> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some((name, words)) = words.split_first() else {
        return Err(Fault::new(at, "an operation is wanted, like \"run 5ms\""));
    };
    let Some((_, form)) = OPERATIONS.into_iter().find(|(known, _)| known == name) else {
        let hint = did_you_mean(name, OPERATIONS.map(|(known, _)| known));
        return Err(Fault::new(at, format!("unknown operation '{name}'{hint}")));
    };
    let most = form.split_whitespace().count();
    // The metric of a wait may be left out.
    let least = if *name == "wait" { 1 } else { most };
    if words.len() < least || words.len() > most {
        let usage = format!("{name} {form}");
        let message = format!("write \"{}\"", usage.trim_end());
        return Err(Fault::new(at, message));
    }
    let word = |i: usize| words.get(i).copied().unwrap_or_default();
    let wrong = |what: &str| Fault::new(at, format!("'{}' is not {what}", words.join(" ")));
    let span = || span::span(word(0)).ok_or_else(|| wrong(span::SPAN));
    let time = |i| span::time(word(i)).ok_or_else(|| wrong(span::TIME));
    let missing = |table: &str| {
        let name = word(0);
        Fault::new(at, format!("there is no [{table}.{name}]"))
    };
    Ok(match *name {
        "run" => Op::Run(span()?),
        "arithmetic" => Op::Arithmetic(span()?),
        "spin" => Op::Spin(span()?),
        "sleep" => Op::Sleep(span()?),
        "sleep-until" => Op::SleepUntil(time(0)?),
        "timer" => Op::Timer {
            timer: *names.timers.get(word(0)).ok_or_else(|| missing("timer"))?,
            period: time(1)?,
        },
        "yield" => Op::Yield,
        "exec" => Op::Exec,
        "exit" => Op::Exit,
        "fork" => match names.tasks.get(word(0)) {
            Some(program) => Op::Fork(*program),
            None => {
                let hint = did_you_mean(word(0), names.tasks.keys().map(String::as_str));
                return Err(Fault::new(
                    at,
                    format!("there is no task '{}'{hint}", word(0)),
                ));
            }
        },
        "wait-children" => Op::WaitChildren(word(0).parse().map_err(|_| wrong("a number"))?),
        "begin" => Op::Begin(names.metric(word(0))),
        "end" => Op::End(names.metric(word(0))),
        "write" => Op::Write(*names.pipes.get(word(0)).ok_or_else(|| missing("pipe"))?),
        "read" => Op::Read(*names.pipes.get(word(0)).ok_or_else(|| missing("pipe"))?),
        "barrier" => Op::Barrier(
            *names
                .barriers
                .get(word(0))
                .ok_or_else(|| missing("barrier"))?,
        ),
        "lock" => Op::Lock(names.mutex(word(0))),
        "unlock" => Op::Unlock(names.mutex(word(0))),
        "cond-wait" => Op::CondWait {
            cond: names.cond(word(0)),
            mutex: names.mutex(word(1)),
        },
        "signal" => Op::Signal(names.cond(word(0))),
        "broadcast" => Op::Broadcast(names.cond(word(0))),
        "sem-wait" => Op::SemWait(names.semaphore(word(0))),
        "sem-post" => Op::SemPost(names.semaphore(word(0))),
        "sem-take" => Op::SemTake {
            semaphore: names.semaphore(word(0)),
            begins: names.metric(word(1)),
            latency: None,
        },
        "wait" => Op::Wait {
            futex: names.futex(word(0)),
            latency: words.get(1).map(|name| names.metric(name)),
        },
        "post" => Op::Post(names.futex(word(0))),
        "push" => Op::Push {
            list: names.list(word(0)),
            futex: names.futex(word(1)),
        },
        "post-all" => Op::PostAll(names.list(word(0))),
        "affinity" => Op::SetAffinity {
            who: Who::Myself,
            cpus: names
                .mask(word(0))
                .ok_or_else(|| wrong("a list of CPUs that this machine has, like 0-3,8"))?,
        },
        "group" => Op::SetGroup {
            who: Who::Myself,
            group: names
                .group(word(0))
                .map_err(|message| Fault::new(at, message))?,
        },
        "nice" => {
            let nice = word(0).parse().ok().filter(|n| (-20..=19).contains(n));
            Op::SetNice {
                who: Who::Myself,
                nice: nice.ok_or_else(|| wrong("a nice value from -20 to 19"))?,
            }
        }
        "class" => Op::SetClass(class(word(0)).ok_or_else(|| wrong(CLASS))?),
        "slice" => Op::SetSlice(time(0)?),
        "clamp" => {
            let number = |i: usize| word(i).parse().ok().filter(|n| *n <= 1024_u16);
            match (number(0), number(1)) {
                (Some(min), Some(max)) if min <= max => Op::SetClamp { min, max },
                _ => return Err(wrong("two numbers up to 1024, the smaller one first")),
            }
        }
        "log" => match word(0) {
            "begin" => Op::LoopBegin { phase: 0 },
            "end" => Op::LoopEnd,
            _ => return Err(wrong("begin or end")),
        },
        // All names of the list above are dealt with.
        _ => Op::Run(Span::Fixed(Nanos::ZERO)),
    })
}
