//! A workload: programs, the tasks that run them, and what is measured.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use fairlab_units::{CpuMask, Nanos};

use crate::group::TaskGroup;
use crate::memory::Region;
use crate::program::{
    BarrierId, CondId, FutexId, ListId, MaskId, MetricId, MutexId, PipeId, Program, ProgramId,
    RegionId, SemaphoreId, TaskGroupId, TimerId, TimerSpec,
};

/// When a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// After this much time.
    After(Nanos),
    /// When all tasks have exited that are not in the background.
    AllExited,
    /// The same, or after this much time.
    AllExitedBy(Nanos),
}

/// What the numbers of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// Nanoseconds, one per measured stretch; smaller is better.
    LatencyNs,
}

/// Something measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Short name, `wakeup_latency`.
    pub name: Cow<'static, str>,
    /// Heading as the tool prints it, `Wakeup Latencies`.
    pub title: Cow<'static, str>,
    /// What the numbers are.
    pub unit: MetricUnit,
}

/// How the modelled tool prints its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Percentiles of each metric, as schbench does.
    Schbench,
    /// One line with the time, as hackbench does.
    Hackbench,
    /// Time, time per operation and operations per second, as `perf bench sched pipe` does.
    PerfPipe {
        /// Messages to and fro.
        operations: u64,
        /// Between threads?
        threads: bool,
    },
    /// The time, as `perf bench sched messaging` does.
    PerfMessaging {
        /// Groups of 40 tasks.
        groups: u32,
        /// Are they threads?
        threads: bool,
    },
    /// Mean of the first metric, as `lat_proc` does.
    LatProc {
        /// What is measured, `Process fork+exit`.
        title: &'static str,
    },
    /// Throughput, as tbench does. The first metric is its operations.
    Tbench {
        /// Clients.
        clients: u32,
        /// Bytes of an operation.
        bytes: u64,
    },
    /// Transactions per second, or throughput, as netperf does. The first metric is its messages.
    Netperf {
        /// The test, `TCP_RR`.
        test: &'static str,
        /// Bytes of a message of a stream; 0 for requests and replies.
        bytes: u64,
    },
    /// The time, as kernbench does.
    Kernbench,
    /// Best rate over the passes, which are the first metric, as STREAM does.
    Stream {
        /// Bytes that a pass moves.
        bytes: u64,
    },
    /// Records per second, as ebizzy does. The first metric is its records.
    Records,
    /// Transactions per second, as sysbench does. The first metric is its transactions.
    Oltp,
    /// Figures of each thread and phase, as in the logs of rt-app.
    RtApp,
    /// No form of its own.
    Plain,
}

/// What carries messages, and how long they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A pipe.
    Pipe {
        /// Bytes of a message.
        bytes: u64,
    },
    /// A unix socket.
    Unix {
        /// Bytes of a message.
        bytes: u64,
    },
    /// A TCP connection to this host.
    Tcp {
        /// Bytes of a message.
        bytes: u64,
    },
    /// UDP packets to this host.
    Udp {
        /// Bytes of a message.
        bytes: u64,
    },
    /// Anything, at a stated cost on any machine.
    Stated {
        /// CPU time to write one message, beside waking the reader.
        write: Nanos,
        /// CPU time to read one message.
        read: Nanos,
    },
}

impl Channel {
    /// Is the other side told by the network stack, in a software interrupt of the sender?
    #[must_use]
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Tcp { .. } | Self::Udp { .. })
    }

    /// Does a reader that makes room wake the writer as a sync wakeup, where a writer wakes the reader as
    /// one? All do but TCP, whose writers are told by the acknowledgement of what was read
    /// (`sk_stream_write_space`), without the hint.
    #[must_use]
    pub const fn wakes_writers_sync(self) -> bool {
        !matches!(self, Self::Tcp { .. })
    }

    /// Does a message join the one before it while that is unread? TCP sends a stream of bytes: what is
    /// written while earlier data is not acknowledged waits and leaves with it (Nagle's rule).
    #[must_use]
    pub const fn joins_messages(self) -> bool {
        matches!(self, Self::Tcp { .. })
    }

    /// Messages that fit in one segment: the largest of loopback has 64 KiB.
    #[must_use]
    pub const fn messages_of_segment(self) -> u32 {
        let bytes = self.bytes();
        if bytes == 0 || bytes > 65_536 {
            return 1;
        }
        (65_536 / bytes) as u32
    }

    /// Bytes of a message; 0 where only its cost is stated.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Pipe { bytes }
            | Self::Unix { bytes }
            | Self::Tcp { bytes }
            | Self::Udp { bytes } => bytes,
            Self::Stated { .. } => 0,
        }
    }
}

/// A bounded queue of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeSpec {
    /// Messages that fit before writers sleep.
    pub capacity: u32,
    /// Sleeping writers are woken when no more than this many messages are left.
    pub wake_writers_at: u32,
    /// What carries the messages; decides what a message costs.
    pub channel: Channel,
    /// Does a write wake the reader as a sync wakeup (the writer is about to sleep)? And a read the writer,
    /// if the channel does that.
    pub sync: bool,
}

