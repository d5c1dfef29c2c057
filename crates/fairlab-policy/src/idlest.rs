//! The slow path: fork and exec descend the domains towards the idlest group, then CPU.
//!
//! ```text
//!   domain (highest that balances at this event)
//!     |  find_idlest_group: local is as good ----> one level down, same CPU
//!     |  another group ----> find_idlest_group_cpu ----> continue below the new CPU
//!     v
//!   lowest domain
//! ```

mod by_load;
mod by_type;
mod group_cpu;
mod group_stats;
mod group_type;

use fairlab_kernel::Feature;
use fairlab_topology::domains::{DomainFlags, DomainId};
use fairlab_units::CpuId;

use crate::explain::{Event, Explain};
use crate::search::Search;
use crate::{MachineView, Reason, WakeFlags};

pub use group_stats::GroupStats;
pub use group_type::GroupType;

/// The form of the utilization functions to which a build may be fixed, so that the objects of the
/// two forms can be compared. Ordinary builds hold both, and the kernel's feature picks.
const FIXED_FORM: Option<bool> = if cfg!(fairlab_cpu_util = "inlined") {
    Some(true)
} else if cfg!(fairlab_cpu_util = "called") {
    Some(false)
} else {
    None
};

/// Says to which caller a copy of the called form belongs.
const HERE: u8 = 0;

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// Is the utilization inlined into the walks over CPUs (`CPU_UTIL_INLINE`)?
    #[inline]
    fn inlines_util(&self) -> bool {
        FIXED_FORM.unwrap_or_else(|| self.has(Feature::CPU_UTIL_INLINE))
    }

    /// The idlest CPU below `domain` (`find_idlest_cpu`, from v6.10 on `sched_balance_find_dst_cpu`).
    #[inline(never)]
    pub(crate) fn find_idlest_cpu(
        &mut self,
        domain: DomainId,
        sd_flag: DomainFlags,
    ) -> (CpuId, Reason) {
        let domains = self.domains;
        self.cost.mask_ops += 1;
        if !domains.span(domain).intersects(self.p.allowed) {
            return (self.ctx.prev_cpu, Reason::SlowNoneAllowed);
        }
        if !self.ctx.flags.has(WakeFlags::FORK) {
            self.sync_signals();
        }
        let mut cpu = self.ctx.this_cpu;
        let mut reason = Reason::SlowLocal;
        let mut next = Some(domain);
        while let Some(id) = next {
            let domain = domains.domain(id);
            next = domain.child;
            if !domain.flags.any(sd_flag) {
                continue;
            }
            let group = if self.has(Feature::FIG_GROUP_TYPES) {
                self.find_idlest_group(id, cpu)
            } else {
                self.find_idlest_group_by_load(id, cpu)
            };
            let span = group.map(|group| domains.mask(domains.groups(id)[group].span));
            self.explain.note(Event::GroupChosen {
                domain: id,
                cpu,
                group: span,
            });
            let Some(group) = group else {
                continue;
            };
            let (new, how) = self.find_idlest_group_cpu(&domains.groups(id)[group], cpu);
            if new == cpu {
                continue;
            }
            (cpu, reason) = (new, how);
            // Go on below this level, on the new CPU's own chain.
            next = domains
                .chain(new)
                .take_while(|below| domains.domain(*below).span_weight < domain.span_weight)
                .filter(|below| domains.domain(*below).flags.any(sd_flag))
                .last();
        }
        (cpu, reason)
    }
}
