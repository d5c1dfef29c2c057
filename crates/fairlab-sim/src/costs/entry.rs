//! The numbers of a cost table by name, so that files can be read and written without knowing each.

use fairlab_units::Nanos;

use super::ByDistance;
use super::table::CostTable;

/// How many numbers an entry has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One.
    One,
    /// One per [`fairlab_topology::Distance`], nearest first.
    ByDistance,
    /// A list of one to this many.
    List(usize),
}

/// What an entry's numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Nanoseconds per KiB.
    NsPerKib,
    /// KiB.
    Kib,
    /// MiB per millisecond, about GB/s.
    MibPerMs,
    /// 1024ths of full speed.
    Speed,
    /// Percent.
    Percent,
}

impl Unit {
    /// As keys of files call it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::NsPerKib => "ns_per_kib",
            Self::Kib => "kib",
            Self::MibPerMs => "mib_per_ms",
            Self::Speed => "speed_1024ths",
            Self::Percent => "percent",
        }
    }

    /// The least and the largest number that makes sense.
    #[must_use]
    pub const fn range(self) -> (u64, u64) {
        match self {
            Self::Ns => (0, 1_000_000_000),
            Self::NsPerKib => (0, 1_000_000),
            Self::Kib => (1, 1 << 30),
            Self::MibPerMs => (1, 1 << 20),
            Self::Speed => (1, 1024),
            Self::Percent => (0, 10_000),
        }
    }
}

/// A number, or several of the same kind, of a cost table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name: that of the field.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub what: &'static str,
    /// Where the default comes from, in a sentence.
    pub source: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// How many numbers it has.
    pub shape: Shape,
    pub(super) get: fn(&CostTable) -> Vec<u64>,
    pub(super) set: fn(&mut CostTable, &[u64]),
}

impl Entry {
    /// The numbers in `table`.
    #[must_use]
    pub fn get(&self, table: &CostTable) -> Vec<u64> {
        (self.get)(table)
    }

    /// Sets the numbers in `table`, unless there are too few or too many of them or one is out of the
    /// [range](Unit::range). Says whether it did.
    pub fn set(&self, table: &mut CostTable, numbers: &[u64]) -> bool {
        let (low, high) = self.unit.range();
        let is_right = match self.shape {
            Shape::One => numbers.len() == 1,
            Shape::ByDistance => numbers.len() == 6,
            Shape::List(most) => (1..=most).contains(&numbers.len()),
        } && numbers.iter().all(|n| (low..=high).contains(n));
        if is_right {
            (self.set)(table, numbers);
        }
        is_right
    }
}

/// A field of the table as plain numbers.
pub(super) trait Numbers {
    fn read(&self) -> Vec<u64>;
    /// The caller has checked that the count is right.
    fn write(&mut self, numbers: &[u64]);
}

impl Numbers for u64 {
    fn read(&self) -> Vec<u64> {
        vec![*self]
    }

    fn write(&mut self, numbers: &[u64]) {
        *self = numbers.first().copied().unwrap_or_default();
    }
}

impl Numbers for Nanos {
    fn read(&self) -> Vec<u64> {
        self.0.read()
    }

    fn write(&mut self, numbers: &[u64]) {
        self.0.write(numbers);
    }
}

impl Numbers for ByDistance {
    fn read(&self) -> Vec<u64> {
        self.iter().map(|ns| ns.0).collect()
    }

    fn write(&mut self, numbers: &[u64]) {
        for (here, number) in self.iter_mut().zip(numbers) {
            *here = Nanos(*number);
        }
    }
}

impl Numbers for Vec<u64> {
    fn read(&self) -> Vec<u64> {
        self.clone()
    }

    fn write(&mut self, numbers: &[u64]) {
        *self = numbers.to_vec();
    }
}
