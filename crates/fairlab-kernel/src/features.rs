//! Every behaviour difference between the releases, as a named switch.
//!
//! The kernel's own names where it has them (`debug/sched/features`), ours in the same style for
//! what it changed by patch. A row reads: name, then one mark per release (v5.4, v5.6, v5.15, v6.1,
//! v6.6, v6.12, v7.2; `x` on, `.` off), then a sentence that says what the switch does when on.
//! The marks are the facts of `spec/versions.md`; `[y]` there is "through a stable update", and
//! counts as on here.

use core::fmt;

use crate::Release;

/// The part of the scheduler that a feature belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    /// Building sched domains.
    Domains,
    /// Wakeup, fork and exec placement.
    Placement,
    /// PELT, estimated utilization, capacity.
    Utilization,
    /// The fair runqueue.
    Runqueue,
    /// Load balancing.
    Balance,
}

impl Area {
    /// All areas, in the order of the table.
    pub const ALL: [Self; 5] = [
        Self::Domains,
        Self::Placement,
        Self::Utilization,
        Self::Runqueue,
        Self::Balance,
    ];

    /// The name as shown to users.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Domains => "domains",
            Self::Placement => "placement",
            Self::Utilization => "utilization",
            Self::Runqueue => "runqueue",
            Self::Balance => "balance",
        }
    }
}

const fn marks(text: &str) -> [bool; 7] {
    let bytes = text.as_bytes();
    assert!(bytes.len() == 7, "one mark per release");
    let mut on = [false; 7];
    let mut i = 0;
    while i < 7 {
        assert!(bytes[i] == b'x' || bytes[i] == b'.', "marks are x and .");
        on[i] = bytes[i] == b'x';
        i += 1;
    }
    on
}

macro_rules! features {
    ($($area:ident { $($name:ident $marks:literal $doc:literal)* })*) => {
        /// A named behaviour switch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(non_camel_case_types, reason = "the kernel writes feature names in capitals")]
        #[repr(u8)]
        pub enum Feature {
            $($(#[doc = $doc] $name,)*)*
        }

        impl Feature {
            /// All features, by area.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)*)*];

            /// The name as written in a kernel description, without `NO_`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$name => stringify!($name),)*)* }
            }

            /// What the switch does when on.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $($(Self::$name => $doc,)*)* }
            }

            /// The part of the scheduler it belongs to.
            #[must_use]
            pub const fn area(self) -> Area {
                match self { $($(Self::$name => Area::$area,)*)* }
            }

            /// Is it on in `release` as built?
            #[must_use]
            pub const fn is_default_of(self, release: Release) -> bool {
                const MARKS: &[[bool; 7]] = &[$($(marks($marks),)*)*];
                MARKS[self as usize][release.column()]
            }
        }
    };
}

