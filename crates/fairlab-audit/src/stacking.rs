//! Threads that share a core while another core of their LLC idles.

use fairlab_units::CpuId;

use crate::map::Map;
use crate::track::{Cpu, Current};

/// Time with shared cores beside idle cores.
#[derive(Clone, Debug, Default)]
pub struct Stacking {
    /// Time of threads that could have had a core of their own in the LLC, in ns: for each moment,
    /// the lesser of shared threads and idle cores, summed over LLCs.
    pub thread_ns: u64,
    /// Time with at least one such thread, in ns.
    pub any_ns: u64,
    /// By core: CPUs that run something.
    busy: Vec<u32>,
    /// By LLC: threads beyond the first of their core, and cores of which nothing is busy.
    llcs: Vec<(u32, u32)>,
    /// Sum over LLCs of the lesser of the two.
    now: u64,
}

impl Stacking {
    pub(crate) fn new(map: &Map) -> Self {
        let mut llcs = vec![(0, 0); map.llcs.len()];
        for core in &map.cores {
            if let Some(cpu) = core.cpus.first() {
                llcs[map.llc_of(cpu)].1 += 1;
            }
        }
        Self {
            busy: vec![0; map.cores.len()],
            llcs,
            ..Self::default()
        }
    }

    pub(crate) const fn pass(&mut self, ns: u64) {
        if self.now > 0 {
            self.thread_ns += self.now * ns;
            self.any_ns += ns;
        }
    }

    /// Does the CPU take a share of its core? What is unknown does not, so that nothing is claimed.
    pub(crate) const fn is_busy(cpu: &Cpu) -> bool {
        matches!(cpu.current, Current::Task(_))
    }

    /// `cpu` begins or ceases to run something.
    pub(crate) fn changed(&mut self, map: &Map, cpu: CpuId, is_busy: bool) {
        let busy = &mut self.busy[map.core_of(cpu)];
        let (shared, idle_cores) = &mut self.llcs[map.llc_of(cpu)];
        self.now -= u64::from((*shared).min(*idle_cores));
        if is_busy {
            *busy += 1;
            match *busy {
                1 => *idle_cores -= 1,
                _ => *shared += 1,
            }
        } else {
            *busy -= 1;
            match *busy {
                0 => *idle_cores += 1,
                _ => *shared -= 1,
            }
        }
        self.now += u64::from((*shared).min(*idle_cores));
    }
}
