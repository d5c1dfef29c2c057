//! From JSON to a checked file: the outermost object and `global`.

use crate::error::{Place, Result, RtAppError};
use crate::field::{self, Once};
use crate::json::{self, Member, Value};
use crate::keys;
use crate::model::{Calibration, Global, Note, Policy, RtApp, Task};
use crate::task;

/// Reads a file.
///
/// # Errors
/// On the first thing that rt-app would not take, or take for something else than it says.
pub fn parse(text: &str) -> Result<RtApp> {
    let root = json::parse(text)?;
    let place = root.place;
    let Value::Object(members) = &root.value else {
        return Err(RtAppError::new(
            place,
            "an object with 'tasks' is wanted here",
        ));
    };
    let mut notes = Vec::new();
    let mut global = default_global(place);
    let mut tasks = None;
    let mut once = Once::new();
    // The default policy is in `global`, which may come after the tasks.
    for member in members {
        once.see(member)?;
        match member.key.as_str() {
            "global" => global = read_global(member, &mut notes)?,
            "resources" => read_resources(member)?,
            "tasks" => tasks = Some(member),
            key => {
                return Err(field::unknown(member.place, key, "the file", &keys::ROOT));
            }
        }
    }
    let Some(tasks) = tasks else {
        return Err(RtAppError::new(place, "there is no 'tasks' object"));
    };
    let mut app = RtApp {
        tasks: task::read_tasks(tasks, global.default_policy, &mut notes)?,
        global,
        notes,
    };
    check_total(&app.tasks, tasks.place)?;
    note_lonely(&mut app);
    Ok(app)
}

fn default_global(place: Place) -> Global {
    Global {
        duration: None,
        calibration: Calibration::Cpu(0, place),
        default_policy: Policy::Other,
        cumulative_slack: false,
        mem_buffer_size: 4 << 20,
        io_device: "/dev/null".into(),
        log_basename: "rt-app".into(),
    }
}

fn read_global(member: &Member, notes: &mut Vec<Note>) -> Result<Global> {
    let mut global = default_global(member.place);
    let mut once = Once::new();
    for m in field::object(member, "settings for all tasks")? {
        once.see(m)?;
        match m.key.as_str() {
            "duration" => {
                let what = "seconds, or -1 until all tasks end";
                let seconds = field::int(m, -1, 1_000_000, what)?;
                global.duration = (seconds > 0).then_some(seconds as u32);
            }
            "calibration" => global.calibration = calibration(m)?,
            "default_policy" => global.default_policy = field::policy(m)?,
            "cumulative_slack" => global.cumulative_slack = field::boolean(m)?,
            "mem_buffer_size" => {
                let size = field::int(m, 1, i64::from(i32::MAX), "bytes")?;
                global.mem_buffer_size = size as u32;
            }
            "io_device" => global.io_device = field::string(m, "a path")?.to_owned(),
            "log_basename" => {
                global.log_basename = field::string(m, "a prefix of file names")?.to_owned();
            }
            "pi_enabled" => {
                if field::boolean(m)? {
                    let message = "priority inheritance of mutexes is not simulated".into();
                    let place = m.place;
                    notes.push(Note { place, message });
                }
            }
            "lock_pages" | "gnuplot" => {
                field::boolean(m)?;
            }
            "logdir" => match m.node.value {
                Value::Null => {}
                _ => drop(field::string(m, "a path")?),
            },
            "log_size" => log_size(m)?,
            "ftrace" => ftrace(m)?,
            // Settings of former versions, which rt-app passes over.
            "frag" | "fragment" | "spacing" => {}
            key => return Err(field::unknown(m.place, key, "'global'", &keys::GLOBAL)),
        }
    }
    Ok(global)
}