features! {
Domains {
    SD_LOAD_BALANCE             "xx....." "domains carry LOAD_BALANCE, and walks stop at one without it"
    SD_SHARE_LLC_NAME           ".....xx" "the flag of cache sharers is printed as SHARE_LLC, not SHARE_PKG_RESOURCES"
    SD_CLS_LEVEL                "...xxxx" "a cluster level (CLS) lies between SMT and MC"
    SD_CLUSTER                  ".....xx" "the cluster level sets CLUSTER; sd_share_id and cpus_share_resources exist"
    SD_HYBRID_NO_CLS            "...x..." "x86 hybrid CPUs get SMT, MC and DIE only"
    SD_PKG_NAME                 ".....xx" "the package level is called PKG, not DIE"
    SD_SMT_OPTIONAL             "......x" "x86 leaves the SMT level out when one thread per core is usable at boot"
    SD_OVERLAP_FLAG             "xxxxxx." "NUMA domains carry OVERLAP beside NUMA"
    SD_LEVELS_OF_CPU_NODES      "...xxxx" "NUMA levels come from nodes that have CPUs, not from all possible nodes"
    SD_DISJOINT_CHECK           ".xxxxxx" "a non-NUMA level whose masks partly overlap fails the build"
    SD_OVERLAP_DESCEND          "..xxxxx" "overlapping groups stay inside the domain (find_descended_sibling)"
    SD_GROUP_FLAGS_REPAIR       "....xxx" "removing a level corrects the flags of the parent's first group"
    SD_GROUP_FLAGS_ZERO         "...xxxx" "dropping a degenerate base domain zeroes the flags of the parent's first group"
    SD_GROUP_CORES              "....xxx" "groups count their SMT cores"
    SD_WEIGHT_OF_SPAN           "......x" "intervals come from the span, not from the raw level mask"
    SD_SYNC_REBUILD             ".....x." "after a CPU went offline the rebuild still sees it in the level masks"
    SD_IMB_NUMA_NR              "...xxxx" "NUMA domains carry imb_numa_nr, the allowed imbalance"
    SD_X86_CAPACITY             ".....xx" "x86 kernels use the CPU capacities that the firmware states (hybrid parts); before, 1024 for all"
    SD_ASYM_FULL                "..xxxxx" "ASYM_CPUCAPACITY_FULL marks domains that see every capacity"
    SD_ASYM_PACKING_SMT         "xxxx..." "x86 ITMT puts ASYM_PACKING on the SMT level"
    SD_ASYM_PACKING_PKG         "....xxx" "x86 ITMT puts ASYM_PACKING on the package level"
    SD_RELAX_AT_LEVEL           "...x.xx" "relax_domain_level acts on the level itself, not only above it"
    SD_RELAX_SETS               "xx....." "relax_domain_level sets BALANCE_WAKE and BALANCE_NEWIDLE below the level"
    SD_FLAG_METADATA            "..xxxxx" "removal of useless domains goes by what each flag needs; before, by lists of flags"
    SD_NODES_PER_PACKAGE        "......x" "x86 leaves the package level out by counting nodes and packages, not on seeing a package on two nodes"
    SD_DOMAIN_DISTANCE          "......x" "an architecture may supply other distances for building domains"
    SD_CAPACITY_RUNNING_SUM     "x......" "smallest and largest CPU capacity of a group of nodes are those of the running sum"
    SD_DENSE_LLC_ID             "......x" "sd_llc_id is a small dense number that partitions of one LLC share"
    SD_HIGHEST_SKIPS            "....xxx" "the topmost ASYM_PACKING domain is searched past domains without the flag"
    SD_SHARED_TOP               "......x" "only the topmost LLC domain (and a lowest full-asymmetry one) has a shared object"
    SD_SHARED_UNION             "......x" "nr_idle_scan starts non-zero: it shares storage with allocation flags"
}
Placement {
    WA_IDLE                     "xxxxxxx" "wake_affine prefers an idle waking CPU"
    WA_WEIGHT                   "xxxxxxx" "wake_affine compares the loads of the two CPUs"
    WA_BIAS                     "xxxxxxx" "wake_affine's comparison favours the waking CPU"
    WA_PREV_IDLE                "..xxxxx" "wake_affine keeps an idle previous CPU"
    WA_DELAYED                  ".....xx" "wake_affine's sync test does not count delayed-dequeued tasks"
    WA_SYNC_IN_TASK             "......." "a wakeup from an interrupt is never sync; a patch of 2022 that no release here has"
    WA_LLC_IDLER                "......." "between two LLCs wake_affine goes where there is an idle core, else where fewer CPUs are busy; a patch of 2021 that was not merged"
    WAKE_CAP                    "xx....." "a wakee that fits only the bigger of two CPUs is not pulled (wake_cap)"
    WAKE_CURRENT_CPU            "....xxx" "WF_CURRENT_CPU places the wakee on the waking CPU"
    IDLE_CORE_EARLY_EXIT        ".xxxxxx" "select_idle_core stops at the first busy thread of a core"
    IDLE_CORE_CLEAR_ONCE        ".xxxxxx" "select_idle_core clears all CPUs of a core from the mask at once"
    SIS_ONE_PASS                "..xxxxx" "one scan for idle core and idle CPU, instead of core, CPU and SMT passes"
    SIS_SCHED_IDLE              ".xxxxxx" "a CPU that runs only SCHED_IDLE tasks counts as idle everywhere"
    SIS_SCHED_IDLE_STRICT       "......x" "but not for a wakee that is SCHED_IDLE itself"
    SIS_SCAN_ALLOWED            ".xxxxxx" "the idle CPU scan walks allowed CPUs only, so others cost no budget"
    SIS_KTHREAD_STACK           ".xxxxxx" "a per-CPU kthread leaves the task it wakes on its CPU"
    SIS_KTHREAD_TASK_CONTEXT    "...xxxx" "the same only when it wakes from task context"
    SIS_KTHREAD_FITS            "...xxxx" "the same only when the task fits that CPU"
    SIS_PREV_SMT                "..xxxxx" "the SMT siblings of the previous CPU are tried before the scan"
    SIS_SMT_SELF                "xxx...." "the SMT sibling test includes the CPU itself"
    SIS_SMT_DOMAIN              "..xx.xx" "the SMT sibling test respects the domain (isolated CPUs)"
    SIS_CORE_DOMAIN             "...x.xx" "the idle thread that a core test remembers lies inside the scanned CPUs"
    SIS_RECENT_ALWAYS           "..xxxxx" "recent_used_cpu becomes prev at each search, used or not"
    SIS_RECENT_WAKER            "xx....." "the waker's recent_used_cpu becomes its CPU"
    SIS_RECENT_PREV_AFFINITY    "..x...." "defect: the affinity test of the recent CPU looks at prev"
    SIS_AVG_CPU                 "......." "no scan when the average idle time is below the average scan cost"
    SIS_PROP                    "xxx...." "the scan budget is proportional to the average idle time"
    SIS_PROP_AGED               "..xxx.." "SIS_PROP ages the idle estimate instead of dividing it by 512"
    SIS_THIS_LLC                "xxx...." "the idle CPU scan needs an LLC domain of the waking CPU"
    SIS_UTIL                    "...xxxx" "the scan budget comes from the utilization of the LLC"
    SIS_EMPTY_STOP              "......x" "an LLC without allowed CPU ends the search before the hint is cleared"
    SIS_CLUSTER                 ".....xx" "the scan visits the cluster of the target first"
    SIS_CLUSTER_FALLBACK        ".....xx" "an idle prev or recent CPU in another cluster is kept as a fallback"
    SIS_ASYM_SCAN               "..xxxxx" "asymmetric machines search a CPU whose capacity fits"
    SIS_ASYM_PREV               "..xxxxx" "asymmetric machines try target, previous and recent CPU before that search (v5.10, from memory)"
    SIS_ASYM_SMT                "......x" "the capacity scan prefers idle cores and has a budget"
    SIS_NODE                    "......." "after a failed search in the target's LLC the other LLCs of its node are searched; in v6.5 candidates, taken out again"
    SIS_FILTER                  "......." "the idle CPU scan walks a shared mask of idle CPUs, so busy ones cost no budget; a patch of 2022 that was not merged"
    HINT_SET_WITHOUT_SHARED     "x......" "has_idle_cores reads as set while no shared object exists"
    FIG_GROUP_TYPES             ".xxxxxx" "fork and exec compare groups by type (find_idlest_group rework)"
    FIG_ALLOWED_ONLY            "...x.xx" "group statistics at fork and exec count allowed CPUs only"
    FIG_RUNNABLE                "..xxxxx" "group statistics at fork and exec sum runnable_avg"
    FIG_UTIL_TIE                "..xxxxx" "equal idle counts are decided by utilization"
    FIG_WEIGHT_UNSET            ".x....." "defect: group_weight is 0 in the fork and exec statistics"
    FIG_AVG_LOAD_SPARE          ".x....." "defect: avg_load is computed for has_spare groups only"
    FIG_NUMA_ANY_IDLE           ".x....." "fork and exec stay on a node with any idle CPU"
    FIG_NUMA_QUARTER            "..x...." "fork and exec stay on a node that is under a quarter busy"
    FIG_NUMA_IMB                "...xxxx" "fork and exec stay on a node within imb_numa_nr"
    FIG_MISFIT_BY_CPU           "...xxxx" "a group is misfit at fork and exec unless one of its CPUs fits the task"
    CPU_UTIL_INLINE             "......." "cpu_util and cpu_util_without are forced inline in the group statistics at fork and exec"
    FIG_SCHED_IDLE_FIRST        ".xxxxxx" "a sched-idle CPU ends the search inside the group at once"
    ENERGY_AWARE                "xxxxxxx" "energy-aware placement, on machines with asymmetric capacities and an energy model (sched_energy_aware)"
    EAS_MARGIN                  "xxx...." "energy-aware placement wants 6 percent of gain"
    EAS_ALL_DOMAINS             "xx....." "energy-aware placement counts prev among the spare candidates"
    TTWU_QUEUE                  "xxxxxxx" "remote wakeups are queued on the target's list"
    TTWU_QUEUE_IDLE             "...xxxx" "an idle target inside the LLC is woken through its list as well"
    TTWU_QUEUE_DELAYED          "......." "a wakeup of a task whose dequeue is delayed goes through the list of its CPU; a patch of 2025 that no release here has"
    AFFINITY_DISTRIBUTE         "..xxxxx" "tasks driven off their CPU by a change of affinity are spread over the allowed ones in turn (v5.7, from memory); before, all go to the first"
    NUMA_BALANCING              "......." "memory is scanned, faults say where it is, and tasks and pages move together; kernels switch it on where there are several nodes, here it is asked for, since it needs a model of memory"
    NUMA_MOVE_TO_SPARE          "..xxxxx" "NUMA balancing moves a task to a node with spare capacity by counting tasks, prefers idle cores, and stops at a good place (v5.7, from memory); before, by load alone"
    NUMA_SWAP_HOME              "..xxxxx" "NUMA balancing prefers to swap with a task that comes to its own preferred node (v5.7, from memory)"
    SCHED_CACHE                 "......x" "processes have a preferred LLC; the balancer brings tasks there"
}
Utilization {
    RUNNABLE_AVG                "..xxxxx" "a runnable_avg signal exists; before, a runnable_load_avg in its place"
    LOAD_RUNNABLE_LOAD          "x......" "placement and balancing read runnable_load_avg as load"
    PELT_MIN_DIVIDER            "...xxxx" "sums stay at or above avg * minimum divider when contributions leave; before, they become avg * divider"
    PELT_SUB_32BIT              "...xxx." "sums of a queue are cut to 32 bits when contributions leave"
    PELT_ADD_MIN_DIVIDER        "......x" "and so does the load sum of a queue when load is added"
    PELT_ATTACH_LOAD_FLOOR      "..xxxxx" "an attached entity has a load_sum of at least 1"
    PELT_FORK_WEIGHT_UNSCALED   ".....xx" "the first utilization of a task is computed from w; before, from w * 1024, which nearly always gives the limit"
    PELT_MIGRATE_DECAY          "...xxxx" "a sleeper leaving an idle CPU is decayed for the idle time too"
    PELT_TG_RATE_LIMIT          ".....xx" "a queue reports to the global load of its group at most once per millisecond"
    ATTACH_AGE_LOAD             "xxxxxxx" "a task is aged when it is attached"
    UTIL_EST                    "xxxxxxx" "utilization is estimated at dequeue"
    UTIL_EST_FASTUP             ".xxxxxx" "the estimate rises at once"
    UTIL_EST_SINGLE             ".....xx" "the estimate is a single value per task"
    UTIL_EST_RUNNABLE           ".....xx" "the estimate is not lowered while contention held the task back"
    UTIL_EST_CAPACITY_LIMIT     "xxxxxx." "an estimate above the CPU's capacity is not stored"
    UTIL_EST_LAST_ENQUEUED      "..xxx.." "small changes still store the last enqueued value"
    UTIL_EST_HIGH_BIT           "..xxxxx" "the unchanged mark is bit 31; before, bit 0 made estimates odd"
    UTIL_EST_EARLY              ".....x." "the estimate at sleep uses the averages before the dequeue"
    CPU_UTIL_BOOST              "....xxx" "cpu_util is one function with a boost argument"
    CPU_UTIL_QUEUED             "...xxxx" "cpu_util with a destination subtracts the estimate of a queued task"
    THERMAL_PRESSURE            "..xxx.." "capacity is reduced by thermal pressure"
    HW_PRESSURE                 ".....xx" "capacity is reduced by hardware and cpufreq pressure"
    NONTASK_CAPACITY            "xxxxxxx" "interrupt time reduces capacity"
    UCLAMP_TASK_UTIL            ".xxxxxx" "the estimate of a task is clamped when it is compared with a capacity"
    UCLAMP_FIT                  "...xxxx" "fitting a CPU honours uclamp (-1, 0, 1)"
    MISFIT_AFFINITY             ".....xx" "a task on the biggest CPU that it may use is not misfit"
    OVERUTIL_EAS_ONLY           "...x.xx" "a CPU counts as overutilized only while energy-aware scheduling is on"
    OVERUTIL_NO_UMIN            "......x" "overutilized ignores the minimum clamp"
}
Runqueue {
    EEVDF                       "....xxx" "the earliest eligible virtual deadline runs; before, the smallest vruntime"
    GENTLE_FAIR_SLEEPERS        "xxxx..." "sleepers get half the credit"
    START_DEBIT                 "xxxx..." "a new task starts one slice late"
    LAST_BUDDY                  "xxxx..." "the preempted task is preferred"
    NEXT_BUDDY                  "......." "the last woken task is preferred"
    WAKEUP_PREEMPTION           "xxxxxxx" "a wakee may preempt"
    ALT_PERIOD                  "..xx..." "the period counts all fair tasks of the CPU"
    BASE_SLICE                  "..xx..." "a slice is at least the minimum granularity"
    IDLE_MIN_GRANULARITY        "...x..." "idle entities have a minimum granularity and a sleeper credit of their own"
    SLEEPER_WRAP_GUARD          "...x..." "a very long sleeper is placed without comparison"
    GROUP_IDLE                  "..xxxxx" "cpu.idle groups exist"
    CFS_BANDWIDTH_BURST         "..xxxxx" "cpu.max.burst: unused runtime is kept for later periods"
    EEVDF_DEADLINE_TREE         ".....xx" "the tree is ordered by deadline: at equal deadlines a waiting task runs, not the current one"
    ZERO_VRUNTIME               ".....xx" "an empty queue keeps its average vruntime; before, min_vruntime"
    LAG_LIMIT_MAX_SLICE         "......x" "lag is limited by the longest slice of the queue and a tick; before, by two own slices"
    PLACE_LAG                   "....xxx" "lag is kept over sleep"
    PLACE_DEADLINE_INITIAL      "....xxx" "a new task starts with half a slice"
    PLACE_REL_DEADLINE          ".....xx" "a moved task keeps its relative deadline"
    RUN_TO_PARITY               "....xxx" "the running task is protected until its slice is used"
    SLICE_VPROT                 "......x" "protection ends at a virtual time (vprot), by the shortest slice, and its end asks for a reschedule"
    PREEMPT_SHORT               ".....xx" "a wakee with a shorter slice may preempt within a slice"
    PREEMPT_IDLE_ENTITY         ".....xx" "idle against not idle is decided between the entities that compete, before the wakee's policy"
    PREEMPT_IN_ORDER            "......x" "wakeup preemption tries short slices, then the pick; forks and delayed wakees do not preempt"
    DELAY_DEQUEUE               ".....xx" "an ineligible sleeper stays queued until it is eligible"
    DELAY_ZERO                  ".....xx" "a delayed sleeper leaves with at most zero lag"
    DELAY_LAG_KEPT              "......x" "the lag at the start of a delay is a floor at its end, and a requeue accounts first"
    PICK_BUDDY                  ".....xx" "the next buddy is picked when eligible"
    PICK_BUDDY_PROTECTED        "......x" "the buddy is part of the pick, and goes with slice protection"
    CUSTOM_SLICE                ".....xx" "sched_setattr sets a slice"
    YIELD_FORFEIT               ".....xx" "yield gives up the rest of the slice"
    REWEIGHT_KEEPS_LAG          ".....xx" "a new weight of a queued entity keeps lag and deadline in real time; before, the rest of the slice only"
    REWEIGHT_REL_DEADLINE       "......x" "a new weight also scales a relative deadline"
    WEIGHT_UNSCALED             "xxxxxx." "sums use unscaled weights and wmult; after, plain division"
    RESCHED_LAZY                "......x" "fair-class requests to reschedule are lazy"
    HRTICK                      "......x" "a high resolution timer ends slices"
    THROTTLE_AT_EXIT            "......x" "cpu.max throttles a task when it returns to user mode"
}
Balance {
    LB_GROUP_TYPES              ".xxxxxx" "balancing by group type and migration type (load_balance rework)"
    LB_RUNNABLE                 "..xxxxx" "group classes look at runnable_avg"
    LB_NR_RUNNABLE              "......x" "balancing counts fair tasks without the delayed-dequeued ones"
    LB_OVERLOAD_AT_TOP          "......x" "the overload flag is gathered in the topmost domain only"
    LB_ENERGY_NOT_OVERLOADED    "......x" "with energy scheduling a group is overloaded only when one of its CPUs is overutilized"
    LB_CAPACITY_SUM_DEFECT      "x......" "defect: smallest and largest capacity over overlapping children are those of the running sum"
    LB_REDUCED_CAPACITY         "...xxxx" "a single task on a CPU of reduced capacity is pulled as misfit; misfit rules proper are for asymmetric domains only"
    LB_SMT_BALANCE              "....xxx" "the SMT balance group type exists"
    LB_SIBLING_CORES            "....xxx" "sibling imbalance is weighed by cores, and zero for a busy destination"
    LB_PREFER_SIBLING_GROUP     "....xxx" "prefer_sibling comes from the busiest group's flags; before, from the child domain"
    LB_PICK_SMT                 "....xxx" "picking the busiest group tells SMT cores from others"
    LB_TIE_REPLACES             ".xxxx.." "of equal asym-packing or misfit groups the later one is busiest"
    LB_CAPACITY_GREATER         "..xxxxx" "capacities are compared with a margin of 5 percent; before, with the 20 percent of fits_capacity"
    LB_MIN_CAPACITY_EARLY       "...x.xx" "a group of bigger CPUs that are not overcommitted is refused before types are compared"
    LB_MISFIT_IDLE_CORE         "...x.xx" "a misfit task is pulled only to an idle core"
    LB_ASYM_BUSY_THREADS        "...x..." "asymmetric packing counts the busy threads of the cores it compares"
    LB_ASYM_IDLE_CORE           "....xxx" "asymmetric packing looks at idle cores"
    LB_ENERGY_FIRST             ".xx...." "the energy scheduling test comes before all other tests of the busiest group"
    LB_UTIL_IN_LLC              ".x....." "utilization is migrated inside an LLC too"
    LB_NUMA_TWO                 ".x....." "a NUMA source with two tasks is left alone"
    LB_NUMA_QUARTER             "..x...." "a NUMA source under a quarter busy may keep two tasks"
    LB_NUMA_IMB                 "...xxxx" "NUMA imbalance within imb_numa_nr is left alone, tested before the amount is halved"
    LB_LOCAL_BUSIER_STOP        "..xxxxx" "a local group with more average load than the busiest does not pull load"
    LB_LOCAL_AVG_CHECK          "...xxxx" "a local group above the average of the domain does not pull load"
    LB_QUEUE_NONEMPTY           "..xxxxx" "a CPU without fair tasks is not the busiest queue"
    LB_QUEUE_PACKING            "...xxxx" "a single task on a CPU of higher packing priority is left alone"
    LB_QUEUE_UTIL_SINGLE        "..xxxxx" "migration by utilization leaves single tasks alone"
    LB_QUEUE_UTIL_BOOST         "....xxx" "the busiest queue by utilization looks at runnable_avg too"
    LB_NEWIDLE_STILL_IDLE       "...xxxx" "newidle balancing goes on only while the CPU has no task"
    LB_IDLE_CORE_FIRST          "....xxx" "should_we_balance prefers a CPU on an idle core"
    LB_IDLE_SMT_EXCLUSIVE       ".....xx" "and else only the first idle CPU of a busy core"
    LB_BALANCE_MASK             "...xxxx" "new destinations and retries look at the balance mask of the local group, before at its span"
    LB_ALL_PINNED_FIRST         "..xxxxx" "LBF_ALL_PINNED is set before the queue is examined, and cleared when active balance starts"
    LB_DETACH_LAST_UNPINNED     "..xxxxx" "a source that is down to one task counts as not pinned"
    LB_LOOP_WHILE_PINNED        "....x.." "while all tasks seen are pinned, the examination goes on beyond the limit"
    LB_LOAD_AT_LEAST_ONE        "..xxxxx" "a task's load is at least one"
    LB_LOAD_SHIFT               "..xxxxx" "failures halve the load that is tested; before, always by two"
    LB_UTIL_SHIFT               "...x.xx" "failures halve the utilization that is tested"
    LB_MIN                      "......." "tasks of tiny load are not moved"
    LB_KEEP_DELAYED             "......x" "delayed-dequeued tasks move for load only"
    LB_KEEP_INELIGIBLE          "......x" "ineligible tasks are not moved at first"
    LB_THROTTLED_DST_ONLY       "......x" "only a throttled group at the destination keeps a task"
    LB_KEEP_PER_CPU_KTHREAD     "..xxxxx" "per-CPU kernel threads are passed over without counting as pinned"
    LB_NUMA_EQUAL_NEUTRAL       "......x" "a move between nodes of equal fault weight is neither good nor bad; before, good"
    CACHE_HOT_BUDDY             "xxxxxxx" "buddies are cache hot"
    LB_SMT_NOT_HOT              "..xxxxx" "tasks are never hot inside a core"
    LB_ACTIVE_IGNORES_HOT       "..xxxxx" "active balance ignores cache hotness"
    LB_ACTIVE_BY_TYPE           "..xxxxx" "repeated failures start active balance for migration by task only"
    LB_ACTIVE_BACKOFF           "xx....." "starting active balance sets nr_balance_failed and doubles the interval"
    LB_FAILED_NOT_MISFIT        ".....xx" "misfit attempts count neither as failures nor as balanced"
    LB_BUSY_MINUS_ONE           "..xxxxx" "busy intervals are one jiffy shorter"
    LB_SCHED_IDLE_IS_IDLE       ".xxxxxx" "a CPU that runs only SCHED_IDLE tasks balances at the idle interval"
    LB_COST_DECAY_AFTER_CHANGE  "...xxxx" "the newidle cost decays a second after its last change; before, once per second"
    LB_SERIALIZE_NEWIDLE        "......x" "SERIALIZE covers newidle balancing, and is tested after should_we_balance"
    LB_NOHZ_NEXT_MIN            "xx....." "idle balancing lowers nohz.next_balance itself"
    NEWIDLE_PENDING             "...xxxx" "newidle balancing returns at once when a wakeup is pending"
    NEWIDLE_DOMAIN_COST         "...xxxx" "newidle gives up by the base domain's cost, before by migration_cost; updating averages counts as cost"
    NEWIDLE_STOP_BY_ANSWER      ".....xx" "the newidle walk stops when should_we_balance says so; before, when a task has appeared"
    NI_RANDOM                   "...x.xx" "newidle tries a domain with a probability from its success"
    NI_RATE                     "......x" "the success ratio includes a rate"
    NOHZ_NEXT                   "..xxxxx" "nohz.needs_update asks for a next_balance refresh"
    NOHZ_KICK_STEPS             "x......" "every kick moves nohz.next_balance by one jiffy, stats kicks too"
    NOHZ_OTHER_CPU              "...xxxx" "the kicked CPU is never the kicking one"
    NOHZ_KICK_ALL_FLAGS         ".....xx" "no kick is sent when the CPU has all flags already"
    NOHZ_MISFIT_ANY             ".....xx" "a misfit task kicks without looking for a bigger CPU"
    NOHZ_EMPTY_LATE             "......x" "the test for an empty mask of idle CPUs comes after the one for blocked load"
    NOHZ_WALK_WRAPS             ".xxxxxx" "the idle balancer starts behind its own CPU; before, at CPU 0"
    NOHZ_STOP_UNLESS_IDLE       "...xxxx" "the idle balancer stops at a reschedule request only when it is not idle any more"
    NR_IDLE_SCAN                "...xxxx" "the balancer computes nr_idle_scan for SIS_UTIL"
    NR_IDLE_SCAN_BY_SHARED      "......x" "nr_idle_scan is computed in the domain that has a shared object; before, in the one of the LLC's weight"
}
}

