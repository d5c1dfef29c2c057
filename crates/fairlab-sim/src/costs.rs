//! What the hardware and the kernel's own code cost a task: tables of numbers, nothing hidden.
//!
//! ```text
//!   Machine --facts--> MachineClass --> CostTable      or one that a file states, or that was measured
//!                                          |
//!              ENTRIES: name, unit, what it is, source  (how files are read and written)
//! ```

mod class;
mod entry;
mod table;

use fairlab_topology::{Distance, Domains, Machine};
use fairlab_units::Nanos;
use fairlab_workload::Channel;

pub use class::MachineClass;
pub use entry::{Entry, Shape, Unit};
pub use table::{CostTable, ENTRIES};

/// A cost per [`Distance`], nearest first.
pub type ByDistance = [Nanos; 6];

impl CostTable {
    /// The table of the class that `machine` belongs to.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        MachineClass::of(machine).table()
    }

    /// What is wrong between the numbers of the table, if anything is.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        let rises = |list: &[u64]| list.is_sorted();
        if self.idle_residency.len() != self.idle_exit.len() {
            return Some("idle_residency and idle_exit need a number for each idle state");
        }
        if !rises(&self.idle_residency) || !rises(&self.idle_exit) {
            return Some("idle states come shallow first: their residencies and exits rise");
        }
        if self.idle_residency.first() != Some(&0) {
            return Some("the first idle state has a residency of 0, so that there is always one");
        }
        if self.smt_speed.first() != Some(&1024) {
            return Some("smt_speed begins with 1024: a thread that has its core for itself");
        }
        None
    }

    /// Speed of a thread in a core with `busy` busy threads, in 1024ths.
    #[must_use]
    pub fn speed(&self, busy: usize) -> u32 {
        nth_or_last(&self.smt_speed, busy.saturating_sub(1))
    }

    /// Speed of a core in a package with `active` of `cores` cores active, in 1024ths. A package of
    /// fewer than four cores is not limited by its power.
    #[must_use]
    pub fn boost(&self, active: u32, cores: u32) -> u32 {
        if cores < 4 {
            return 1024;
        }
        let steps = self.boost_speed.len().saturating_sub(1) as u32;
        let step = active.clamp(1, cores).saturating_sub(1) * steps / (cores - 1);
        nth_or_last(&self.boost_speed, step as usize)
    }

    /// Leaving idle state `state`.
    #[must_use]
    pub fn idle_exit_of(&self, state: usize) -> Nanos {
        Nanos(self.idle_exit.get(state).copied().unwrap_or_default())
    }

    /// Writing a message into `channel`, without the wakeup.
    #[must_use]
    pub fn write(&self, channel: Channel) -> Nanos {
        match channel {
            Channel::Stated { write, .. } => write,
            Channel::Pipe { bytes } => self.pipe_write + self.copy(bytes),
            Channel::Unix { bytes } => self.unix_send + self.copy(bytes),
            Channel::Tcp { bytes } => self.tcp_send + self.copy(bytes),
            Channel::Udp { bytes } => self.udp_send + self.copy(bytes),
        }
    }

    /// Reading a message from `channel`.
    #[must_use]
    pub fn read(&self, channel: Channel) -> Nanos {
        match channel {
            Channel::Stated { read, .. } => read,
            Channel::Pipe { bytes } => self.pipe_read + self.copy(bytes),
            Channel::Unix { bytes } => self.unix_receive + self.copy(bytes),
            Channel::Tcp { bytes } => self.tcp_receive + self.copy(bytes),
            Channel::Udp { bytes } => self.udp_receive + self.copy(bytes),
        }
    }

    /// Writing a message that joins an unread one.
    #[must_use]
    pub fn write_joined(&self, channel: Channel) -> Nanos {
        self.tcp_append + self.copy(channel.bytes())
    }

    /// Reading a message that joined the one read before it.
    #[must_use]
    pub const fn read_joined(&self, channel: Channel) -> Nanos {
        self.copy(channel.bytes())
    }

    const fn copy(&self, bytes: u64) -> Nanos {
        Nanos(bytes.saturating_mul(self.message_copy) >> 10)
    }

    /// Time that a search took, by the counts of the kernel's own scan, on a machine whose masks
    /// have `words` words. Probes are charged at the typical distance of an LLC mate.
    #[must_use]
    pub fn search(&self, cost: &fairlab_policy::Cost, words: u64) -> Nanos {
        let near = self.probe[Distance::SameLlc as usize];
        Nanos(
            u64::from(cost.idle_tests) * near.0
                + u64::from(cost.mask_ops) * words * self.mask_word.0
                + u64::from(cost.bit_clears) * self.mask_word.0
                + u64::from(cost.group_cpus) * (near.0 + self.group_cpu.0),
        )
    }
}

/// Number `index` of a list of speeds, or its last one.
fn nth_or_last(list: &[u64], index: usize) -> u32 {
    let number = list.get(index).or(list.last()).copied();
    u32::try_from(number.unwrap_or(1024)).unwrap_or(1024).max(1)
}

/// Number of words in a CPU mask of these domains.
#[must_use]
pub fn mask_words(domains: &Domains) -> u64 {
    domains.nr_cpu_ids().div_ceil(64) as u64
}