fn calibration(m: &Member) -> Result<Calibration> {
    match &m.node.value {
        Value::Int(0) => Ok(Calibration::Cpu(0, m.node.place)),
        Value::Int(_) => {
            let ns = field::int(m, 1, 1_000_000_000, "nanoseconds per loop")?;
            Ok(Calibration::NsPerLoop(ns as u32))
        }
        Value::String(text) => {
            let number = text.strip_prefix("CPU").and_then(|n| n.parse().ok());
            number
                .map(|cpu| Calibration::Cpu(cpu, m.node.place))
                .ok_or_else(|| {
                    RtAppError::new(
                        m.node.place,
                        format!(
                            "'{text}' is no calibration; 'CPU0' or nanoseconds per loop are wanted"
                        ),
                    )
                })
        }
        _ => Err(field::wrong(
            m,
            "a CPU like 'CPU0', or nanoseconds per loop",
        )),
    }
}

fn log_size(m: &Member) -> Result<()> {
    match &m.node.value {
        Value::Int(_) => field::count(m, "megabytes").map(drop),
        Value::String(text) => {
            let known = ["file", "disable", "auto"];
            if known.contains(&text.to_lowercase().as_str()) {
                return Ok(());
            }
            Err(RtAppError::new(
                m.node.place,
                format!(
                    "'{text}' is no log size; megabytes, 'file', 'disable' or 'auto' are wanted"
                ),
            ))
        }
        _ => Err(field::wrong(m, "megabytes, 'file', 'disable' or 'auto'")),
    }
}

fn ftrace(m: &Member) -> Result<()> {
    let text = match &m.node.value {
        Value::Bool(_) => return Ok(()),
        Value::String(text) => text,
        _ => return Err(field::wrong(m, "true, false or a list of categories")),
    };
    let known = [
        "none", "main", "task", "run", "loop", "event", "stats", "attrs",
    ];
    for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        if !known.contains(&word) {
            return Err(RtAppError::new(
                m.node.place,
                format!(
                    "unknown ftrace category '{word}', known are {}",
                    known.join(", ")
                ),
            ));
        }
    }
    Ok(())
}

/// The entries say what exists, which the events say anyway.
fn read_resources(member: &Member) -> Result<()> {
    if let Value::Int(_) = member.node.value {
        return Ok(());
    }
    for m in field::object(member, "resources by name")? {
        for inner in field::object(m, "a resource with its type")? {
            match inner.key.as_str() {
                "type" => {
                    let kind = field::string(inner, "a type")?;
                    if !keys::RESOURCES.contains(&kind) {
                        let hint = crate::error::did_you_mean(kind, keys::RESOURCES);
                        return Err(RtAppError::new(
                            inner.node.place,
                            format!("unknown type of resource '{kind}'{hint}"),
                        ));
                    }
                }
                "target" | "access" => {}
                key => {
                    let known = ["type", "target", "access"];
                    return Err(field::unknown(inner.place, key, "a resource", &known));
                }
            }
        }
    }
    Ok(())
}

/// Refuses files that ask for more threads than can be simulated.
fn check_total(tasks: &[Task], place: Place) -> Result<()> {
    let total: u64 = tasks.iter().map(|t| u64::from(t.instances)).sum();
    if total > 1_000_000 {
        return Err(RtAppError::new(
            place,
            format!("{total} threads are asked for; a million is the most"),
        ));
    }
    Ok(())
}

/// Notes threads that wait for something that nobody gives.
fn note_lonely(app: &mut RtApp) {
    use crate::model::Event;
    let events = || {
        app.tasks
            .iter()
            .flat_map(|t| &t.phases)
            .flat_map(|p| &p.events)
    };
    let is_given = |name: &str| {
        events().any(|e| match e {
            Event::Resume(n)
            | Event::Signal(n)
            | Event::Broadcast(n)
            | Event::Sync { cond: n, .. } => n == name,
            _ => false,
        })
    };
    let mut notes = Vec::new();
    for task in &app.tasks {
        for event in task.phases.iter().flat_map(|p| &p.events) {
            let (Event::Suspend(name) | Event::Wait { cond: name, .. }) = event else {
                continue;
            };
            if !is_given(name) {
                let message = format!(
                    "task '{}' waits for '{name}', which nobody resumes or signals: it never goes on",
                    task.name
                );
                let note = Note {
                    place: task.place,
                    message,
                };
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    app.notes.extend(notes);
}