/// Tasks, what they do, and what is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// What the user wrote, in full: `schbench -m 2 -t 16`.
    pub description: String,
    /// The programs.
    pub programs: Vec<Program>,
    /// The programs of the tasks that exist at the start; others are forked.
    pub start: Vec<ProgramId>,
    /// The tasks of the start are all queued on the first CPU, instead of being placed.
    pub stacked: bool,
    /// Number of futexes.
    pub nr_futexes: u32,
    /// Number of lists.
    pub nr_lists: u32,
    /// The pipes.
    pub pipes: Vec<PipeSpec>,
    /// How many tasks each barrier waits for.
    pub barriers: Vec<u32>,
    /// The sets of CPUs that programs are restricted to.
    pub masks: Vec<CpuMask>,
    /// The task groups below the root.
    pub groups: Vec<TaskGroup>,
    /// Number of mutexes.
    pub nr_mutexes: u32,
    /// Number of condition variables.
    pub nr_conds: u32,
    /// First value of each semaphore.
    pub semaphores: Vec<u32>,
    /// The timers.
    pub timers: Vec<TimerSpec>,
    /// Is a record kept of every pass of a loop between [`crate::Op::LoopBegin`] and
    /// [`crate::Op::LoopEnd`]?
    pub logs_loops: bool,
    /// The memory that programs use.
    pub regions: Vec<Region>,
    /// What is measured.
    pub metrics: Vec<Metric>,
    /// How many more metrics there are, after these, that nobody asked for.
    pub hidden_metrics: u32,
    /// When it is over.
    pub end: End,
    /// Time at the start that does not count for metrics.
    pub warmup: Nanos,
    /// The form of the result.
    pub report: Report,
}

/// Collects the parts of a workload.
#[derive(Clone, Debug)]
pub struct WorkloadBuilder(Workload);

impl WorkloadBuilder {
    /// A workload without tasks.
    #[must_use]
    pub fn new(description: impl Into<String>, report: Report, end: End) -> Self {
        Self(Workload {
            description: description.into(),
            programs: Vec::new(),
            start: Vec::new(),
            stacked: false,
            nr_futexes: 0,
            nr_lists: 0,
            pipes: Vec::new(),
            barriers: Vec::new(),
            masks: Vec::new(),
            groups: Vec::new(),
            nr_mutexes: 0,
            nr_conds: 0,
            semaphores: Vec::new(),
            timers: Vec::new(),
            logs_loops: false,
            regions: Vec::new(),
            metrics: Vec::new(),
            hidden_metrics: 0,
            end,
            warmup: Nanos::ZERO,
            report,
        })
    }

    /// Leaves the first `span` of the run out of the metrics.
    #[must_use]
    pub fn warmup(mut self, span: Nanos) -> Self {
        self.0.warmup = span;
        self
    }

    /// Adds a futex.
    pub fn futex(&mut self) -> FutexId {
        self.0.nr_futexes += 1;
        FutexId(self.0.nr_futexes - 1)
    }

    /// Adds a list.
    pub fn list(&mut self) -> ListId {
        self.0.nr_lists += 1;
        ListId(self.0.nr_lists - 1)
    }

    /// Adds a pipe.
    pub fn pipe(&mut self, spec: PipeSpec) -> PipeId {
        self.0.pipes.push(spec);
        PipeId(self.0.pipes.len() as u32 - 1)
    }

    /// Adds a barrier for `tasks` tasks.
    pub fn barrier(&mut self, tasks: u32) -> BarrierId {
        self.0.barriers.push(tasks);
        BarrierId(self.0.barriers.len() as u32 - 1)
    }

    /// Adds a set of CPUs, for tasks to be restricted to.
    pub fn mask(&mut self, cpus: CpuMask) -> MaskId {
        self.0.masks.push(cpus);
        MaskId(self.0.masks.len() as u32 - 1)
    }

    /// Adds a task group. The one around it comes first.
    pub fn group(&mut self, group: TaskGroup) -> TaskGroupId {
        let id = TaskGroupId(self.0.groups.len() as u32);
        debug_assert!(
            group.parent.is_none_or(|parent| parent < id),
            "a group comes after the one around it"
        );
        self.0.groups.push(group);
        id
    }

    /// Adds a mutex.
    pub fn mutex(&mut self) -> MutexId {
        self.0.nr_mutexes += 1;
        MutexId(self.0.nr_mutexes - 1)
    }

    /// Adds a condition variable.
    pub fn cond(&mut self) -> CondId {
        self.0.nr_conds += 1;
        CondId(self.0.nr_conds - 1)
    }

    /// Adds a semaphore that starts at `value`.
    pub fn semaphore(&mut self, value: u32) -> SemaphoreId {
        self.0.semaphores.push(value);
        SemaphoreId(self.0.semaphores.len() as u32 - 1)
    }

    /// Adds a timer.
    pub fn timer(&mut self, spec: TimerSpec) -> TimerId {
        self.0.timers.push(spec);
        TimerId(self.0.timers.len() as u32 - 1)
    }

    /// Keeps a record of every pass of the loops.
    #[must_use]
    pub fn log_loops(mut self) -> Self {
        self.0.logs_loops = true;
        self
    }

    /// Adds a stretch of memory.
    pub fn region(&mut self, region: Region) -> RegionId {
        self.0.regions.push(region);
        RegionId(self.0.regions.len() as u32 - 1)
    }

    /// Adds a metric.
    pub fn metric(&mut self, metric: Metric) -> MetricId {
        self.0.metrics.push(metric);
        MetricId(self.0.metrics.len() as u32 - 1)
    }

    /// Adds a program.
    pub fn program(&mut self, program: Program) -> ProgramId {
        self.0.programs.push(program);
        ProgramId(self.0.programs.len() as u32 - 1)
    }

    /// Starts a task with this program when the run starts.
    pub fn start(&mut self, program: ProgramId) {
        self.0.start.push(program);
    }

    /// Queues all tasks of the start on the first CPU, for the balancer to spread.
    #[must_use]
    pub fn stacked(mut self, on: bool) -> Self {
        self.0.stacked = on;
        self
    }

    /// The workload.
    #[must_use]
    pub fn build(self) -> Workload {
        self.0
    }
}
