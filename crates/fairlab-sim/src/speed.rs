//! How fast a CPU computes: busy siblings, frequency, and memory bandwidth that others take.

use fairlab_topology::{Distances, Machine};
use fairlab_units::{CpuId, PerCpu, TaskId};

use crate::costs::CostTable;
use crate::engine::Engine;

/// The cores of a package that are active.
#[derive(Clone, Copy, Debug, Default)]
struct Package {
    cores: u32,
    active: u32,
}

/// Who limits the frequency of whom.
#[derive(Clone, Debug)]
pub(crate) struct Packages {
    packages: Vec<Package>,
    of: PerCpu<u32>,
    /// By the first CPU of each core: is it active?
    is_active: PerCpu<bool>,
}

impl Packages {
    pub(crate) fn new(machine: &Machine) -> Self {
        let mut numbers = std::collections::BTreeMap::new();
        let mut packages: Vec<Package> = Vec::new();
        let mut of = PerCpu::from_fn(machine.nr_cpu_ids(), |_| 0);
        let mut cores = std::collections::BTreeSet::new();
        for cpu in machine.cpus().iter().filter(|cpu| cpu.online) {
            let number = *numbers.entry(cpu.package).or_insert_with(|| {
                packages.push(Package::default());
                packages.len() as u32 - 1
            });
            of[cpu.id] = number;
            packages[number as usize].cores += u32::from(cores.insert((number, cpu.core)));
        }
        Self {
            packages,
            of,
            is_active: PerCpu::from_fn(machine.nr_cpu_ids(), |_| false),
        }
    }

    /// The core of `cpu`, whose first CPU is `first`, is active or not.
    fn note_core(&mut self, cpu: CpuId, first: CpuId, is_active: bool) {
        if std::mem::replace(&mut self.is_active[first], is_active) != is_active {
            let active = &mut self.packages[self.of[cpu] as usize].active;
            *active = if is_active { *active + 1 } else { *active - 1 };
        }
    }
}

/// A stretch of the way to memory that several CPUs share.
#[derive(Clone, Debug)]
struct Pool {
    capacity: u64,
    demand: u64,
    /// The CPUs whose running tasks use it.
    users: Vec<CpuId>,
}

impl Pool {
    fn new(capacity: u64) -> Self {
        Self {
            capacity: capacity.max(1),
            demand: 0,
            users: Vec::new(),
        }
    }

    /// Time of an access in 16ths of an undisturbed one: demand over capacity, at least one.
    fn pressure(&self) -> u64 {
        (self.demand * 16 / self.capacity).max(16)
    }
}

/// Memory bandwidth of each cluster, LLC and node.
#[derive(Clone, Debug)]
pub(crate) struct Bandwidth {
    pools: Vec<Pool>,
    /// Per CPU: the pools of its cluster, of its LLC and of its node.
    of: PerCpu<[usize; 3]>,
}

impl Bandwidth {
    pub(crate) fn new(machine: &Machine, distances: &Distances, costs: &CostTable) -> Self {
        let mut pools: Vec<Pool> = machine
            .nodes()
            .iter()
            .map(|_| Pool::new(costs.node_bandwidth))
            .collect();
        let mut llcs = std::collections::BTreeMap::new();
        let mut clusters = std::collections::BTreeMap::new();
        let mut of = PerCpu::from_fn(machine.nr_cpu_ids(), |_| [0, 0, 0]);
        for cpu in machine.cpus() {
            // A CPU whose cluster is not known is alone in one.
            let key = cpu
                .cluster
                .map_or((true, cpu.id.0), |cluster| (false, cluster));
            let cluster = *clusters.entry(key).or_insert_with(|| {
                pools.push(Pool::new(costs.cluster_bandwidth));
                pools.len() - 1
            });
            let first = distances.llc(cpu.id).first().copied().unwrap_or(cpu.id);
            let llc = *llcs.entry(first).or_insert_with(|| {
                pools.push(Pool::new(costs.llc_bandwidth));
                pools.len() - 1
            });
            of[cpu.id] = [cluster, llc, machine.node_index(cpu.node).unwrap_or(0)];
        }
        let mut on_node = vec![0; machine.nodes().len()];
        for cpu in machine.cpus() {
            on_node[of[cpu.id][2]] += 1;
        }
        // An LLC that covers a whole node has the node's bandwidth.
        for cpu in machine.cpus() {
            let [_, llc, node] = of[cpu.id];
            if distances.llc(cpu.id).len() >= on_node[node] {
                pools[llc].capacity = costs.node_bandwidth.max(1);
            }
        }
        Self { pools, of }
    }

