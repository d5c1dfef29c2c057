//! Why domains could not be built.

use core::fmt;

use fairlab_units::CpuId;

/// Why domains could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The masks of two CPUs at a level other than NUMA overlap without being equal. The kernel
    /// then attaches no domains at all.
    OverlappingLevel {
        /// Name of the level.
        level: &'static str,
        /// The one CPU.
        cpu: CpuId,
        /// The other CPU.
        other: CpuId,
    },
    /// A CPU is in two partitions.
    PartitionsOverlap(CpuId),
    /// A table of distances for building domains has not one row and column per node.
    DistanceTable,
    /// A CPU number without a slot.
    UnknownCpu(CpuId),
    /// A recorded domain of the CPU has a level name that no kernel uses.
    UnknownLevel(CpuId),
    /// A recorded domain of the CPU has no group, or an empty group or balance mask.
    EmptyGroup(CpuId),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OverlappingLevel { level, cpu, other } => write!(
                f,
                "the {level} masks of CPU {cpu} and CPU {other} overlap without being equal: a \
                 kernel attaches no domains to such a machine; correct its clusters and caches"
            ),
            Self::PartitionsOverlap(cpu) => {
                write!(f, "CPU {cpu} is in two partitions; put it in one of them")
            }
            Self::DistanceTable => {
                f.write_str("the distances for building domains need one row and column per node")
            }
            Self::UnknownCpu(cpu) => write!(f, "CPU {cpu} is beyond the highest CPU number"),
            Self::UnknownLevel(cpu) => write!(
                f,
                "a domain of CPU {cpu} has an unknown level name, known are SMT, CLS, MC, DIE, \
                 PKG, NODE and NUMA"
            ),
            Self::EmptyGroup(cpu) => write!(
                f,
                "a domain of CPU {cpu} has no groups, or a group without CPUs or balance mask"
            ),
        }
    }
}

impl core::error::Error for BuildError {}
