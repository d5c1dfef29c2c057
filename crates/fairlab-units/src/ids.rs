//! Identifiers. Newtypes over `u32`, so that a CPU number is never used as a task number.

use alloc::vec::Vec;
use core::fmt;
use core::ops::{Index, IndexMut};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index into a per-id container.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id with number `index`.
            ///
            /// # Panics
            /// When `index` does not fit in 32 bits.
            #[inline]
            #[must_use]
            pub const fn from_index(index: usize) -> Self {
                assert!(index <= u32::MAX as usize);
                Self(index as u32)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id!(
    /// A hardware thread, numbered as the kernel numbers it.
    CpuId,
    "cpu"
);
id!(
    /// A NUMA node, numbered as the kernel numbers it (numbers may be sparse).
    NodeId,
    "node"
);
id!(
    /// A task (thread), numbered by whoever owns the tasks.
    TaskId,
    "task"
);

/// One value per CPU, indexed by [`CpuId`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerCpu<T>(Vec<T>);

impl<T> PerCpu<T> {
    /// One value per CPU `0..nr_cpus`, made by `make`.
    pub fn from_fn(nr_cpus: usize, mut make: impl FnMut(CpuId) -> T) -> Self {
        Self((0..nr_cpus).map(|i| make(CpuId::from_index(i))).collect())
    }

    /// Number of CPU slots (highest possible CPU number plus one).
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there is no CPU slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of `cpu`, or nothing when the number is beyond the last slot.
    #[inline]
    #[must_use]
    pub fn get(&self, cpu: CpuId) -> Option<&T> {
        self.0.get(cpu.index())
    }

    /// All slots in CPU order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (CpuId, &T)> {
        self.0
            .iter()
            .enumerate()
            .map(|(i, v)| (CpuId::from_index(i), v))
    }

    /// All slots in CPU order, for writing.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (CpuId, &mut T)> {
        self.0
            .iter_mut()
            .enumerate()
            .map(|(i, v)| (CpuId::from_index(i), v))
    }

    /// The slots as a slice; position is the CPU number.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// The slots of two different CPUs, both for writing.
    ///
    /// # Panics
    /// When `a == b`, or one of them has no slot.
    pub fn pair_mut(&mut self, a: CpuId, b: CpuId) -> (&mut T, &mut T) {
        assert_ne!(a, b, "a pair needs two different CPUs");
        if a < b {
            let (low, high) = self.0.split_at_mut(b.index());
            (&mut low[a.index()], &mut high[0])
        } else {
            let (low, high) = self.0.split_at_mut(a.index());
            (&mut high[0], &mut low[b.index()])
        }
    }
}

impl<T> Index<CpuId> for PerCpu<T> {
    type Output = T;
    #[inline]
    fn index(&self, cpu: CpuId) -> &T {
        &self.0[cpu.index()]
    }
}

impl<T> IndexMut<CpuId> for PerCpu<T> {
    #[inline]
    fn index_mut(&mut self, cpu: CpuId) -> &mut T {
        &mut self.0[cpu.index()]
    }
}