    /// Time of an access by `cpu`, in 16ths of an undisturbed one.
    fn pressure(&self, cpu: CpuId) -> u64 {
        let pressure = self.of[cpu].map(|pool| self.pools[pool].pressure());
        pressure.into_iter().max().unwrap_or_default()
    }
}

impl Engine<'_> {
    /// The number of busy threads in the core of `cpu` has changed: its siblings change speed, and
    /// the package may have another number of active cores.
    pub(crate) fn update_siblings(&mut self, cpu: CpuId) {
        let domains = self.world.domains;
        let core = domains.smt_mask(cpu);
        let busy = core
            .iter()
            .filter(|c| self.world.cpus[*c].curr.is_some())
            .count();
        self.frequencies
            .note_core(cpu, core.first().unwrap_or(cpu), busy > 0);
        let smt = self.costs.speed(busy.max(1));
        for thread in core {
            if self.world.cpus[thread].smt_speed == smt {
                continue;
            }
            if thread != cpu {
                self.book_progress(thread);
            }
            self.world.cpus[thread].smt_speed = smt;
            self.set_cpu_speed(thread);
            if thread != cpu {
                self.arm_segment(thread);
            }
        }
    }

    /// Lets the frequency of `cpu` follow the number of active cores, and utilization where the
    /// machine does that. Happens at switches and ticks, as governors act with a delay.
    pub(crate) fn update_frequency(&mut self, cpu: CpuId) {
        let package = self.frequencies.packages[self.frequencies.of[cpu] as usize];
        let mut frequency = self.costs.boost(package.active, package.cores);
        let lowest = self.costs.lowest_speed as u32;
        if lowest < 1024 {
            let avg = &self.world.cpus[cpu].queue.avg.avg;
            let capacity = u64::from(self.world.cpus[cpu].capacity).max(1);
            let util = avg.util_avg.max(u64::from(avg.util_est.enqueued));
            // A quarter of headroom, as in `map_util_perf`.
            let wanted = (util + (util >> 2)) * 1024 / capacity;
            frequency = frequency.min((wanted as u32).clamp(lowest, 1024));
            let now = self.now;
            self.world.cpus[cpu].queue.set_frequency(now, frequency);
        }
        if self.world.cpus[cpu].frequency != frequency {
            self.world.cpus[cpu].frequency = frequency;
            self.set_cpu_speed(cpu);
        }
    }

    fn set_cpu_speed(&mut self, cpu: CpuId) {
        let c = &mut self.world.cpus[cpu];
        let speed = (c.smt_speed * c.capacity) >> 10;
        c.speed = ((speed * c.frequency) >> 10).max(1);
    }

    /// The running task of `cpu` begins or ends to move memory: those who share the way change speed.
    pub(crate) fn share_bandwidth(&mut self, cpu: CpuId, id: TaskId, begins: bool) {
        let demand = u64::from(self.world.tasks[id.index()].traffic);
        if demand == 0 {
            return;
        }
        for pool in self.bandwidth.of[cpu] {
            let pool = &mut self.bandwidth.pools[pool];
            if begins {
                pool.demand += demand;
                pool.users.push(cpu);
            } else {
                pool.demand -= demand;
                pool.users.retain(|user| *user != cpu);
            }
        }
        let [cluster, llc, node] = self.bandwidth.of[cpu];
        // Every user of a cluster or LLC is one of the node, unless they reach across nodes.
        for pool in [node, llc, cluster] {
            for at in 0..self.bandwidth.pools[pool].users.len() {
                let user = self.bandwidth.pools[pool].users[at];
                self.press(user, user != cpu);
            }
        }
    }

    /// Gives the running task of `cpu` the speed that the bandwidth leaves it.
    fn press(&mut self, cpu: CpuId, rearm: bool) {
        let pressure = self.bandwidth.pressure(cpu);
        let Some(id) = self.world.cpus[cpu].curr else {
            return;
        };
        let task = &self.world.tasks[id.index()];
        let program = &self.workload.programs[task.program.index()];
        let bound = u64::from(program.memory_bound.min(100));
        let time = (100 - bound) * 16 + bound * pressure;
        let speed = (100 * 16 * 1024 / time) as u32;
        if task.pressed_speed == speed {
            return;
        }
        if rearm {
            self.book_progress(cpu);
        }
        self.world.tasks[id.index()].pressed_speed = speed;
        if rearm {
            self.arm_segment(cpu);
        }
    }
}
