//! The `tasks` object: tasks, phases and their attributes.

use crate::error::{Place, Result, RtAppError, did_you_mean};
use crate::event;
use crate::field::{self, Once};
use crate::json::{Member, Value};
use crate::keys;
use crate::model::{Event, Loops, Note, Numbers, Phase, Policy, Sched, Task};

/// Reads all tasks.
pub(crate) fn read_tasks(
    member: &Member,
    default: Policy,
    notes: &mut Vec<Note>,
) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for m in field::object(member, "tasks by name")? {
        tasks.push(read_task(m, default, notes)?);
    }
    if tasks.is_empty() {
        return Err(RtAppError::new(member.node.place, "there are no tasks"));
    }
    check_forks(member, &tasks)?;
    Ok(tasks)
}

/// What a task or a phase says about itself, beside its events.
#[derive(Default)]
struct Attributes {
    policy: Option<(Policy, Place)>,
    priority: Option<(i64, Place)>,
    runtime: Option<(u32, Place)>,
    period: Option<u32>,
    deadline: Option<(u32, Place)>,
    util_min: Option<i64>,
    util_max: Option<i64>,
    cpus: Option<Numbers>,
    nodes: Option<Numbers>,
    taskgroup: Option<(String, Place)>,
}

impl Attributes {
    /// Takes `m` in if it is an attribute.
    fn take(&mut self, m: &Member) -> Result<bool> {
        let place = m.node.place;
        let clamp = |m| field::int(m, -1, 1024, "utilization, or -1 for no clamp");
        match m.key.as_str() {
            "policy" => self.policy = Some((field::policy(m)?, place)),
            "priority" => {
                let what = "a nice value or real-time priority";
                self.priority = Some((field::int(m, -20, 99, what)?, place));
            }
            "dl-runtime" => self.runtime = Some((field::microseconds(m)?, place)),
            "dl-period" => self.period = Some(field::microseconds(m)?),
            "dl-deadline" => self.deadline = Some((field::microseconds(m)?, place)),
            "util_min" => self.util_min = Some(clamp(m)?),
            "util_max" => self.util_max = Some(clamp(m)?),
            "cpus" => self.cpus = Some(field::numbers(m, "CPU")?),
            "nodes_membind" => self.nodes = Some(field::numbers(m, "node")?),
            "taskgroup" => {
                let name = field::string(m, "a path that begins with '/'")?;
                if !name.is_empty() && !name.starts_with('/') {
                    return Err(RtAppError::new(
                        place,
                        format!("the task group '{name}' has to begin with '/'"),
                    ));
                }
                self.taskgroup = (!name.is_empty()).then(|| (name.to_owned(), place));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The scheduling attributes, when any is given, on top of those `before`.
    fn sched(&self, before: Sched) -> Result<Option<Sched>> {
        let given = self.policy.is_some()
            || self.priority.is_some()
            || self.runtime.is_some()
            || self.period.is_some()
            || self.deadline.is_some()
            || self.util_min.is_some()
            || self.util_max.is_some();
        if !given {
            return Ok(None);
        }
        let policy = self.policy.map_or(before.policy, |p| p.0);
        let priority = match self.priority {
            Some((priority, place)) => check_priority(policy, priority, place)?,
            None if self.policy.is_some() => policy.default_priority(),
            None => before.priority,
        };
        let runtime = self.runtime.map_or(0, |r| r.0);
        let period = self.period.filter(|p| *p > 0).unwrap_or(runtime);
        let deadline = self.deadline.map(|d| d.0).filter(|d| *d > 0);
        let deadline = deadline.unwrap_or(period);
        let sched = Sched {
            policy,
            priority,
            dl_runtime: runtime,
            dl_period: period,
            dl_deadline: deadline,
            clamp: (
                clamp(self.util_min, before.clamp.0, 0),
                clamp(self.util_max, before.clamp.1, 1024),
            ),
        };
        if sched.clamp.0 > sched.clamp.1 {
            return Err(RtAppError::new(
                self.place(),
                format!(
                    "util_min {} is above util_max {}",
                    sched.clamp.0, sched.clamp.1
                ),
            ));
        }
        if policy == Policy::Deadline {
            self.check_deadline(&sched)?;
        }
        Ok(Some(sched))
    }

    /// Where to point for a fault of several attributes.
    fn place(&self) -> Place {
        let places = [
            self.deadline.map(|d| d.1),
            self.runtime.map(|r| r.1),
            self.policy.map(|p| p.1),
            self.priority.map(|p| p.1),
        ];
        let none = Place { line: 1, column: 1 };
        places.into_iter().flatten().next().unwrap_or(none)
    }

    fn check_deadline(&self, sched: &Sched) -> Result<()> {
        let (runtime, deadline, period) = (sched.dl_runtime, sched.dl_deadline, sched.dl_period);
        let fault = if runtime == 0 {
            "SCHED_DEADLINE wants a 'dl-runtime' above 0".to_owned()
        } else if runtime > deadline || deadline > period {
            format!(
                "SCHED_DEADLINE wants runtime <= deadline <= period, found {runtime}, {deadline}, {period}"
            )
        } else {
            return Ok(());
        };
        Err(RtAppError::new(self.place(), fault))
    }
}

fn clamp(given: Option<i64>, before: u16, none: u16) -> u16 {
    match given {
        None => before,
        Some(-1) => none,
        // In range: checked when it was read.
        Some(n) => n as u16,
    }
}

fn check_priority(policy: Policy, priority: i64, place: Place) -> Result<i32> {
    let (range, what) = match policy {
        Policy::Other | Policy::Idle => (-20..=19, "a nice value"),
        Policy::RoundRobin | Policy::Fifo => (1..=99, "a real-time priority"),
        // Ignored by the kernel.
        Policy::Deadline => (-20..=99, "ignored"),
    };
    if range.contains(&priority) {
        return Ok(priority as i32);
    }
    Err(RtAppError::new(
        place,
        format!(
            "priority {priority} is out of range for {}: {what}, {} to {}",
            policy.name(),
            range.start(),
            range.end()
        ),
    ))
}

fn read_task(member: &Member, default: Policy, notes: &mut Vec<Note>) -> Result<Task> {
    let members = field::object(member, "a task")?;
    let name = &member.key;
    let mut own = Attributes::default();
    let mut once = Once::new();
    let (mut instances, mut delay, mut phases, mut loops) = (1, 0, None, None);
    let mut events = Vec::new();
    let is_old = members
        .iter()
        .any(|m| m.key == "exec" || m.key == "lock_order");
    for m in members {
        if is_old && keys::OLD.contains(&m.key.as_str()) {
            return Err(old_grammar(m));
        }
        if keys::event(&m.key).is_some()
            && !matches!(m.key.as_str(), "runtime" if is_legacy(members))
        {
            events.push(m);
            continue;
        }
        once.see(m)?;
        if own.take(m)? {
            continue;
        }
        match m.key.as_str() {
            "instance" => {
                let what = "threads to start with; 0 for a task that is only forked";
                instances = field::int(m, 0, 1_000_000, what)? as u32;
            }
            "delay" => delay = field::microseconds(m)?,
            "loop" => loops = Some(m),
            "phases" => phases = Some(m),
            // Of the former grammar, which rt-app still takes for tasks of the deadline class.
            "runtime" => {
                own.runtime = own
                    .runtime
                    .or(Some((field::microseconds(m)?, m.node.place)))
            }
            "period" => own.period = own.period.or(Some(field::microseconds(m)?)),
            "deadline" => {
                own.deadline = own
                    .deadline
                    .or(Some((field::microseconds(m)?, m.node.place)));
            }
            _ => return Err(unknown(m, &format!("task '{name}'"), true)),
        }
    }
    let before = Sched {
        policy: default,
        priority: default.default_priority(),
        dl_runtime: 0,
        dl_deadline: 0,
        dl_period: 0,
        clamp: (0, 1024),
    };
    if own.policy.is_none() && default == Policy::Deadline {
        own.policy = Some((default, member.place));
    }
    let sched = own.sched(before)?.unwrap_or(before);
    let mut task = Task {
        name: name.clone(),
        place: member.place,
        instances,
        delay,
        loops: Loops::Forever,
        sched,
        taskgroup: own.taskgroup.as_ref().map(|t| t.0.clone()),
        nodes: own.nodes.clone(),
        phases: Vec::new(),
    };
    check_group(sched.policy, own.taskgroup.as_ref())?;
    match phases {
        Some(phases) => {
            if let Some(event) = events.first() {
                return Err(RtAppError::new(
                    event.place,
                    format!(
                        "rt-app passes over '{}': a task with 'phases' has its events in the phases",
                        event.key
                    ),
                ));
            }
            if let Some(m) = loops {
                task.loops = field::loops(m, 0)?;
            }
            let (mut sched, mut group) = (sched, own.taskgroup.clone());
            for m in field::object(phases, "phases by name")? {
                let mut reader = PhaseReader {
                    task: name,
                    before: sched,
                    cpus: own.cpus.as_ref(),
                    group: &mut group,
                };
                let phase = reader.read(m, notes)?;
                sched = phase.sched.unwrap_or(sched);
                task.phases.push(phase);
            }
            if task.phases.is_empty() {
                return Err(RtAppError::new(phases.node.place, "there are no phases"));
            }
        }
        None => {
            let once_or_for_ever = match loops {
                Some(m) => (Loops::Times(1), field::loops(m, 1)?),
                None => (Loops::Forever, Loops::Times(1)),
            };
            task.loops = once_or_for_ever.0;
            let events = read_events(&events, name, notes)?;
            if events.is_empty() {
                return Err(no_events(member));
            }
            task.phases.push(Phase {
                name: String::new(),
                loops: once_or_for_ever.1,
                sched: None,
                cpus: own.cpus,
                taskgroup: None,
                nodes: None,
                events,
            });
        }
    }
    Ok(task)
}

/// Are `runtime`, `period` and `deadline` of this task the attributes of the former grammar?
fn is_legacy(members: &[Member]) -> bool {
    let has = |key| members.iter().any(|m: &Member| m.key == key);
    has("phases") && !has("dl-runtime") || has("deadline") && !has("dl-deadline")
}

/// What a phase inherits.
struct PhaseReader<'a> {
    task: &'a str,
    before: Sched,
    cpus: Option<&'a Numbers>,
    group: &'a mut Option<(String, Place)>,
}

impl PhaseReader<'_> {
    fn read(&mut self, member: &Member, notes: &mut Vec<Note>) -> Result<Phase> {
        let name = &member.key;
        let mut own = Attributes::default();
        let mut once = Once::new();
        let mut loops = Loops::Times(1);
        let mut events = Vec::new();
        for m in field::object(member, "a phase")? {
            if matches!(m.key.as_str(), "exec" | "lock_order") {
                return Err(old_grammar(m));
            }
            if keys::event(&m.key).is_some() {
                events.push(m);
                continue;
            }
            once.see(m)?;
            if own.take(m)? {
                continue;
            }
            match m.key.as_str() {
                "loop" => loops = field::loops(m, 1)?,
                key if keys::TASK_ONLY.contains(&key) => {
                    return Err(RtAppError::new(
                        m.place,
                        format!("'{key}' belongs to a task, not to a phase"),
                    ));
                }
                _ => return Err(unknown(m, &format!("phase '{name}'"), false)),
            }
        }
        let sched = own.sched(self.before)?;
        if own.taskgroup.is_some() {
            self.group.clone_from(&own.taskgroup);
        }
        check_group(sched.unwrap_or(self.before).policy, self.group.as_ref())?;
        let events = read_events(&events, self.task, notes)?;
        if events.is_empty() {
            return Err(no_events(member));
        }
        Ok(Phase {
            name: name.clone(),
            loops,
            sched,
            cpus: own.cpus.or_else(|| self.cpus.cloned()),
            taskgroup: own.taskgroup.map(|t| t.0),
            nodes: own.nodes,
            events,
        })
    }
}

fn read_events(members: &[&Member], owner: &str, notes: &mut Vec<Note>) -> Result<Vec<Event>> {
    members
        .iter()
        .map(|m| event::read_event(m, owner, notes))
        .collect()
}

fn check_group(policy: Policy, group: Option<&(String, Place)>) -> Result<()> {
    match group {
        Some((name, place)) if !policy.is_fair() => Err(RtAppError::new(
            *place,
            format!(
                "the task group '{name}' takes SCHED_OTHER and SCHED_IDLE only, not {}",
                policy.name()
            ),
        )),
        _ => Ok(()),
    }
}

fn check_forks(member: &Member, tasks: &[Task]) -> Result<()> {
    let names = || tasks.iter().map(|t| t.name.as_str());
    let events = tasks.iter().flat_map(|t| &t.phases).flat_map(|p| &p.events);
    for event in events {
        if let Event::Fork(name) = event
            && !names().any(|n| n == name)
        {
            let place = find_string(member, name).unwrap_or(member.place);
            let hint = did_you_mean(name, names());
            return Err(RtAppError::new(
                place,
                format!("there is no task '{name}' to fork{hint}"),
            ));
        }
    }
    Ok(())
}

/// Where the value `text` of a `fork` stands.
fn find_string(member: &Member, text: &str) -> Option<Place> {
    match &member.node.value {
        Value::String(s) if s == text && member.key.starts_with("fork") => Some(member.node.place),
        Value::Object(members) => members.iter().find_map(|m| find_string(m, text)),
        _ => None,
    }
}

fn no_events(member: &Member) -> RtAppError {
    RtAppError::new(
        member.place,
        format!("'{}' has no events; rt-app does not take that", member.key),
    )
}

fn old_grammar(member: &Member) -> RtAppError {
    RtAppError::new(
        member.place,
        format!(
            "'{}' belongs to the grammar before rt-app 1.0 (exec, period, lock_order), which later versions \
             do not take; describe the task by events: run, sleep, timer, lock",
            member.key
        ),
    )
}

fn unknown(member: &Member, within: &str, is_task: bool) -> RtAppError {
    let key = &member.key;
    let mut known: Vec<&str> = keys::EVENTS.to_vec();
    known.extend(keys::ATTRIBUTES);
    if is_task {
        known.extend(keys::TASK_ONLY);
    }
    let mut error = field::unknown(member.place, key, within, &known);
    if let Some(event) = keys::loose_event(key) {
        error.message = format!(
            "unknown key '{key}' in {within}; rt-app takes it for '{event}' because it begins like it: write \
             '{event}' or '{event}1' if that is meant"
        );
    }
    error
}
