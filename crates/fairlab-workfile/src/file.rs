//! The file as a whole: its tables, and the tasks.

use fairlab_units::{CpuMask, Nanos};
use fairlab_workload::{
    Channel, End, PipeSpec, ProgramBuilder, ProgramId, Report, TimerOrigin, TimerSpec, Workload,
    WorkloadBuilder,
};
use toml::de::DeTable;

use crate::error::{Fault, Result, WorkFileError};
use crate::groups;
use crate::names::Names;
use crate::steps;
use crate::table::{self, Value};

const KEYS: [&str; 9] = [
    "runtime",
    "warmup",
    "report",
    "pipe",
    "barrier",
    "timer",
    "semaphore",
    "group",
    "task",
];
const TASK_KEYS: [&str; 14] = [
    "name",
    "count",
    "nice",
    "class",
    "cpus",
    "group",
    "process",
    "slack",
    "working-set-kib",
    "bandwidth-mib-per-ms",
    "memory-bound-percent",
    "background",
    "start",
    "do",
];

/// Most tasks that a file may start.
const MOST_TASKS: i64 = 1_000_000;

/// Reads the workload in `text`, which is called `description`, for a machine with the CPUs `online`.
/// `runtime` overrides the file's.
///
/// # Errors
/// On anything that is not understood, with its place.
pub fn parse(
    text: &str,
    description: &str,
    online: &CpuMask,
    runtime: Option<Nanos>,
) -> std::result::Result<Workload, WorkFileError> {
    read(text, description, online, runtime).map_err(|fault| fault.locate(text))
}

fn read(
    text: &str,
    description: &str,
    online: &CpuMask,
    runtime: Option<Nanos>,
) -> Result<Workload> {
    let file = DeTable::parse(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        Fault::new(&at, error.message().to_owned())
    })?;
    let file = file.get_ref();
    let mut end = End::AllExited;
    let mut report = Report::Plain;
    let mut warmup = Nanos::ZERO;
    let mut tasks = None;
    for (key, value) in file {
        match key.get_ref().as_ref() {
            "runtime" => end = End::After(table::time(value)?),
            "warmup" => warmup = table::time(value)?,
            "report" => {
                report = match table::string(value, "a form of the report")? {
                    "plain" => Report::Plain,
                    "schbench" => Report::Schbench,
                    "hackbench" => Report::Hackbench,
                    _ => return Err(table::wanted(value, "plain, schbench or hackbench")),
                };
            }
            "task" => tasks = Some(value),
            "pipe" | "barrier" | "timer" | "semaphore" | "group" => {}
            other => return Err(table::unknown(&key.span(), other, "the file", &KEYS)),
        }
    }
    if let Some(runtime) = runtime {
        end = End::After(runtime);
    }
    let builder = WorkloadBuilder::new(description, report, end).warmup(warmup);
    let mut names = Names::new(builder, online);
    for (key, value) in file {
        declare(key.get_ref(), value, &mut names)?;
    }
    let Some(tasks) = tasks else {
        return Err(Fault::new(&(0..0), "there is no [[task]]"));
    };
    let tasks = table::array(tasks, "[[task]], with two brackets,")?;
    write_tasks(tasks, &mut names)?;
    Ok(names.builder.build())
}

/// Takes in the tables of what needs more than a name.
fn declare(kind: &str, value: &Value<'_>, names: &mut Names<'_>) -> Result<()> {
    if kind == "group" {
        return groups::declare(value, names);
    }
    if !["pipe", "barrier", "timer", "semaphore"].contains(&kind) {
        return Ok(());
    }
    for (name, value) in table::table(value, &format!("[{kind}.NAME]"))? {
        let spec = table::table(value, "a table")?;
        let name = name.get_ref().to_string();
        match kind {
            "pipe" => {
                let spec = pipe(spec)?;
                let id = names.builder.pipe(spec);
                names.pipes.insert(name, id);
            }
            "barrier" => {
                let mut tasks = None;
                for (key, value) in spec {
                    match key.get_ref().as_ref() {
                        "tasks" => tasks = Some(table::int(value, 1, MOST_TASKS)? as u32),
                        other => {
                            return Err(table::unknown(
                                &key.span(),
                                other,
                                "a barrier",
                                &["tasks"],
                            ));
                        }
                    }
                }
                let Some(tasks) = tasks else {
                    return Err(table::wanted(
                        value,
                        "'tasks', how many wait for each other,",
                    ));
                };
                let id = names.builder.barrier(tasks);
                names.barriers.insert(name, id);
            }
            "timer" => {
                let spec = timer(spec)?;
                let id = names.builder.timer(spec);
                names.timers.insert(name, id);
            }
            _ => {
                let mut first = 0;
                for (key, value) in spec {
                    match key.get_ref().as_ref() {
                        "value" => first = table::int(value, 0, MOST_TASKS)? as u32,
                        other => {
                            let known = ["value"];
                            return Err(table::unknown(&key.span(), other, "a semaphore", &known));
                        }
                    }
                }
                let id = names.builder.semaphore(first);
                names.semaphores.insert(name, id);
            }
        }
    }
    Ok(())
}

