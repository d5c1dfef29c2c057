//! NUMA balancing's choice of a CPU, and its opinion on moves of the balancer.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::balance::{BalanceState, BalanceTask, BalanceView};
use fairlab_policy::numa::{Choice, Faults, NumaView, choose_cpu};
use fairlab_units::{CpuId, CpuMask, TaskId};

use super::world::{World, machine};

/// Two nodes of four cores of two threads: CPUs 0 to 7 and 8 to 15.
struct Nodes {
    world: World,
    nodes: Vec<CpuMask>,
    /// Per task: its faults, and the node that it prefers.
    of: Vec<(Faults, Option<usize>)>,
}

impl Nodes {
    fn new(kernel: &Kernel, nodes: u32) -> Self {
        let world = World::new(&machine(nodes, 4, 2), kernel);
        let cpus = |n: u32| CpuMask::from_cpus(world.nr(), (8 * n..8 * n + 8).map(CpuId));
        Self {
            nodes: (0..nodes).map(cpus).collect(),
            world,
            of: Vec::new(),
        }
    }

    /// A task on `cpu` with these faults in percent on node 0, the rest on node 1.
    fn add(&mut self, cpu: u32, on_node_0: u64) -> TaskId {
        let mut faults = Faults::new(2);
        faults.record(0, 0, on_node_0, true, true);
        faults.record(1, 0, 100 - on_node_0, true, false);
        let preferred = faults.place(1, 1).preferred;
        self.of.push((faults, preferred));
        let task = self.world.task();
        self.world.add(cpu, task)
    }

    fn choose(&self, kernel: &Kernel, task: TaskId) -> Choice {
        let world = &self.world;
        let state = BalanceState::new(&world.domains, kernel, 0, world.nr());
        let cpu = world.tasks[task.index()].cpu;
        let node = (cpu.0 / 8) as usize;
        choose_cpu(kernel, &world.domains, self, &state, task, cpu, node)
    }
}

macro_rules! as_the_world {
    ($($name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self $(, $arg: $type)*) -> $answer { self.world.$name($($arg),*) })*
    };
}

impl BalanceView for Nodes {
    fn active(&self) -> &CpuMask {
        self.world.active()
    }
    fn task(&self, task: TaskId) -> BalanceTask<'_> {
        BalanceView::task(&self.world, task)
    }
    as_the_world! {
        jiffies() -> u64;
        is_idle(cpu: CpuId) -> bool;
        is_sched_idle(cpu: CpuId) -> bool;
        nr_running(cpu: CpuId) -> u32;
        h_nr_queued(cpu: CpuId) -> u32;
        load_avg(cpu: CpuId) -> u64;
        runnable_avg(cpu: CpuId) -> u64;
        util_avg(cpu: CpuId) -> u64;
        util_est(cpu: CpuId) -> u64;
        avg_idle(cpu: CpuId) -> u64;
        clock_task(cpu: CpuId) -> u64;
        current(cpu: CpuId) -> Option<TaskId>;
        task_h_load(task: TaskId) -> u64;
        task_util(task: TaskId) -> u64;
        task_util_est(task: TaskId) -> u64;
    }
}

impl NumaView for Nodes {
    fn nr_nodes(&self) -> usize {
        self.nodes.len()
    }
    fn node_cpus(&self, node: usize) -> &CpuMask {
        &self.nodes[node]
    }
    fn distance(&self, a: usize, b: usize) -> u32 {
        if a == b { 10 } else { 20 }
    }
    fn preferred_node(&self, task: TaskId) -> Option<usize> {
        self.of[task.index()].1
    }
    fn faults(&self, task: TaskId) -> Option<&Faults> {
        Some(&self.of[task.index()].0)
    }
}

#[test]
fn a_task_moves_to_an_idle_cpu_of_its_memorys_node_of_an_idle_core_from_5_15_on() {
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        let mut nodes = Nodes::new(&kernel, 2);
        let task = nodes.add(0, 10);
        // Three here, so that two on each node are left.
        nodes.add(2, 100);
        nodes.add(4, 100);
        // The first core there is half busy.
        nodes.add(8, 0);
        let expected = if kernel.has(Feature::NUMA_MOVE_TO_SPARE) {
            CpuId(10)
        } else {
            // Equally good places replace each other, up to the last.
            CpuId(15)
        };
        assert_eq!(
            nodes.choose(&kernel, task),
            Choice::Move(expected),
            "{release}"
        );
        // Nor does it go where it may not.
        nodes.world.tasks[task.index()].allowed =
            CpuMask::from_cpus(16, [CpuId(0), CpuId(8), CpuId(13)]);
        assert_eq!(
            nodes.choose(&kernel, task),
            Choice::Move(CpuId(13)),
            "{release}"
        );
    }
}

#[test]
fn a_move_that_makes_the_nodes_uneven_is_not_made() {
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        let mut nodes = Nodes::new(&kernel, 2);
        let task = nodes.add(0, 10);
        // One here; four there, at home.
        for cpu in [8, 10, 12, 14] {
            nodes.add(cpu, 0);
        }
        assert_eq!(nodes.choose(&kernel, task), Choice::Stay, "{release}");
    }
}

#[test]
fn a_task_swaps_with_one_whose_memory_is_here() {
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        let mut nodes = Nodes::new(&kernel, 2);
        let mut strays = Vec::new();
        for cpu in 0..16 {
            let home = if cpu < 8 { 100 } else { 0 };
            let is_stray = cpu == 3 || cpu == 12;
            let task = nodes.add(cpu, if is_stray { 100 - home } else { home });
            if is_stray {
                strays.push(task);
            }
        }
        let expected = Choice::Swap(CpuId(12), strays[1]);
        assert_eq!(nodes.choose(&kernel, strays[0]), expected, "{release}");
        // With nobody who gains by it there is no swap.
        nodes.of[strays[1].index()] = nodes.of[15].clone();
        assert_eq!(nodes.choose(&kernel, strays[0]), Choice::Stay, "{release}");
    }
}

#[test]
fn a_task_at_home_or_on_a_machine_of_one_node_stays() {
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        let mut nodes = Nodes::new(&kernel, 2);
        let task = nodes.add(0, 90);
        assert_eq!(nodes.choose(&kernel, task), Choice::Stay, "{release}");
        nodes.of[0].1 = None;
        assert_eq!(nodes.choose(&kernel, task), Choice::Stay, "{release}");
        let mut one = Nodes::new(&kernel, 1);
        let task = one.add(0, 10);
        assert_eq!(
            one.choose(&kernel, task),
            Choice::PreferOwnNode,
            "{release}"
        );
    }
}
