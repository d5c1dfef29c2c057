//! For how long how many CPUs of a core, and of an LLC, were busy at once.

use fairlab_stats::table::{Align, Table};
use fairlab_topology::Cpu;
use fairlab_units::CpuId;

use crate::lanes::{drawn_order, stretches};
use crate::run::Run;
use crate::tables::percent;

/// CPUs that share something.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) cpus: Vec<CpuId>,
    /// For each number of busy CPUs, from none to all, the time in ns.
    pub(crate) by_busy: Vec<u64>,
}

/// Cores and LLCs, in the order in which CPUs are drawn.
pub(crate) struct Occupancy {
    pub(crate) cores: Vec<Group>,
    pub(crate) llcs: Vec<Group>,
}

impl Occupancy {
    pub(crate) fn of(run: &Run<'_>) -> Self {
        Self {
            cores: groups(run, "core", |cpu| Some(cpu.core)),
            llcs: groups(run, "LLC", |cpu| cpu.llc),
        }
    }

    /// A row per LLC.
    pub(crate) fn llc_table(&self) -> Table {
        table("LLC", &self.llcs)
    }

    /// A row per core, for those who do not see the plot.
    pub(crate) fn core_table(&self) -> Table {
        table("core", &self.cores)
    }
}

fn table(what: &str, groups: &[Group]) -> Table {
    let mut table = Table::new([
        (what, Align::Left),
        ("CPUs", Align::Left),
        ("busy %", Align::Right),
        ("CPUs busy on average", Align::Right),
        ("all idle %", Align::Right),
        ("all busy %", Align::Right),
    ]);
    for group in groups {
        let all: u64 = group.by_busy.iter().sum();
        let weighted: u64 = (0..).zip(&group.by_busy).map(|(n, ns)| n * ns).sum();
        let most = group.cpus.len() as u64;
        table.row([
            group.name.clone(),
            list(&group.cpus),
            format!("{:.1}", percent(weighted, all.saturating_mul(most))),
            format!("{:.2}", percent(weighted, all) / 100.0),
            format!("{:.1}", percent(group.by_busy[0], all)),
            format!("{:.1}", percent(group.by_busy[group.cpus.len()], all)),
        ]);
    }
    table
}

/// `0-3,8`
fn list(cpus: &[CpuId]) -> String {
    let mut numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.0).collect();
    numbers.sort_unstable();
    let mut text = String::new();
    let mut at = 0;
    while at < numbers.len() {
        let first = numbers[at];
        while numbers.get(at + 1) == Some(&(numbers[at] + 1)) {
            at += 1;
        }
        let comma = if text.is_empty() { "" } else { "," };
        text.push_str(&if numbers[at] == first {
            format!("{comma}{first}")
        } else {
            format!("{comma}{first}-{}", numbers[at])
        });
        at += 1;
    }
    text
}

fn groups(run: &Run<'_>, what: &str, key: impl Fn(&Cpu) -> Option<u32>) -> Vec<Group> {
    let by_cpu = stretches(run, run.machine.nr_cpu_ids());
    let mut groups: Vec<(Option<u32>, Group)> = Vec::new();
    for id in drawn_order(run) {
        let key = run.machine.cpu(id).and_then(&key);
        // What is not described is shared with nobody.
        match groups
            .iter_mut()
            .find(|(of, _)| key.is_some() && *of == key)
        {
            Some((_, group)) => group.cpus.push(id),
            None => {
                let group = Group {
                    name: key
                        .map_or_else(|| format!("CPU {}", id.0), |key| format!("{what} {key}")),
                    cpus: vec![id],
                    by_busy: Vec::new(),
                };
                groups.push((key, group));
            }
        }
    }
    let mut groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
    for group in &mut groups {
        // Times at which one CPU more, or one less, is busy.
        let mut steps: Vec<(u64, i32)> = group
            .cpus
            .iter()
            .flat_map(|cpu| &by_cpu[cpu.index()])
            .filter(|stretch| stretch.task.is_some())
            .flat_map(|stretch| [(stretch.from.0, 1), (stretch.to.0, -1)])
            .collect();
        steps.sort_unstable();
        group.by_busy = vec![0; group.cpus.len() + 1];
        let (mut busy, mut since) = (0_usize, run.audit.totals.from.0);
        for (time, step) in steps {
            group.by_busy[busy] += time.saturating_sub(since);
            since = time;
            busy = busy
                .saturating_add_signed(step as isize)
                .min(group.cpus.len());
        }
        let end = run.audit.totals.from.0 + run.span();
        group.by_busy[busy] += end.saturating_sub(since);
    }
    groups
}
