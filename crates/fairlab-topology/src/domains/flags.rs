//! Domain flags, under the kernel's names without `SD_`.

use core::fmt;
use core::ops::{BitAnd, BitOr, BitOrAssign, Not};

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u32)]
        enum Bit { $($name,)* }

        impl DomainFlags {
            $($(#[$doc])* pub const $name: Self = Self(1 << Bit::$name as u32);)*

            /// All flags with their names, in the kernel's order.
            pub const ALL: &'static [(Self, &'static str)] =
                &[$((Self::$name, stringify!($name)),)*];
        }
    };
}

/// A set of domain flags. The bit positions are ours; each release numbers its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DomainFlags(u32);

flags! {
    /// Balance at all (to v5.6).
    LOAD_BALANCE;
    /// Balance when the CPU goes idle.
    BALANCE_NEWIDLE;
    /// Balance at exec.
    BALANCE_EXEC;
    /// Balance at fork.
    BALANCE_FORK;
    /// Balance at wakeup.
    BALANCE_WAKE;
    /// Pull the wakee to the waking CPU.
    WAKE_AFFINE;
    /// Capacities differ inside the domain.
    ASYM_CPUCAPACITY;
    /// The domain sees every capacity of the partition.
    ASYM_CPUCAPACITY_FULL;
    /// The CPUs are threads of one core.
    SHARE_CPUCAPACITY;
    /// The CPUs share a cluster (L2 or tag).
    CLUSTER;
    /// The CPUs share the last-level cache (`SHARE_PKG_RESOURCES` before v6.9).
    SHARE_LLC;
    /// One balancer at a time.
    SERIALIZE;
    /// Place busy tasks earlier.
    ASYM_PACKING;
    /// Prefer to spread over siblings.
    PREFER_SIBLING;
    /// Groups overlap.
    OVERLAP;
    /// The domain spans nodes.
    NUMA;
}

impl DomainFlags {
    /// No flag.
    pub const NONE: Self = Self(0);

    /// Are all flags of `other` set?
    #[inline]
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Is any flag of `other` set?
    #[inline]
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The set with the flags of `other` removed.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// True when no flag is set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The flag called `name`, with or without `SD_`, old names too.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix("SD_").unwrap_or(name);
        let name = if name == "SHARE_PKG_RESOURCES" {
            "SHARE_LLC"
        } else {
            name
        };
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(f, _)| *f)
    }
}

impl BitOr for DomainFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for DomainFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for DomainFlags {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for DomainFlags {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

impl fmt::Display for DomainFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (_, name) in Self::ALL.iter().filter(|(flag, _)| self.has(*flag)) {
            if !first {
                f.write_str(" ")?;
            }
            first = false;
            f.write_str(name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for DomainFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}
