//! Pull the wakee to the waking CPU, or leave it where it was?

use fairlab_kernel::Feature;
use fairlab_topology::domains::{DomainFlags, DomainId};
use fairlab_units::CpuId;

use crate::explain::{Event, Explain, Step};
use crate::search::Search;
use crate::surroundings::Surroundings;
use crate::{Affine, MachineView, WakeFlags};

/// The terms of the weight part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Load of the waking CPU (`cpu_load`).
    pub this_load: u64,
    /// Load of the previous CPU.
    pub prev_load: u64,
    /// `task_h_load` of the waker; none when the wakeup is not sync.
    pub waker: Option<u64>,
    /// `task_h_load` of the wakee.
    pub wakee: u64,
    /// What is left of the waking CPU for fair tasks (`capacity_of`).
    pub this_capacity: u64,
    /// The same of the previous CPU.
    pub prev_capacity: u64,
    /// `imbalance_pct` of the domain that holds both.
    pub imbalance_pct: u32,
    /// Is the previous CPU favoured by half of that (WA_BIAS)?
    pub biased: bool,
}

impl Weights {
    /// Scaled loads of the waking and the previous CPU, with the wakee moved; none when the waker
    /// alone outweighs its queue, which decides for the waking CPU.
    ///
    /// Signed: the queue's average may be below what the task contributes. Products stay below
    /// 2^63 for loads up to 2^45.
    #[inline]
    #[must_use]
    pub fn compare(self) -> Option<(i64, i64)> {
        let mut this = self.this_load as i64;
        if let Some(waker) = self.waker {
            if waker > self.this_load {
                return None;
            }
            this -= waker as i64;
        }
        this += self.wakee as i64;
        let mut prev = self.prev_load as i64 - self.wakee as i64;
        if self.biased {
            this = this.wrapping_mul(100);
            prev = prev.wrapping_mul(100 + (i64::from(self.imbalance_pct) - 100) / 2);
        }
        this = this.wrapping_mul(self.prev_capacity as i64);
        prev = prev.wrapping_mul(self.this_capacity as i64);
        if self.waker.is_some() {
            // A tie pulls when the wakeup is sync.
            prev += 1;
        }
        Some((this, prev))
    }
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// Walks the domains of the waking CPU: the CPU to search around, and the domain whose slow path
    /// answers instead, if any.
    #[inline(always)]
    pub(crate) fn walk_domains(
        &mut self,
        want_affine: bool,
        sync: bool,
        sd_flag: DomainFlags,
    ) -> (CpuId, Option<DomainId>) {
        let (this, prev) = (self.ctx.this_cpu, self.ctx.prev_cpu);
        let domains = self.domains;
        let mut slow = None;
        let mut how = if want_affine {
            Affine::NoDomain
        } else {
            Affine::Unwanted
        };
        for id in domains.chain(this) {
            let domain = domains.domain(id);
            let flags = domain.flags;
            if self.has(Feature::SD_LOAD_BALANCE) && !flags.has(DomainFlags::LOAD_BALANCE) {
                break;
            }
            // A domain of the waking CPU holds it.
            let holds_prev = || this == prev || domains.mask(domain.span).test(prev);
            if want_affine && flags.has(DomainFlags::WAKE_AFFINE) && holds_prev() {
                how = if this == prev {
                    Affine::SameCpu
                } else {
                    self.wake_affine(id, sync)
                };
                slow = None;
                break;
            }
            if flags.any(sd_flag) {
                slow = Some(id);
            } else if !want_affine {
                break;
            }
        }
        let target = if how.takes_waking_cpu() { this } else { prev };
        if self.ctx.flags.has(WakeFlags::TTWU) {
            self.affine = Some(how);
            self.explain.note(Event::Affine { how, target });
        }
        (target, slow)
    }

    #[inline(never)]
    fn wake_affine(&mut self, domain: DomainId, sync: bool) -> Affine {
        self.affine_imbalance_pct = self.domains.domain(domain).imbalance_pct;
        wake_affine(self, sync)
    }

    /// Between two LLCs: the one that has an idle core, if only one has; else the one with the smaller part
    /// of busy CPUs, among which the waker's is. None inside an LLC, and when both are alike.
    ///
    /// # Source
    /// The series "sched/fair: wake_affine improvements" of 2021, from its description; no release has it.
    pub(crate) fn wake_affine_idler_llc(&mut self) -> Option<Affine> {
        let (this, prev) = (self.ctx.this_cpu, self.ctx.prev_cpu);
        if self.domains.share_cache(this, prev) {
            return None;
        }
        let choice = |this_is_idler| {
            Some(if this_is_idler {
                Affine::LlcIdler
            } else {
                Affine::PrevLlcIdler
            })
        };
        let (this_core, prev_core) = (self.has_idle_cores(this), self.has_idle_cores(prev));
        if this_core != prev_core {
            return choice(this_core);
        }
        let (this_busy, this_size) = self.busy_cpus(this)?;
        let (prev_busy, prev_size) = self.busy_cpus(prev)?;
        let (of_this, of_prev) = (this_busy * prev_size, prev_busy * this_size);
        if of_this == of_prev {
            return None;
        }
        choice(of_this < of_prev)
    }

