//! Domain flags, under the kernel's names without `SD_`.

use core::fmt;
use core::ops::{BitAnd, BitOr, BitOrAssign, Not};

use fairlab_kernel::{Feature, Kernel};

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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
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

    /// The bits of `kernel` for these flags; those it does not know are left out.
    ///
    /// Up to v5.6 the numbers are written down in a header (from memory; one of them,
    /// SHARE_POWERDOMAIN, exists on no machine here). Later releases number the flags in the order
    /// of their table, so that each new flag moves those behind it.
    #[must_use]
    pub fn to_kernel_bits(self, kernel: &Kernel) -> u32 {
        let bits = KernelBits::of(kernel).filter(|(flag, _)| self.has(*flag));
        bits.fold(0, |sum, (_, bit)| sum | 1 << bit)
    }

    /// The flags that `kernel` means by `bits`; unknown bits are left out.
    #[must_use]
    pub fn from_kernel_bits(bits: u32, kernel: &Kernel) -> Self {
        let flags = KernelBits::of(kernel).filter(|(_, bit)| bits >> bit & 1 != 0);
        flags.fold(Self::NONE, |set, (flag, _)| set | flag)
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

/// The flags that a kernel knows, with their bit numbers.
struct KernelBits;

impl KernelBits {
    fn of(kernel: &Kernel) -> impl Iterator<Item = (DomainFlags, u32)> {
        use DomainFlags as F;
        let fixed = kernel.has(Feature::SD_LOAD_BALANCE);
        let kernel = *kernel;
        let known = move |flag: F| match flag {
            F::LOAD_BALANCE => fixed,
            F::ASYM_CPUCAPACITY_FULL => kernel.has(Feature::SD_ASYM_FULL),
            F::CLUSTER => kernel.has(Feature::SD_CLUSTER),
            F::OVERLAP => kernel.has(Feature::SD_OVERLAP_FLAG),
            _ => true,
        };
        let flags = F::ALL.iter().map(|(flag, _)| *flag);
        let mut next = 0;
        flags.filter(move |flag| known(*flag)).map(move |flag| {
            // The place of SHARE_POWERDOMAIN.
            next += u32::from(fixed && flag == F::SHARE_LLC);
            next += 1;
            (flag, next - 1)
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_kernel::Release;

    #[test]
    fn each_release_numbers_its_own_bits() {
        use DomainFlags as F;
        let smt = F::BALANCE_NEWIDLE
            | F::BALANCE_EXEC
            | F::BALANCE_FORK
            | F::WAKE_AFFINE
            | F::SHARE_CPUCAPACITY
            | F::SHARE_LLC
            | F::PREFER_SIBLING;
        // As recorded in structures of running kernels, but for 5.4.
        let cases = [
            (Release::V7_2, smt, 0x1297),
            (Release::V6_12, smt, 0x1297),
            (Release::V6_1, smt, 0x997),
            (Release::V5_4, smt | F::LOAD_BALANCE, 0x12af),
        ];
        for (release, flags, bits) in cases {
            let kernel = Kernel::of(release);
            assert_eq!(flags.to_kernel_bits(&kernel), bits, "{release}");
            assert_eq!(F::from_kernel_bits(bits, &kernel), flags, "{release}");
        }
    }
}
