//! How fast, and with how many moves, each release spreads CPU-bound tasks that all start on one
//! CPU:
//!
//! ```text
//! cargo run --release -p fairlab-experiment --example spread -- 1000 5 power9 epyc-7713 kunpeng-920
//! ```
//!
//! Arguments: tasks (more than CPUs), simulated seconds, machines. A machine written as
//! `power9+1000` has, on every CPU, a kernel thread that runs 20 us every 1000 ms, as the periodic
//! work of a real kernel does: an idle CPU looks for tasks when such a thread goes to sleep. "Spread" is the first moment from
//! which on no CPU has more than twice its fair share of tasks (rounded up) and none is idle.

use std::collections::BTreeMap;

use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::{Kernel, Release};
use fairlab_machines::{LoadOptions, load};
use fairlab_sim::{Distance, Distances, Observer, SimOptions, run};
use fairlab_stats::table::{Align, Table};
use fairlab_topology::Machine;
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId, Timestamp};
use fairlab_workload::{MaskId, Op, ProgramBuilder, ProgramId, Span, Workload, parse};

/// Follows how many tasks each CPU has.
struct Spread {
    at: BTreeMap<TaskId, CpuId>,
    tasks: Vec<u32>,
    limit: u32,
    /// CPUs above the limit, and without a task.
    over: usize,
    idle: usize,
    /// Since when the tasks are spread.
    since: Option<Timestamp>,
    moves: u64,
    moves_before: u64,
    /// Of these, moves to another core.
    far: u64,
    far_before: u64,
    distances: Distances,
    /// CPU time without a task while another CPU has more than one, in ns times CPUs.
    wasted: u128,
    last: Timestamp,
    /// Tasks with lower numbers are hogs.
    hogs: u32,
}

impl Spread {
    fn new(machine: &Machine, tasks: usize) -> Self {
        let (cpus, nr_ids) = (machine.online().weight(), machine.nr_cpu_ids());
        let limit = (2 * tasks.div_ceil(cpus)) as u32;
        Self {
            at: BTreeMap::new(),
            tasks: vec![0; nr_ids],
            limit,
            over: 0,
            idle: cpus,
            since: None,
            moves: 0,
            moves_before: 0,
            far: 0,
            far_before: 0,
            distances: Distances::of(machine),
            wasted: 0,
            last: Timestamp::ZERO,
            hogs: tasks as u32,
        }
    }

    fn add(&mut self, cpu: CpuId, by: i32) {
        let n = &mut self.tasks[cpu.index()];
        let (was_over, was_idle) = (*n > self.limit, *n == 0);
        *n = n.saturating_add_signed(by);
        let (is_over, is_idle) = (*n > self.limit, *n == 0);
        self.over = self.over + usize::from(is_over) - usize::from(was_over);
        self.idle = self.idle + usize::from(is_idle) - usize::from(was_idle);
    }

    fn note(&mut self, now: Timestamp) {
        let spread = self.over == 0 && self.idle == 0;
        if spread && self.since.is_none() {
            self.since = Some(now);
            self.moves_before = self.moves;
            self.far_before = self.far;
        } else if !spread {
            self.since = None;
        }
    }
}

impl Observer for Spread {
    fn event(&mut self, event: &SchedEvent) {
        // While tasks outnumber CPUs, every idle CPU is a gap in work conservation.
        self.wasted += u128::from((event.time - self.last).0) * self.idle as u128;
        self.last = event.time;
        match event.kind {
            EventKind::WakeupNew { task, target } if task.0 < self.hogs => {
                self.at.insert(task, target);
                self.add(target, 1);
            }
            EventKind::Migrate { task, from, to } if task.0 < self.hogs => {
                self.moves += 1;
                self.far += u64::from(self.distances.between(from, to) > Distance::SameCore);
                self.at.insert(task, to);
                self.add(from, -1);
                self.add(to, 1);
            }
            _ => {}
        }
        self.note(event.time);
    }
}

/// Adds a kernel thread to every CPU that runs 20 us every `ms` ms. They start at different times.
fn add_housekeeping(workload: &mut Workload, machine: &Machine, ms: u64) {
    for cpu in machine.online().iter() {
        let mask = CpuMask::from_cpus(machine.nr_cpu_ids(), [cpu]);
        workload.masks.push(mask);
        let mask = MaskId(workload.masks.len() as u32 - 1);
        let first = Nanos(u64::from(cpu.0) * ms * 1_000_000 / machine.nr_cpu_ids() as u64);
        let thread = ProgramBuilder::new("kworker")
            .allowed(mask)
            .kthread()
            .op(Op::Sleep(Span::Fixed(first)))
            .repeat(0, |p| {
                p.op(Op::Run(Span::Fixed(Nanos(20_000))))
                    .op(Op::Sleep(Span::around(Nanos::from_millis(ms), 10)))
            });
        workload.programs.push(thread.build());
        let program = ProgramId(workload.programs.len() as u32 - 1);
        workload.start.push(program);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [tasks, seconds, machines @ ..] = args.as_slice() else {
        return Err("tasks, seconds and machines are wanted".into());
    };
    let tasks: usize = tasks.parse()?;
    let seconds: u64 = seconds.parse()?;
    for name in machines {
        let (model, every_ms) = match name.split_once('+') {
            Some((model, ms)) => (model, Some(ms.parse()?)),
            None => (name.as_str(), None),
        };
        let machine = load(model, &LoadOptions::default())?;
        let cpus = machine.online().weight();
        let mut table = Table::new([
            (name.as_str(), Align::Left),
            ("spread after", Align::Right),
            ("moves until then", Align::Right),
            ("moves/s after", Align::Right),
            ("to other cores", Align::Right),
            ("idle until then, CPU-s", Align::Right),
            ("least, most at end", Align::Right),
        ]);
        for release in Release::ALL {
            let kernel = Kernel::of(release);
            let domains = build(&machine, &kernel, &BuildOptions::default())?;
            let mut workload = parse(&format!("hogs --stacked -n {tasks} -r {seconds}"))?;
            if let Some(ms) = every_ms {
                add_housekeeping(&mut workload, &machine, ms);
            }
            let mut spread = Spread::new(&machine, tasks);
            let options = SimOptions::new(kernel, 1);
            run(&machine, &domains, &workload, &options, &mut spread, None)?;
            let online = machine.online();
            let counts = || online.iter().map(|c| spread.tasks[c.index()]);
            let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
            let wasted = spread.wasted as f64 / 1e9;
            let (after, until, per_second, far) = match spread.since {
                Some(since) => {
                    let rest = seconds as f64 - since.0 as f64 / 1e9;
                    let rate =
                        |all: u64, before: u64| format!("{:.1}", (all - before) as f64 / rest);
                    (
                        format!("{:.3} s", since.0 as f64 / 1e9),
                        spread.moves_before.to_string(),
                        rate(spread.moves, spread.moves_before),
                        rate(spread.far, spread.far_before),
                    )
                }
                None => (
                    "not".to_owned(),
                    spread.moves.to_string(),
                    "-".to_owned(),
                    "-".to_owned(),
                ),
            };
            table.row([
                release.name().to_owned(),
                after,
                until,
                per_second,
                far,
                format!("{wasted:.2}"),
                format!("{least}, {most}"),
            ]);
        }
        println!(
            "{tasks} tasks on {cpus} CPUs, {seconds} s\n{}",
            table.to_text()
        );
    }
    Ok(())
}