    /// How many CPUs of the LLC of `cpu` are busy, and how many there are. The kernel keeps the count, so
    /// it costs no probes.
    fn busy_cpus(&self, cpu: CpuId) -> Option<(u64, u64)> {
        let span = self.domains.span(self.domains.cached(cpu).llc?);
        let busy = span.iter().filter(|cpu| !self.view.is_idle(*cpu)).count();
        Some((busy as u64, span.weight() as u64))
    }
}

/// Is the wakee pulled to the waking CPU, which has another number than its previous one?
///
/// # Source
/// Linux `kernel/sched/fair.c`, `wake_affine()`.
#[inline(always)]
pub fn wake_affine<S: Surroundings>(s: &mut S, sync: bool) -> Affine {
    if s.has(Feature::WA_LLC_IDLER)
        && let Some(how) = s.idler_cache()
    {
        return how;
    }
    if s.has(Feature::WA_IDLE)
        && let Some(how) = wake_affine_idle(s, sync)
    {
        return how;
    }
    if s.has(Feature::WA_WEIGHT)
        && let Some(how) = wake_affine_weight(s, sync)
    {
        return how;
    }
    Affine::Declined
}

#[inline(always)]
fn wake_affine_idle<S: Surroundings>(s: &mut S, sync: bool) -> Option<Affine> {
    let (this, prev) = (s.this_cpu(), s.prev_cpu());
    if s.is_available(Step::WakeAffine, this) && s.share_cache(this, prev) {
        return Some(if s.is_available(Step::WakeAffine, prev) {
            Affine::PrevIdle
        } else {
            Affine::ThisIdle
        });
    }
    if sync {
        let mut running = s.nr_running();
        if s.has(Feature::WA_DELAYED) {
            running = running.saturating_sub(s.nr_delayed());
        }
        if running == 1 {
            return Some(Affine::Sync);
        }
    }
    if s.has(Feature::WA_PREV_IDLE) && s.is_available(Step::WakeAffine, prev) {
        return Some(Affine::PrevIdle);
    }
    None
}

#[inline(always)]
fn wake_affine_weight<S: Surroundings>(s: &mut S, sync: bool) -> Option<Affine> {
    let Some((this, prev)) = s.weights(sync).compare() else {
        return Some(Affine::SyncLoad);
    };
    s.note_weights(this, prev);
    (this < prev).then_some(Affine::Weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads are those of the waking CPU, the waker, the wakee, and the previous CPU.
    fn case(
        loads: (u64, u64, u64, u64),
        capacities: (u64, u64),
        pct: u32,
        sync: bool,
    ) -> Option<(i64, i64)> {
        Weights {
            this_load: loads.0,
            waker: sync.then_some(loads.1),
            wakee: loads.2,
            prev_load: loads.3,
            this_capacity: capacities.0,
            prev_capacity: capacities.1,
            imbalance_pct: pct,
            biased: true,
        }
        .compare()
    }

    const FULL: (u64, u64) = (1024, 1024);

    #[test]
    fn weights_follow_the_examples_of_the_spec() {
        let table = [
            (
                case((1024, 1024, 512, 1024), FULL, 117, true),
                (52_428_800, 56_623_105),
            ),
            (
                case((1024, 1024, 512, 1024), FULL, 117, false),
                (157_286_400, 56_623_104),
            ),
            (
                case((0, 0, 512, 1024), FULL, 117, false),
                (52_428_800, 56_623_104),
            ),
            (
                case((0, 0, 512, 1024), FULL, 125, false),
                (52_428_800, 58_720_256),
            ),
            (
                case((500, 0, 512, 1600), FULL, 117, false),
                (103_628_800, 120_324_096),
            ),
            (
                case((0, 0, 300, 600), (1024, 512), 117, false),
                (15_360_000, 33_177_600),
            ),
        ];
        for (ours, spec) in table {
            assert_eq!(ours, Some(spec));
        }
    }

    #[test]
    fn a_waker_heavier_than_its_queue_decides_at_once() {
        assert_eq!(case((512, 600, 200, 0), FULL, 117, true), None);
    }
}
