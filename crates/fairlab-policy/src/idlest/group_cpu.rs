//! The idlest CPU of a group.

use fairlab_kernel::Feature;
use fairlab_topology::domains::SchedGroup;
use fairlab_units::CpuId;

use crate::explain::{Explain, Step};
use crate::search::Search;
use crate::{MachineView, Reason};

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// The idlest CPU of `group`, asked from `this` (`find_idlest_group_cpu`, from v6.10 on
    /// `sched_balance_find_dst_group_cpu`).
    pub(super) fn find_idlest_group_cpu(
        &mut self,
        group: &SchedGroup,
        this: CpuId,
    ) -> (CpuId, Reason) {
        let span = self.domains.mask(group.span);
        if group.weight == 1
            && let Some(only) = span.first()
        {
            return (only, Reason::SlowOnlyCpu);
        }
        let first_sched_idle = self.has(Feature::FIG_SCHED_IDLE_FIRST);
        let mut idle = None;
        let mut sched_idle = None;
        let (mut min_latency, mut latest_stamp) = (u32::MAX, 0);
        let (mut least_loaded, mut min_load) = (this, u64::MAX);
        for cpu in span.iter().filter(|cpu| self.p.allowed.test(*cpu)) {
            if first_sched_idle && self.takes_sched_idle && self.view.is_sched_idle(cpu) {
                self.note_probe(Step::Group, cpu, crate::ProbeState::SchedIdle);
                return (cpu, Reason::SlowSchedIdle);
            }
            if self.is_available(Step::Group, cpu) {
                let stamp = self.view.idle_stamp(cpu);
                match self.view.idle_exit_latency(cpu) {
                    Some(latency) if latency < min_latency => {
                        // A shallower state costs less to leave, whenever it was entered.
                        (min_latency, latest_stamp) = (latency, stamp);
                        idle = Some(cpu);
                    }
                    Some(latency) if latency != min_latency => {}
                    _ => {
                        // The last to go idle has the warmest cache.
                        if stamp > latest_stamp {
                            latest_stamp = stamp;
                            idle = Some(cpu);
                        }
                    }
                }
            } else if idle.is_none() && sched_idle.is_none() {
                if !first_sched_idle && self.view.is_sched_idle(cpu) {
                    sched_idle = Some(cpu);
                    continue;
                }
                let load = self.load(cpu);
                if load < min_load {
                    (least_loaded, min_load) = (cpu, load);
                }
            }
        }
        match (idle, sched_idle) {
            (Some(cpu), _) => (cpu, Reason::SlowIdle),
            (None, Some(cpu)) => (cpu, Reason::SlowSchedIdle),
            (None, None) => (least_loaded, Reason::SlowLeastLoaded),
        }
    }
}
