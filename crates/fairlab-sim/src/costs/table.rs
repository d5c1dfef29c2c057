//! The table itself: every number, what it is, and where its default comes from.
//!
//! The defaults are those of a server with x86 processors. What other classes of machines have
//! instead is in `class.rs`. None is fitted to a workload or to a published result.

use fairlab_units::Nanos;

use super::ByDistance;
use super::entry::{Entry, Numbers, Shape, Unit};

/// Writes the struct, its defaults and the list of entries from one text.
macro_rules! table {
    (
        $(
            $(#[doc = $doc:literal])+
            $name:ident: $type:ty = $default:expr, $unit:ident, $shape:expr, $source:literal;
        )+
    ) => {
        /// What hardware and the kernel's own code cost a task on a machine.
        ///
        /// Times are nanoseconds of the CPU that pays.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct CostTable {
            $(
                $(#[doc = $doc])+
                #[doc = ""]
                #[doc = "# Source"]
                #[doc = $source]
                pub $name: $type,
            )+
        }

        impl Default for CostTable {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        /// Every entry of a table, in the order in which files have them.
        pub const ENTRIES: &[Entry] = &[
            $(
                Entry {
                    name: stringify!($name),
                    what: concat!($($doc),+),
                    source: $source,
                    unit: Unit::$unit,
                    shape: $shape,
                    get: |table| Numbers::read(&table.$name),
                    set: |table, numbers| Numbers::write(&mut table.$name, numbers),
                },
            )+
        ];
    };
}

const ONE: Shape = Shape::One;
const FAR: Shape = Shape::ByDistance;

const fn far(ns: [u64; 6]) -> ByDistance {
    let [a, b, c, d, e, f] = ns;
    [Nanos(a), Nanos(b), Nanos(c), Nanos(d), Nanos(e), Nanos(f)]
}

table! {
    /// A context switch between threads of one process.
    context_switch: Nanos = Nanos(1_200), Ns, ONE,
        "lmbench `lat_ctx -s 0 2` on servers of 2018 to 2024: 0.9 to 1.5 us.";
    /// What a switch to another process takes beside: the page tables are changed.
    switch_process: Nanos = Nanos(250), Ns, ONE,
        "lmbench `lat_ctx` between processes against threads, with tagged TLBs: 0.2 to 0.4 us.";
    /// A wakeup in the waker, without the search for a CPU: locks, enqueue, preemption test.
    wakeup: Nanos = Nanos(800), Ns, ONE,
        "`perf trace` of futex wakes on x86 servers: 0.5 to 1 us.";
    /// Taking a task in from the list of wakeups that were queued for a CPU.
    wake_list: Nanos = Nanos(300), Ns, ONE,
        "An enqueue without the lock and the search of a wakeup, which is 0.8 us with them.";
    /// From the sending of an interrupt to its first instruction on the target.
    ipi: ByDistance = far([0, 400, 500, 700, 1_000, 1_600]), Ns, FAR,
        "Published runs of `ipi_benchmark` on x86 and arm64 servers: 0.5 us near, 1 to 2 us across nodes.";
    /// Reading a line that another CPU wrote (its runqueue) while searching.
    probe: ByDistance = far([1, 4, 10, 18, 40, 80]), Ns, FAR,
        "Core-to-core latencies of 20 to 40 ns in an LLC, 60 to 100 ns in a node, 110 to 200 ns across; about half overlaps with other reads.";
    /// Fetching the lines of an object that another CPU wrote last: of a runqueue on which a task is queued, of a
    /// pipe or socket.
    shared_object: ByDistance = far([0, 40, 120, 180, 400, 720]), Ns, FAR,
        "Eight lines (lock, queue, wait queue, counts; lock, clock, averages, tree) at core-to-core latencies of 10, 30, 45, 100 and 180 ns, of which half overlaps.";
    /// An operation on a CPU mask, per 64-bit word.
    mask_word: Nanos = Nanos(2), Ns, ONE,
        "A read, an operation and a write that hit the first cache.";
    /// Gathering the statistics of one CPU in the slow path or the balancer, beside the probe.
    group_cpu: Nanos = Nanos(12), Ns, ONE,
        "About 40 instructions per CPU and a second line of the runqueue.";
    /// Examining one task for migration.
    migrate_task: Nanos = Nanos(120), Ns, ONE,
        "Two lines of a task that last ran on another CPU, and a few tests.";
    /// How long a wakeup, switch or move holds the lock of a runqueue; who comes meanwhile waits.
    lock_hold: Nanos = Nanos(250), Ns, ONE,
        "The part of a wakeup or switch between lock and unlock, a quarter of either.";
    /// The timer interrupt of a busy CPU.
    tick: Nanos = Nanos(1_500), Ns, ONE,
        "`perf stat` of `scheduler_tick` with its interrupt on x86 servers: 1 to 2 us.";
    /// How long a CPU has to idle for each idle state to be worth it, shallow first.
    idle_residency: Vec<u64> = vec![0, 20_000, 600_000], Ns, Shape::List(8),
        "Polling, C1E and C6 in the tables of `intel_idle` for Skylake to Ice Lake servers (20 and 600 us).";
    /// Leaving each idle state, shallow first.
    idle_exit: Vec<u64> = vec![300, 2_000, 30_000], Ns, Shape::List(8),
        "`cpuidle` wakeup measurements on x86 servers: 2 us for C1 and C1E, 30 to 60 us for C6, which its tables state with a margin (133 us).";
    /// Speed of each busy thread of a core, by the number of its busy threads.
    smt_speed: Vec<u64> = vec![1_024, 640, 500, 410, 345, 300, 268, 243], Speed, Shape::List(8),
        "Published SMT scaling: two threads do 25 percent more than one, four 60, eight 90 (x86 and POWER).";
    /// Speed of a core from one active core in its package to all of them, in equal steps.
    boost_speed: Vec<u64> = vec![1_024, 1_010, 990, 970, 950, 930, 915, 900], Speed, Shape::List(8),
        "Turbo tables of Xeon Gold 62xx and EPYC 7xx3: 3.7 to 3.9 GHz for few cores, 3.2 to 3.3 GHz for all.";
    /// What arithmetic takes, in percent of one multiply-add of an unvectorised loop per nanosecond.
    arithmetic: u64 = 100, Percent, ONE,
        "The inner loop of schbench's matrices on cores of the last ten years: about one per nanosecond.";
    /// Lowest speed when the frequency follows utilization (schedutil); full speed where it does not.
    lowest_speed: u64 = 1_024, Speed, ONE,
        "Servers run with the performance governor or hardware P-states, which are at full speed under load.";
    /// The working set of a task whose program does not state one.
    working_set: u64 = 48, Kib, ONE,
        "Some tens of KiB: what a thread of a server touches between two sleeps, about a first-level cache.";
    /// What the kernel keeps of a task: stack, task structure, descriptors; refilled at each move.
    task_state: u64 = 8, Kib, ONE,
        "16 KiB of kernel stack, of which a quarter is touched, and 4 KiB of structures.";
    /// Refilling a working set after a move, by where it has to come from.
    refill: ByDistance = far([0, 0, 16, 48, 125, 235]), NsPerKib, FAR,
        "Reads of 64-byte lines with 4 outstanding misses: 20 GB/s from the LLC, 8 GB/s from memory, 4 GB/s from another node.";
    /// The cache of a core or cluster, where the machine does not state it.
    private_cache: u64 = 1_024, Kib, ONE,
        "Second-level caches of x86 servers: 0.5 to 2 MiB.";
    /// The last-level cache, where the machine does not state it.
    llc_cache: u64 = 32_768, Kib, ONE,
        "27.5 MiB on Xeon Gold 6248, 32 MiB per complex on EPYC 7xx3.";
    /// What the CPUs of one LLC can move to and from memory.
    llc_bandwidth: u64 = 45, MibPerMs, ONE,
        "STREAM on one complex of EPYC 7xx3: 40 to 50 GB/s; where the LLC is the node's, the node's bandwidth is the limit.";
    /// What the CPUs of one cluster can move to and from beyond it.
    cluster_bandwidth: u64 = 1 << 20, MibPerMs, ONE,
        "No limit: clusters of x86 share at most a second-level cache, and where it limits is not known.";
    /// What one node's memory delivers.
    node_bandwidth: u64 = 120, MibPerMs, ONE,
        "STREAM triad of one socket: 105 GB/s with 6 channels of DDR4-2933, 150 GB/s with 8 of DDR4-3200.";
    /// How much longer an access to memory takes for every 10 of distance beyond the local 10.
    remote_memory: u64 = 60, Percent, ONE,
        "Intel MLC on two-socket Xeons of 2017 to 2023 (distance 21): 80 to 90 ns local, 130 to 150 ns remote.";
    /// Fork in the parent.
    fork: Nanos = Nanos(60_000), Ns, ONE,
        "lmbench fork+exit of a small process is 60 to 300 us in all.";
    /// A new thread in the parent.
    clone_thread: Nanos = Nanos(15_000), Ns, ONE,
        "lmbench and `pthread_create` measurements: 10 to 25 us, against 60 and more for a process.";
    /// `execve` in the task itself, until the new program's first instruction.
    exec: Nanos = Nanos(150_000), Ns, ONE,
        "lmbench's fork+execve takes 3 to 5 times as long as its fork+exit; half of the difference is the call.";
    /// Exit.
    exit: Nanos = Nanos(25_000), Ns, ONE,
        "The part of lmbench's fork+exit that is not the fork.";
    /// A change of a task's affinity, nice value, class or slice, in the caller.
    set_attribute: Nanos = Nanos(800), Ns, ONE,
        "A system call, and the task taken off its queue and put back, which is about a wakeup.";
    /// Writing a small message into a pipe, without the wakeup.
    pipe_write: Nanos = Nanos(450), Ns, ONE,
        "`perf bench sched pipe` on one CPU less its switches and wakeups: 0.4 to 0.6 us per call.";
    /// Reading a small message from a pipe.
    pipe_read: Nanos = Nanos(400), Ns, ONE,
        "As for writing; no page is allocated.";
    /// Sending a small message over a unix socket, without the wakeup.
    unix_send: Nanos = Nanos(1_100), Ns, ONE,
        "lmbench `lat_unix` against `lat_pipe`: buffers are allocated for each message.";
    /// Receiving a small message from a unix socket.
    unix_receive: Nanos = Nanos(900), Ns, ONE,
        "lmbench `lat_unix` against `lat_pipe`.";
    /// Sending over TCP to this host, with the receiver's protocol work.
    tcp_send: Nanos = Nanos(2_600), Ns, ONE,
        "lmbench `lat_tcp` takes 8 to 12 us for a round trip of one byte: two sends, receives, wakeups, switches.";
    /// Receiving from TCP.
    tcp_receive: Nanos = Nanos(900), Ns, ONE,
        "lmbench `lat_tcp`, as for sending.";
    /// Writing to a TCP connection whose earlier data has not left: the message joins it.
    tcp_append: Nanos = Nanos(250), Ns, ONE,
        "A system call that copies (lmbench `lat_syscall write`: 0.1 to 0.2 us) and the socket's lock.";
    /// Sending over UDP to this host, with the receiver's protocol work.
    udp_send: Nanos = Nanos(1_900), Ns, ONE,
        "lmbench `lat_udp` is about a fifth faster than `lat_tcp`.";
    /// Receiving from UDP.
    udp_receive: Nanos = Nanos(700), Ns, ONE,
        "lmbench `lat_udp`, as for sending.";
    /// Copying a message into the kernel or out of it.
    message_copy: u64 = 110, NsPerKib, ONE,
        "8 to 10 GB/s for copies that miss the first cache.";
    /// A fault on memory that NUMA balancing has marked, without moving it.
    hint_fault: Nanos = Nanos(1_500), Ns, ONE,
        "Huge-page faults take 1 to 2 us (`perf trace -F all` on x86 servers).";
    /// Marking a page of 2 MiB: one entry of the page table, and its share of the flush.
    page_mark: Nanos = Nanos(300), Ns, ONE,
        "One locked operation, and a flush per few pages.";
    /// Clearing a page of 2 MiB at its first touch.
    page_clear: Nanos = Nanos(200_000), Ns, ONE,
        "10 GB/s.";
    /// Copying a page of 2 MiB from another node.
    page_copy: Nanos = Nanos(300_000), Ns, ONE,
        "7 GB/s.";
}
