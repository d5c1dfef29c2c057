//! What happened on each CPU, as columns of numbers for the page's script.
//!
//! ```text
//!   for each CPU, in the order of the description:
//!     stretches, by time, n of them           points, by time, m of them
//!       n x gap     ns since the one before     m x gap    ns since the one before
//!       n x length  ns                          m x kind   a byte: 0 a move, 1 + verdict; + 0x80 not sure
//!       n x task    index; 0: not known         m x task   index
//!       n x stop    a byte, see letter()        m x other  0, or 1 + CPU: where a move came from, what
//!       n x wait    0: none seen before, else              would have been better
//!                   1 + 2 * ns + (1 if woken)   m x delay  0, or 1 + ns from the wakeup to the run
//! ```
//!
//! All but the bytes are variable-length numbers. Columns of like numbers deflate to about half of
//! what rows of the same do.

use std::collections::BTreeMap;

use fairlab_audit::{Certainty, Found, Kind, LongWait, Missed, Stretch};
use fairlab_event::SwitchState;
use fairlab_units::{CpuId, TaskId, Timestamp};

use crate::pack::varint;
use crate::run::Run;

/// A placement's sort, of which the page has a list: `kind` in points is 1 + index.
pub(crate) type Sort = (Kind, Found, Missed);

/// The packed lanes and what is needed to read them.
pub(crate) struct Lanes {
    /// The CPUs in the order in which they are drawn: by node, LLC and core.
    pub(crate) cpus: Vec<Lane>,
    /// The tasks by index; the first stands for what is not known.
    pub(crate) tasks: Vec<TaskId>,
    /// The sorts of placements.
    pub(crate) sorts: Vec<Sort>,
    /// The columns.
    pub(crate) bytes: Vec<u8>,
}

/// A CPU's lane.
pub(crate) struct Lane {
    pub(crate) cpu: CpuId,
    pub(crate) stretches: usize,
    pub(crate) points: usize,
}

/// A point in time on a lane.
struct Point {
    time: Timestamp,
    kind: u8,
    task: TaskId,
    other: Option<CpuId>,
    delay: u64,
}

/// Bit of a point's kind: the verdict is not sure.
const UNSURE: u8 = 0x80;

/// The online CPUs as they are drawn: neighbours share most.
pub(crate) fn drawn_order(run: &Run<'_>) -> Vec<CpuId> {
    let mut cpus: Vec<_> = run
        .machine
        .cpus()
        .iter()
        .filter(|cpu| cpu.online)
        .map(|cpu| {
            (
                cpu.node.0,
                cpu.package,
                cpu.llc,
                cpu.cluster,
                cpu.core,
                cpu.id,
            )
        })
        .collect();
    cpus.sort_unstable();
    cpus.into_iter().map(|(.., id)| id).collect()
}

/// The state's letter as a byte, a plus for preempted tasks.
fn letter(stop: SwitchState) -> u8 {
    match stop {
        SwitchState::Unknown => 0,
        SwitchState::Preempted => b'+',
        other => other.letter().bytes().next().unwrap_or(0),
    }
}

impl Lanes {
    /// Packs the history of `run`.
    pub(crate) fn of(run: &Run<'_>) -> Self {
        let order = drawn_order(run);
        let nr = run.machine.nr_cpu_ids();
        let (stretches, waits) = (stretches(run, nr), waits(run, nr));
        let (points, sorts) = points(run, nr);
        let tasks = tasks(&stretches, &points);
        let index: BTreeMap<TaskId, u64> =
            (1..).zip(&tasks).map(|(at, &task)| (task, at)).collect();
        let number =
            |task: Option<TaskId>| task.and_then(|task| index.get(&task)).copied().unwrap_or(0);
        let mut bytes = Vec::new();
        let mut lanes = Vec::new();
        for cpu in order {
            let (stretches, points) = (&stretches[cpu.index()], &points[cpu.index()]);
            pack_stretches(run, stretches, &waits[cpu.index()], number, &mut bytes);
            pack_points(run, points, number, &mut bytes);
            lanes.push(Lane {
                cpu,
                stretches: stretches.len(),
                points: points.len(),
            });
        }
        Self {
            cpus: lanes,
            tasks,
            sorts,
            bytes,
        }
    }
}

/// The stretches of each CPU. What was split without a change is put together.
pub(crate) fn stretches(run: &Run<'_>, nr_cpus: usize) -> Vec<Vec<Stretch>> {
    let mut by_cpu: Vec<Vec<Stretch>> = vec![Vec::new(); nr_cpus];
    for stretch in &run.audit.history.stretches {
        let Some(lane) = by_cpu.get_mut(stretch.cpu.index()) else {
            continue;
        };
        match lane.last_mut() {
            Some(last)
                if last.to == stretch.from
                    && last.task == stretch.task
                    && last.stop == SwitchState::Unknown =>
            {
                last.to = stretch.to;
                last.stop = stretch.stop;
            }
            _ => lane.push(*stretch),
        }
    }
    by_cpu
}

