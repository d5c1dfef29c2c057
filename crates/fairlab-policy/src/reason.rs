//! Why a CPU was chosen.

use core::fmt;

use fairlab_kernel::{Feature, Kernel};

macro_rules! reasons {
    ($($name:ident $text:literal $doc:literal)*) => {
        /// Why a CPU was chosen: one variant per documented path.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $doc] $name,)*
        }

        impl Reason {
            /// All reasons, in the order in which a decision comes by.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// A short name: `idle core`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// One sentence on what it means.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$name => $doc,)* }
            }
        }
    };
}

reasons! {
    OnlyCpu            "only allowed CPU"      "The task may run on one CPU only, or must not migrate, so nothing was searched."
    FallbackNode       "fallback in node"      "The chosen CPU was not allowed or not active; this is the first allowed and active CPU of its node."
    FallbackAllowed    "fallback anywhere"     "The chosen CPU was not allowed or not active and neither was any of its node; this is the first allowed and active CPU."
    FallbackWidened    "affinity widened"      "No allowed CPU is active, so the task's affinity was widened to all CPUs."
    CurrentCpu         "waking CPU asked for"  "The wakeup asked for the waking CPU (WF_CURRENT_CPU)."
    EnergyNoUtil       "energy: no load"       "Energy-aware placement found a task without utilization and left it on its previous CPU."
    EnergyRace         "energy: stale sums"    "Energy-aware placement saw a negative energy difference, because utilization changed meanwhile, and kept the previous CPU."
    EnergyPrev         "energy: previous CPU"  "Energy-aware placement found no CPU that saves energy over the previous one."
    EnergyBest         "energy: saves energy"  "Energy-aware placement found a CPU where the task costs less energy or fits better."
    TargetIdle         "target idle"           "The CPU around which the wakeup searches was idle itself."
    PrevIdle           "previous CPU idle"     "The previous CPU was idle and shares the cache of the target."
    KthreadStack       "stacked on kthread"    "A per-CPU kernel thread woke a task whose work it did, on the CPU where the task ran before."
    RecentIdle         "recent CPU idle"       "The CPU that the task used before its previous one was idle and shares the cache of the target."
    CapacityFits       "idle CPU that fits"    "The scan of an asymmetric machine found an idle CPU whose capacity fits the task."
    CapacityBest       "largest idle CPU"      "The scan of an asymmetric machine found no idle CPU that fits; this one comes closest."
    CapacityTarget     "target, none idle"     "The scan of an asymmetric machine found no idle CPU, so the target was taken."
    NoLlc              "target without LLC"    "The target has no domain that shares a cache, so there was nothing to scan."
    IdleCore           "idle core"             "A core of the LLC was idle with all its threads."
    IdleCpu            "idle CPU"              "The scan of the LLC found an idle CPU."
    ScanSchedIdle      "sched-idle CPU"        "The scan of the LLC ran out of budget; it had seen a CPU that runs only SCHED_IDLE tasks."
    IdleThread         "thread of no idle core" "The search for an idle core failed, but it had seen an idle thread."
    TargetSmt          "sibling of target"     "A thread of the target's core was idle."
    PrevSmt            "sibling of previous CPU" "A thread of the previous CPU's core was idle."
    ClusterIdleCore    "idle core in cluster"  "A core of the target's cluster was idle with all its threads."
    ClusterIdleCpu     "idle CPU in cluster"   "The scan of the target's cluster found an idle CPU."
    PrevFallback       "previous CPU, other cluster" "Nothing nearer was found; the previous CPU was idle in another cluster of the LLC."
    RecentFallback     "recent CPU, other cluster" "Nothing nearer was found; the recent CPU was idle in another cluster of the LLC."
    TargetNoScan       "target, no scan"       "The scan was not allowed to look at any CPU, so the target was taken although it is busy."
    TargetBudget       "target, budget spent"  "The scan used up its budget without finding an idle CPU, so the target was taken."
    Target             "target, none idle in LLC" "The whole LLC was searched and nothing was idle, so the target was taken."
    NodeIdle           "idle CPU in node"      "The LLC of the target had no idle CPU; another LLC of the node had one."
    NoDomain           "no domain to balance"  "No domain balances at this event, so the task stays where it is."
    SlowNoneAllowed    "no allowed CPU in domain" "No CPU of the domain is allowed, so the task stays where it is."
    SlowLocal          "local group, own CPU"  "No group was better than the one of the present CPU at any level."
    SlowOnlyCpu        "only CPU of group"     "The chosen group has one CPU."
    SlowSchedIdle      "sched-idle CPU in group" "A CPU of the chosen group runs only SCHED_IDLE tasks."
    SlowIdle           "idle CPU in group"     "A CPU of the chosen group was idle; the one in the shallowest idle state, or the last to go idle."
    SlowLeastLoaded    "least loaded CPU in group" "No CPU of the chosen group was idle; this one has the least load."
}

impl Reason {
    /// Can `kernel` answer so?
    #[must_use]
    pub const fn applies_to(self, kernel: &Kernel) -> bool {
        use Feature as F;
        let one_pass = kernel.has(F::SIS_ONE_PASS);
        match self {
            Self::CurrentCpu => kernel.has(F::WAKE_CURRENT_CPU),
            Self::EnergyRace => !(kernel.has(F::EAS_MARGIN) && kernel.has(F::EAS_ALL_DOMAINS)),
            Self::KthreadStack => kernel.has(F::SIS_KTHREAD_STACK),
            Self::CapacityFits | Self::CapacityBest | Self::CapacityTarget => {
                kernel.has(F::SIS_ASYM_SCAN)
            }
            Self::ScanSchedIdle => !one_pass && !kernel.has(F::SIS_SCHED_IDLE),
            Self::IdleThread => one_pass,
            Self::TargetSmt => !one_pass,
            Self::PrevSmt => one_pass && kernel.has(F::SIS_PREV_SMT),
            Self::ClusterIdleCore | Self::ClusterIdleCpu => {
                one_pass && kernel.has(F::SIS_CLUSTER) && kernel.has(F::SD_CLUSTER)
            }
            Self::NodeIdle => kernel.has(F::SIS_NODE),
            Self::PrevFallback | Self::RecentFallback => {
                kernel.has(F::SIS_CLUSTER_FALLBACK) && kernel.has(F::SD_CLUSTER)
            }
            Self::TargetNoScan => {
                !one_pass
                    || kernel.has(F::SIS_THIS_LLC)
                    || kernel.has(F::SIS_PROP)
                    || kernel.has(F::SIS_UTIL)
            }
            Self::TargetBudget => kernel.has(F::SIS_PROP) || kernel.has(F::SIS_UTIL),
            Self::OnlyCpu
            | Self::FallbackNode
            | Self::FallbackAllowed
            | Self::FallbackWidened
            | Self::EnergyNoUtil
            | Self::EnergyPrev
            | Self::EnergyBest
            | Self::TargetIdle
            | Self::PrevIdle
            | Self::RecentIdle
            | Self::NoLlc
            | Self::IdleCore
            | Self::IdleCpu
            | Self::Target
            | Self::NoDomain
            | Self::SlowNoneAllowed
            | Self::SlowLocal
            | Self::SlowOnlyCpu
            | Self::SlowSchedIdle
            | Self::SlowIdle
            | Self::SlowLeastLoaded => true,
        }
    }

    /// The reason called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|r| r.name() == name)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