/// A pipe of 16 pages and small messages, unless the file says otherwise.
fn pipe(table: &DeTable<'_>) -> Result<PipeSpec> {
    let mut spec = PipeSpec {
        capacity: 640,
        wake_writers_at: 600,
        channel: Channel::Pipe { bytes: 100 },
        sync: true,
    };
    let (mut wake, mut write, mut read) = (None, None, None);
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "capacity" => spec.capacity = table::int(value, 1, MOST_TASKS)? as u32,
            "wake-writers-at" => wake = Some(table::int(value, 0, MOST_TASKS)? as u32),
            "write" => write = Some(table::time(value)?),
            "read" => read = Some(table::time(value)?),
            "sync" => spec.sync = table::boolean(value)?,
            other => {
                let known = ["capacity", "wake-writers-at", "write", "read", "sync"];
                return Err(table::unknown(&key.span(), other, "a pipe", &known));
            }
        }
    }
    // One that is stated costs the same on any machine; the other one is then free unless stated.
    if write.is_some() || read.is_some() {
        spec.channel = Channel::Stated {
            write: write.unwrap_or_default(),
            read: read.unwrap_or_default(),
        };
    }
    spec.wake_writers_at = wake.unwrap_or(spec.capacity / 2).min(spec.capacity - 1);
    Ok(spec)
}

fn timer(table: &DeTable<'_>) -> Result<TimerSpec> {
    let mut spec = TimerSpec {
        is_unique: true,
        is_absolute: true,
        origin: TimerOrigin::FirstUse,
    };
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "shared" => spec.is_unique = !table::boolean(value)?,
            "relative" => spec.is_absolute = !table::boolean(value)?,
            "start" => spec.origin = TimerOrigin::Start(table::time(value)?),
            other => {
                let known = ["shared", "relative", "start"];
                return Err(table::unknown(&key.span(), other, "a timer", &known));
            }
        }
    }
    Ok(spec)
}

/// What a task says about itself.
struct Task<'a, 'b> {
    name: &'a str,
    count: u32,
    starts: bool,
    steps: &'a Value<'b>,
    program: ProgramBuilder,
}

fn write_tasks(values: &[Value<'_>], names: &mut Names<'_>) -> Result<()> {
    let mut tasks = Vec::new();
    for value in values {
        let task = read_task(value, names)?;
        let id = ProgramId(tasks.len() as u32);
        if names.tasks.insert(task.name.to_owned(), id).is_some() {
            let message = format!("there is another task '{}'", task.name);
            return Err(Fault::new(&value.span(), message));
        }
        tasks.push(task);
    }
    let total: u64 = tasks.iter().map(|t| u64::from(t.count)).sum();
    if total > MOST_TASKS as u64 {
        let at = values.first().map_or(0..0, Value::span);
        return Err(Fault::new(
            &at,
            format!("{total} tasks are asked for; a million is the most"),
        ));
    }
    for task in tasks {
        let program = steps::steps(task.program, task.steps, 0, names)?;
        let id = names.builder.program(program.build());
        if task.starts {
            (0..task.count).for_each(|_| names.builder.start(id));
        }
    }
    Ok(())
}

fn read_task<'a, 'b>(value: &'a Value<'b>, names: &mut Names<'_>) -> Result<Task<'a, 'b>> {
    let fields = table::table(value, "a table")?;
    let (mut name, mut steps) = (None, None);
    let (mut count, mut starts) = (1, true);
    let mut program = ProgramBuilder::new("");
    for (key, value) in fields {
        match key.get_ref().as_ref() {
            "name" => name = Some(table::string(value, "a name")?),
            "count" => count = table::int(value, 1, MOST_TASKS)? as u32,
            "nice" => program = program.nice(table::int(value, -20, 19)? as i8),
            "class" => {
                let class = steps::class(table::string(value, steps::CLASS)?);
                let class = class.ok_or_else(|| table::wanted(value, steps::CLASS))?;
                program = program.class(class);
            }
            "cpus" => {
                let list = table::string(value, "a list of CPUs like \"0-3,8\"")?;
                let mask = names.mask(list).ok_or_else(|| {
                    let online = names.online;
                    let message = format!("'{list}' is no list of CPUs of this machine ({online})");
                    Fault::new(&value.span(), message)
                })?;
                program = program.allowed(mask);
            }
            "group" => {
                let name = table::string(value, "the name of a group")?;
                let group = names
                    .group(name)
                    .map_err(|message| Fault::new(&value.span(), message))?;
                if let Some(group) = group {
                    program = program.group(group);
                }
            }
            "process" => program = program.process(table::int(value, 0, MOST_TASKS)? as u32),
            "slack" => program = program.timer_slack(table::time(value)?),
            "working-set-kib" => {
                let kib = table::int(value, 0, 1 << 30)?;
                program = program.working_set_kib(kib as u32);
            }
            "bandwidth-mib-per-ms" => {
                let rate = table::int(value, 0, 1 << 20)?;
                program = program.bandwidth(rate as u32);
            }
            "memory-bound-percent" => {
                program = program.memory_bound(table::int(value, 0, 100)? as u32);
            }
            "background" => {
                if table::boolean(value)? {
                    program = program.background();
                }
            }
            "start" => starts = table::boolean(value)?,
            "do" => steps = Some(value),
            other => return Err(table::unknown(&key.span(), other, "a task", &TASK_KEYS)),
        }
    }
    let Some(name) = name else {
        return Err(Fault::new(&value.span(), "a task wants a 'name'"));
    };
    let Some(steps) = steps else {
        let message = format!("task '{name}' wants 'do', an array of operations");
        return Err(Fault::new(&value.span(), message));
    };
    Ok(Task {
        name,
        count,
        starts,
        steps,
        program: program.named(name),
    })
}
