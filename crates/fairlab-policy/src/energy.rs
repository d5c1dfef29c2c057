//! Energy-aware placement: the CPU where the task costs the least energy.

mod model;

use fairlab_kernel::Feature;
use fairlab_pelt::{Clamp, Fit, cpu_util};
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use crate::explain::{Event, Explain};
use crate::fits::task_util_est;
use crate::search::Search;
use crate::{MachineView, Reason};

pub use model::{PerfDomain, PerfState, perf_domains};

/// The best CPU of one performance domain.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    cpu: CpuId,
    fit: Fit,
    spare: u64,
}

/// The best CPU over the domains seen so far, besides the previous CPU.
#[derive(Clone, Copy, Debug)]
struct Best {
    cpu: Option<CpuId>,
    fit: i32,
    capacity: u64,
    delta: u64,
}

/// What the previous CPU would cost.
#[derive(Clone, Copy, Debug)]
struct PrevCost {
    fit: i32,
    capacity: u64,
    delta: u64,
}

/// A negative energy difference: utilization changed while sums were taken.
struct Race;

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// The most energy-efficient CPU; none gives way to ordinary placement
    /// (`find_energy_efficient_cpu`).
    pub(crate) fn find_energy_efficient_cpu(&mut self) -> Option<(CpuId, Reason)> {
        if self.view.perf_domains().is_empty() || self.view.is_overutilized() {
            return None;
        }
        self.choose_by_energy()
    }

    #[inline(never)]
    fn choose_by_energy(&mut self) -> Option<(CpuId, Reason)> {
        let prev = self.ctx.prev_cpu;
        let domains = self.domains;
        let lowest = domains.cached(self.ctx.this_cpu).asym_cpucapacity;
        let domain = core::iter::successors(lowest, |id| domains.domain(*id).parent)
            .find(|id| domains.span(*id).test(prev))?;
        self.sync_signals();
        let wants_minimum =
            self.has(Feature::UCLAMP_FIT) && self.view.uclamp_used() && self.clamp().min != 0;
        if task_util_est(&self.signals) == 0 && !wants_minimum {
            return Some((prev, Reason::EnergyNoUtil));
        }
        let choice = if self.has(Feature::EAS_MARGIN) {
            self.choose_with_margin(domain)
        } else {
            self.choose_by_fit(domain)
        };
        Some(match choice {
            Err(Race) => (prev, Reason::EnergyRace),
            Ok(cpu) if cpu == prev => (prev, Reason::EnergyPrev),
            Ok(cpu) => (cpu, Reason::EnergyBest),
        })
    }

    /// v6.0 and later.
    fn choose_by_fit(&mut self, domain: DomainId) -> Result<CpuId, Race> {
        let view = self.view;
        let prev = self.ctx.prev_cpu;
        let mut best = Best {
            cpu: None,
            fit: -1,
            capacity: 0,
            delta: u64::MAX,
        };
        let mut prev_cost = PrevCost {
            fit: -1,
            capacity: 0,
            delta: u64::MAX,
        };
        for perf in view.perf_domains() {
            let (candidate, prev_fit) = self.candidates(domain, perf, false);
            if candidate.is_none() && prev_fit.is_none() {
                continue;
            }
            let capacity = self.perf_capacity(perf);
            let base = self.energy(perf, None);
            if let Some(fit) = prev_fit {
                let energy = self.energy(perf, Some(prev));
                let delta = energy.checked_sub(base).ok_or(Race)?;
                prev_cost = PrevCost {
                    fit: fit.fit.number(),
                    capacity,
                    delta,
                };
                self.note_energy(prev, delta);
                best.delta = best.delta.min(delta);
            }
            let Some(candidate) = candidate else {
                continue;
            };
            if prev_fit.is_some_and(|prev| candidate.spare <= prev.spare) {
                continue;
            }
            let fit = candidate.fit.number();
            if fit < best.fit || (fit < 0 && capacity <= best.capacity) {
                continue;
            }
            let energy = self.energy(perf, Some(candidate.cpu));
            let delta = energy.checked_sub(base).ok_or(Race)?;
            self.note_energy(candidate.cpu, delta);
            if fit > 0 && best.fit > 0 && delta >= best.delta {
                continue;
            }
            best = Best {
                cpu: Some(candidate.cpu),
                fit,
                capacity,
                delta,
            };
        }
        let takes_best = best.fit > prev_cost.fit
            || (best.fit > 0 && best.delta < prev_cost.delta)
            || (best.fit < 0 && best.capacity > prev_cost.capacity);
        Ok(best.cpu.filter(|_| takes_best).unwrap_or(prev))
    }

    /// To v5.19: the gain must exceed 6 percent of all energy.
    fn choose_with_margin(&mut self, domain: DomainId) -> Result<CpuId, Race> {
        let view = self.view;
        let prev = self.ctx.prev_cpu;
        let all = self.has(Feature::EAS_ALL_DOMAINS);
        let (mut base_sum, mut prev_delta, mut best_delta) = (0u64, None, u64::MAX);
        let mut best = prev;
        for perf in view.perf_domains() {
            let (candidate, prev_fit) = self.candidates(domain, perf, all);
            if !all && candidate.is_none() && prev_fit.is_none() {
                continue;
            }
            let base = self.energy(perf, None);
            base_sum += base;
            if prev_fit.is_some() {
                let energy = self.energy(perf, Some(prev));
                let delta = Self::delta(energy, base, all)?;
                self.note_energy(prev, delta);
                prev_delta = Some(delta);
                best_delta = best_delta.min(delta);
            }
            if let Some(candidate) = candidate.filter(|c| c.cpu != prev) {
                let energy = self.energy(perf, Some(candidate.cpu));
                let delta = Self::delta(energy, base, all)?;
                self.note_energy(candidate.cpu, delta);
                if delta < best_delta {
                    best_delta = delta;
                    best = candidate.cpu;
                }
            }
        }
        let Some(prev_delta) = prev_delta else {
            return Ok(best);
        };
        let gains = prev_delta.wrapping_sub(best_delta) > prev_delta.wrapping_add(base_sum) >> 4;
        Ok(if gains { best } else { prev })
    }

    /// An energy difference. The oldest form does not notice when it is negative.
    fn delta(energy: u64, base: u64, wraps: bool) -> Result<u64, Race> {
        if wraps {
            Ok(energy.wrapping_sub(base))
        } else {
            energy.checked_sub(base).ok_or(Race)
        }
    }

    fn note_energy(&mut self, cpu: CpuId, delta: u64) {
        self.explain.note(Event::Energy { cpu, delta });
    }

    /// The CPU of `perf` with the most spare capacity after taking the task, and the previous CPU if
    /// it is one of them. `counts_prev`: the previous CPU is also a candidate for the first.
    fn candidates(
        &mut self,
        domain: DomainId,
        perf: &PerfDomain,
        counts_prev: bool,
    ) -> (Option<Candidate>, Option<Candidate>) {
        let span = self.domains.span(domain);
        let (mut best, mut prev) = (None::<Candidate>, None);
        let (p, task) = (self.p, self.task_util());
        for cpu in perf.cpus.iter() {
            if !span.test(cpu) || !p.allowed.test(cpu) {
                continue;
            }
            let util = cpu_util(
                self.kernel,
                &self.queue_util(cpu),
                Some(&task),
                Some(cpu),
                false,
            );
            let capacity = self.capacity(cpu);
            let (min, max) = self.view.rq_uclamp(cpu);
            let own = self.clamp();
            let clamp = Clamp {
                min: own.min.max(min),
                max: own.max.max(max),
            };
            let fit = self.util_fits(util, clamp, &capacity);
            if fit == Fit::No {
                continue;
            }
            let candidate = Candidate {
                cpu,
                fit,
                spare: capacity.capacity.saturating_sub(util),
            };
            if cpu == self.ctx.prev_cpu {
                prev = Some(candidate);
                if !counts_prev {
                    continue;
                }
            }
            let is_better = best.is_none_or(|best| {
                let (new, old) = (candidate.fit.number(), best.fit.number());
                new > old || (new == old && candidate.spare > best.spare)
            });
            if is_better {
                best = Some(candidate);
            }
        }
        (best, prev)
    }
}