/// The waits by the CPU on which they ended.
fn waits(run: &Run<'_>, nr_cpus: usize) -> Vec<Vec<LongWait>> {
    let mut by_cpu: Vec<Vec<LongWait>> = vec![Vec::new(); nr_cpus];
    for wait in &run.audit.history.waits {
        if let Some(lane) = by_cpu.get_mut(wait.cpu.index()) {
            lane.push(*wait);
        }
    }
    by_cpu
}

/// Moves and placements by the CPU to which they led, in time order, and the placements' sorts.
fn points(run: &Run<'_>, nr_cpus: usize) -> (Vec<Vec<Point>>, Vec<Sort>) {
    let mut by_cpu: Vec<Vec<Point>> = Vec::new();
    by_cpu.resize_with(nr_cpus, Vec::new);
    let audit = run.audit;
    let mut sorts: Vec<Sort> = audit
        .placements
        .every
        .iter()
        .map(|placed| (placed.kind, placed.found, placed.missed))
        .collect();
    sorts.sort_unstable();
    sorts.dedup();
    for moved in &audit.history.moves {
        if let Some(lane) = by_cpu.get_mut(moved.to.index()) {
            lane.push(Point {
                time: moved.time,
                kind: 0,
                task: moved.task,
                other: Some(moved.from),
                delay: 0,
            });
        }
    }
    for placed in &audit.placements.every {
        if audit.history.cut.is_some_and(|cut| placed.time >= cut) {
            continue;
        }
        // There are fewer sorts than bits allow, and each is there.
        let sort = sorts.partition_point(|&sort| sort < (placed.kind, placed.found, placed.missed));
        let is_sure = placed.certainty == Certainty::Sure && audit.contradictions == 0;
        if let Some(lane) = by_cpu.get_mut(placed.cpu.index()) {
            lane.push(Point {
                time: placed.time,
                kind: 1 + sort as u8 + if is_sure { 0 } else { UNSURE },
                task: placed.task,
                other: placed.better,
                delay: if placed.delay_ns > 0 {
                    placed.delay_ns + 1
                } else {
                    0
                },
            });
        }
    }
    for lane in &mut by_cpu {
        lane.sort_by_key(|point| (point.time, point.kind, point.task));
    }
    (by_cpu, sorts)
}

/// Every task that appears, by number.
fn tasks(stretches: &[Vec<Stretch>], points: &[Vec<Point>]) -> Vec<TaskId> {
    let ran = stretches
        .iter()
        .flatten()
        .filter_map(|stretch| stretch.task);
    let told = points.iter().flatten().map(|point| point.task);
    let mut tasks: Vec<TaskId> = ran.chain(told).collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks
}

fn pack_stretches(
    run: &Run<'_>,
    stretches: &[Stretch],
    waits: &[LongWait],
    number: impl Fn(Option<TaskId>) -> u64,
    bytes: &mut Vec<u8>,
) {
    let mut last = run.audit.totals.from;
    for stretch in stretches {
        varint(bytes, stretch.from.saturating_since(last).0);
        last = stretch.to;
    }
    for stretch in stretches {
        varint(bytes, stretch.to.saturating_since(stretch.from).0);
    }
    for stretch in stretches {
        varint(bytes, number(stretch.task));
    }
    for stretch in stretches {
        bytes.push(letter(stretch.stop));
    }
    let mut waits = waits.iter().peekable();
    for stretch in stretches {
        // Waits end where stretches begin.
        while waits
            .next_if(|wait| wait.from.0 + wait.ns < stretch.from.0)
            .is_some()
        {}
        let ends_here = |wait: &&LongWait| {
            wait.from.0 + wait.ns == stretch.from.0 && Some(wait.task) == stretch.task
        };
        let wait = waits.next_if(ends_here);
        let value = wait.map_or(0, |wait| 1 + 2 * wait.ns + u64::from(wait.is_woken));
        varint(bytes, value);
    }
}

fn pack_points(
    run: &Run<'_>,
    points: &[Point],
    number: impl Fn(Option<TaskId>) -> u64,
    bytes: &mut Vec<u8>,
) {
    let mut last = run.audit.totals.from;
    for point in points {
        varint(bytes, point.time.saturating_since(last).0);
        last = point.time;
    }
    for point in points {
        bytes.push(point.kind);
    }
    for point in points {
        varint(bytes, number(Some(point.task)));
    }
    for point in points {
        varint(bytes, point.other.map_or(0, |cpu| u64::from(cpu.0) + 1));
    }
    for point in points {
        varint(bytes, point.delay);
    }
}
