//! How long a wakeup is under way: from its beginning in the waker to its arrival on another CPU.
//!
//! The interrupt that tells the other CPU is sent after whatever else the waker's kernel does for the wakee, such as
//! copying a message. How long that takes no cost says, since it belongs to the load; what was recorded does.

use std::collections::BTreeMap;

use fairlab_event::{EventKind, SchedEvent};
use fairlab_sim::{CostTable, Distances};
use fairlab_topology::Distance;
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

/// A wakeup of which the arrival was seen.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    delay: Nanos,
    from: CpuId,
    to: CpuId,
    /// Did the CPU take it from its list of wakeups, instead of being told to choose again?
    from_list: bool,
}

/// A wakeup that is under way.
#[derive(Clone, Copy, Debug)]
struct Begun {
    time: Timestamp,
    waker: TaskId,
    from: CpuId,
}

/// The arrivals of wakeups by pair of waker and wakee.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    begun: BTreeMap<TaskId, Begun>,
    of_pair: BTreeMap<(TaskId, TaskId), Vec<Arrival>>,
}

impl Arrivals {
    /// So many of each pair are kept, which is enough for a median.
    const MOST: usize = 63;

    /// `waker`, which runs on the CPU of the event, begins to wake `wakee`.
    pub fn begins(&mut self, event: &SchedEvent, waker: TaskId, wakee: TaskId) {
        let begun = Begun {
            time: event.time,
            waker,
            from: event.cpu,
        };
        self.begun.insert(wakee, begun);
    }

    /// Takes an event in.
    pub fn event(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Wakeup { task, .. } => {
                // On the waker's CPU it is only queued: when it arrives, the switch tells.
                let is_elsewhere = |begun: &Begun| begun.from != event.cpu;
                if self.begun.get(&task).is_some_and(is_elsewhere) {
                    self.arrives(event, task, true);
                }
            }
            EventKind::Switch {
                prev,
                next: Some(task),
                ..
            } => {
                let is_told = |begun: &Begun| begun.from != event.cpu && prev.is_none();
                if self.begun.get(&task).is_some_and(is_told) {
                    self.arrives(event, task, false);
                }
                self.begun.remove(&task);
            }
            _ => {}
        }
    }

    fn arrives(&mut self, event: &SchedEvent, wakee: TaskId, from_list: bool) {
        let Some(begun) = self.begun.remove(&wakee) else {
            return;
        };
        let of_pair = self.of_pair.entry((begun.waker, wakee)).or_default();
        if of_pair.len() < Self::MOST {
            of_pair.push(Arrival {
                delay: event.time.saturating_since(begun.time),
                from: begun.from,
                to: event.cpu,
                from_list,
            });
        }
    }

    /// What the waker's kernel does before it sends the interrupt, beside what a simulation charges for the wakeup:
    /// the median over the wakeups of the pair that were seen to arrive.
    pub fn before(
        &self,
        waker: TaskId,
        wakee: TaskId,
        costs: &CostTable,
        distances: &Distances,
    ) -> Nanos {
        let Some(of_pair) = self.of_pair.get(&(waker, wakee)) else {
            return Nanos::ZERO;
        };
        // Every search looks at one CPU at least.
        let search = costs.probe[Distance::SameLlc as usize];
        let mut rests: Vec<Nanos> = of_pair
            .iter()
            .map(|arrival| {
                let distance = distances.between(arrival.from, arrival.to) as usize;
                let wakeup = if arrival.from_list {
                    costs.wakeup.saturating_sub(costs.wake_list)
                } else {
                    costs.wakeup + costs.shared_object[distance]
                };
                let said = search + wakeup + costs.ipi[distance];
                arrival.delay.saturating_sub(said)
            })
            .collect();
        let middle = rests.len() / 2;
        *rests.select_nth_unstable(middle).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_event::SwitchState;
    use fairlab_topology::{Cpu, Machine, MachineBuilder};

    fn machine() -> Machine {
        let cpus = (0..2).map(|id| Cpu {
            core: id,
            llc: Some(0),
            package: Some(0),
            ..Cpu::new(CpuId(id))
        });
        MachineBuilder {
            cpus: cpus.collect(),
            ..MachineBuilder::default()
        }
        .build()
        .unwrap()
    }

    /// What is before the interrupt of wakeups that arrive after `delays` by lists.
    fn before(delays: &[u64]) -> Nanos {
        let (waker, wakee) = (TaskId(1), TaskId(2));
        let mut arrivals = Arrivals::default();
        for (round, delay) in (0..).zip(delays) {
            let event = |after: u64, cpu, kind| SchedEvent {
                time: Timestamp(round * 1_000_000 + after),
                cpu: CpuId(cpu),
                kind,
            };
            let waking = EventKind::Waking {
                task: wakee,
                prev_cpu: CpuId(1),
            };
            let wakeup = EventKind::Wakeup {
                task: wakee,
                target: CpuId(1),
            };
            let switch = EventKind::Switch {
                prev: None,
                prev_state: SwitchState::Runnable,
                next: Some(wakee),
            };
            arrivals.begins(&event(0, 0, waking), waker, wakee);
            for event in [event(*delay, 1, wakeup), event(*delay + 10, 1, switch)] {
                arrivals.event(&event);
            }
        }
        let machine = machine();
        let costs = CostTable::default();
        arrivals.before(waker, wakee, &costs, &Distances::of(&machine))
    }

    #[test]
    fn what_the_costs_do_not_say_is_before_the_interrupt() {
        let costs = CostTable::default();
        let distance = Distances::of(&machine()).between(CpuId(0), CpuId(1)) as usize;
        let search = costs.probe[Distance::SameLlc as usize];
        let said = search + costs.wakeup - costs.wake_list + costs.ipi[distance];
        assert_eq!(before(&[said.0 + 450]), Nanos(450));
        assert_eq!(
            before(&[said.0 + 500, said.0 + 400, said.0 + 90_000]),
            Nanos(500)
        );
        assert_eq!(
            before(&[said.0 - 1]),
            Nanos::ZERO,
            "nothing takes less than nothing"
        );
        assert_eq!(before(&[]), Nanos::ZERO);
    }
}