impl Feature {
    /// The feature called `name` (without `NO_`; upper or lower case).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|f| f.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

const WORDS: usize = Feature::ALL.len().div_ceil(64);

/// A set of features.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Features([u64; WORDS]);

impl Features {
    /// No feature.
    pub const NONE: Self = Self([0; WORDS]);

    /// The features that are on in `release` as built.
    #[must_use]
    pub const fn of(release: Release) -> Self {
        let mut set = Self::NONE;
        let mut i = 0;
        while i < Feature::ALL.len() {
            if Feature::ALL[i].is_default_of(release) {
                set = set.with(Feature::ALL[i], true);
            }
            i += 1;
        }
        set
    }

    /// Is `feature` on?
    #[inline]
    #[must_use]
    pub const fn has(&self, feature: Feature) -> bool {
        self.0[feature as usize / 64] >> (feature as usize % 64) & 1 != 0
    }

    /// The set with `feature` switched on or off.
    #[must_use]
    pub const fn with(mut self, feature: Feature, on: bool) -> Self {
        let bit = 1 << (feature as usize % 64);
        if on {
            self.0[feature as usize / 64] |= bit;
        } else {
            self.0[feature as usize / 64] &= !bit;
        }
        self
    }

    /// The features that are on, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = Feature> + '_ {
        Feature::ALL.iter().copied().filter(|f| self.has(*f))
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
