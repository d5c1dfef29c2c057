//! Events.

use crate::error::{Result, RtAppError, did_you_mean};
use crate::field;
use crate::json::{Member, Value};
use crate::keys;
use crate::model::{Event, Note, TimerUse};

/// Reads an event of the task or phase `owner`.
pub(crate) fn read_event(m: &Member, owner: &str, notes: &mut Vec<Note>) -> Result<Event> {
    let name = |what: &str| -> Result<String> {
        if m.node.value == Value::Missing {
            return Err(RtAppError::new(
                m.place,
                format!("'{}' wants {what}", m.key),
            ));
        }
        field::string(m, what).map(str::to_owned)
    };
    let kind = keys::event(&m.key).unwrap_or_default();
    Ok(match kind {
        "run" => Event::Run(field::microseconds(m)?),
        "runtime" => Event::Runtime(field::microseconds(m)?),
        "sleep" => Event::Sleep(field::microseconds(m)?),
        "mem" | "memrun" => Event::Mem(field::count(m, "bytes")?),
        "iorun" => Event::IoRun(field::count(m, "bytes")?),
        "timer" => Event::Timer(timer(m)?),
        "lock" => Event::Lock(name("the name of a mutex")?),
        "unlock" => Event::Unlock(name("the name of a mutex")?),
        "wait" => {
            let (cond, mutex) = wait(m)?;
            Event::Wait { cond, mutex }
        }
        "sync" => {
            let (cond, mutex) = wait(m)?;
            Event::Sync { cond, mutex }
        }
        "signal" => Event::Signal(name("the name of a condition")?),
        "broad" | "broadcast" => Event::Broadcast(name("the name of a condition")?),
        "barrier" => Event::Barrier(name("the name of a barrier")?),
        "sem_wait" => Event::SemWait(name("the name of a semaphore")?),
        "sem_post" => Event::SemPost(name("the name of a semaphore")?),
        "suspend" => match &m.node.value {
            // As workgen fills it in.
            Value::Missing => Event::Suspend(owner.to_owned()),
            Value::String(text) if text.is_empty() => Event::Suspend(owner.to_owned()),
            _ => Event::Suspend(name("the name to be resumed under")?),
        },
        "resume" => Event::Resume(name("the name of what is suspended")?),
        "yield" => match &m.node.value {
            Value::Missing | Value::String(_) | Value::Null => Event::Yield,
            _ => return Err(field::wrong(m, "a string, which may be empty")),
        },
        "fork" => Event::Fork(name("the name of a task")?),
        _ => {
            notes.push(Note {
                place: m.place,
                message: format!("event '{}' is passed over", m.key),
            });
            Event::Yield
        }
    })
}

fn timer(m: &Member) -> Result<TimerUse> {
    let mut timer = TimerUse {
        name: "unknown".into(),
        period: 0,
        is_absolute: false,
    };
    for inner in field::object(m, "a timer: { \"ref\": NAME, \"period\": USEC }")? {
        match inner.key.as_str() {
            "ref" => timer.name = field::string(inner, "the name of a timer")?.to_owned(),
            "period" => timer.period = field::microseconds(inner)?,
            "mode" => match field::string(inner, "a mode")? {
                "relative" => timer.is_absolute = false,
                "absolute" => timer.is_absolute = true,
                mode => {
                    let hint = did_you_mean(mode, ["relative", "absolute"]);
                    return Err(RtAppError::new(
                        inner.node.place,
                        format!(
                            "unknown mode '{mode}' of a timer, known are relative, absolute{hint}"
                        ),
                    ));
                }
            },
            key => {
                let known = ["ref", "period", "mode"];
                return Err(field::unknown(inner.place, key, "a timer", &known));
            }
        }
    }
    Ok(timer)
}

fn wait(m: &Member) -> Result<(String, String)> {
    let (mut cond, mut mutex) = ("unknown".to_owned(), "unknown".to_owned());
    for inner in field::object(m, "{ \"ref\": CONDITION, \"mutex\": MUTEX }")? {
        match inner.key.as_str() {
            "ref" => cond = field::string(inner, "the name of a condition")?.to_owned(),
            "mutex" => mutex = field::string(inner, "the name of a mutex")?.to_owned(),
            key => {
                let within = format!("'{}'", m.key);
                return Err(field::unknown(inner.place, key, &within, &["ref", "mutex"]));
            }
        }
    }
    Ok((cond, mutex))
}
