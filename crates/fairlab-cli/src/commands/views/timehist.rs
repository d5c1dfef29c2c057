//! `fairlab timehist`: every switch with its times.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use fairlab_trace::Names;
use fairlab_views::{Columns, Row, Summary, Timehist, TimehistOptions, Who};
use serde_json::{Value, json};

use crate::cli::views::TimehistVerb;
use crate::output::{Format, Output};
use crate::trace_arg;

/// Prints rows, the summary, or both.
pub fn run(args: &TimehistVerb) -> Result<ExitCode> {
    let options = TimehistOptions {
        filter: super::filter(&args.filter, &args.pids)?,
        wakeups: args.wakeups,
        migrations: args.migrations,
        has_waking: false,
    };
    let format = args.output.format()?;
    let mut recording = trace_arg::open(&args.trace)?;
    let nr_cpus = recording.metadata().nr_cpus.unwrap_or(0);
    let mut timehist = Timehist::new(options, nr_cpus);
    let mut columns = Columns::new(nr_cpus);
    columns.cpus = args.cpu_visual;
    columns.state = args.state;
    columns.next = args.next;
    columns.wakeups = args.wakeups;
    let mut out = args.output.open()?;
    let mut text = Vec::new();
    let has_rows = !args.summary;
    if has_rows && format == Format::Text {
        columns.head(&mut text);
    }
    let mut events = Vec::new();
    while recording.next_batch(&mut events) {
        for event in &events {
            let Some(row) = timehist.event(event, recording.names()) else {
                continue;
            };
            match format {
                _ if !has_rows => {}
                Format::Text => columns.row(&row, recording.names(), &mut text),
                Format::Json => json_line(&mut text, &row_json(&row, recording.names()))?,
            }
        }
        out.write_all(&text)?;
        text.clear();
    }
    if args.summary || args.with_summary {
        let summary = timehist.finish();
        print_summary(&summary, recording.names(), format, args.state, &mut out)?;
    }
    out.finish()?;
    super::talk(&recording);
    Ok(ExitCode::SUCCESS)
}

fn print_summary(
    summary: &Summary,
    names: &Names,
    format: Format,
    has_waits: bool,
    out: &mut Output,
) -> Result<()> {
    if format == Format::Text {
        return Ok(summary.write(names, has_waits, out)?);
    }
    let tasks = Vec::from_iter(summary.tasks.iter().map(|task| {
        let (run, shortest, longest) = task.run_times();
        let [sleep, blocked, preempted, delay] = task.waits();
        json!({
            "task": task.task().0,
            "process": task.process().map(|process| process.0),
            "parent": task.parent().map(|parent| parent.0),
            "name": task.name(names),
            "has_exited": task.has_exited,
            "runs": task.runs(),
            "run_ns": run.0,
            "run_min_ns": shortest.0,
            "run_max_ns": longest.0,
            "sleep_ns": sleep.0,
            "blocked_ns": blocked.0,
            "preempted_ns": preempted.0,
            "delay_ns": delay.0,
            "migrations": task.migrations(),
        })
    }));
    let idle = Vec::from_iter(
        summary
            .idle
            .iter()
            .map(|(cpu, idle)| json!({ "cpu": cpu.0, "idle_ns": idle.map(|idle| idle.0) })),
    );
    let report = json!({
        "event": "summary",
        "tasks": tasks,
        "idle": idle,
        "elapsed_ns": summary.elapsed.0,
        "switches": summary.switches,
    });
    let mut line = Vec::new();
    json_line(&mut line, &report)?;
    Ok(out.write_all(&line)?)
}

fn json_line(text: &mut Vec<u8>, value: &Value) -> Result<()> {
    serde_json::to_writer(&mut *text, value).map_err(io::Error::from)?;
    text.push(b'\n');
    Ok(())
}

fn who(who: &Who, names: &Names) -> Value {
    json!({
        "task": who.task().map_or(0, |task| task.0),
        "process": who.process().map(|process| process.0),
        "name": who.name(names),
    })
}

fn row_json(row: &Row, names: &Names) -> Value {
    match row {
        Row::Switch {
            time,
            cpu,
            task,
            wait,
            delay,
            run,
            state,
            next,
        } => json!({
            "event": "switch",
            "time_ns": time.0,
            "cpu": cpu.0,
            "task": who(task, names),
            "wait_ns": wait.0,
            "delay_ns": delay.0,
            "run_ns": run.0,
            "state": state.letter(),
            "next": who(next, names),
        }),
        Row::Wakeup {
            time,
            cpu,
            waker,
            wakee,
        } => json!({
            "event": "wakeup",
            "time_ns": time.0,
            "cpu": cpu.0,
            "waker": who(waker, names),
            "wakee": who(wakee, names),
        }),
        Row::Migration {
            time,
            cpu,
            mover,
            moved,
            from,
            to,
        } => json!({
            "event": "migration",
            "time_ns": time.0,
            "cpu": cpu.0,
            "mover": who(mover, names),
            "moved": who(moved, names),
            "from": from.0,
            "to": to.0,
        }),
        Row::Lost { time, cpu, count } => json!({
            "event": "lost",
            "time_ns": time.0,
            "cpu": cpu.0,
            "count": count,
        }),
        _ => Value::Null,
    }
}
