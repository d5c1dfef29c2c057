//! Events that wait to be merged, in half their size: a round of large buffers holds hundreds of thousands of
//! them, and to write and read that much memory costs more than to make it less.

use fairlab_event::SwitchState;

use crate::raw::{NO_PRIO, NONE, RawEvent, RawKind};

/// An event of the most frequent kinds, with numbers that are not out of the ordinary.
#[derive(Clone, Copy, Debug)]
struct Packed {
    time: u64,
    /// The first task.
    a: u32,
    /// The second task of a switch; of others the task that runs.
    b: u32,
    rest: Rest,
}

/// By kind, for which a field has no room: the names and priorities, and the value.
#[derive(Clone, Copy, Debug)]
enum Rest {
    Switch {
        a_name: u16,
        b_name: u16,
        a_prio: u8,
        b_prio: u8,
        state: SwitchState,
    },
    Waking {
        name: u16,
        prio: u8,
        value: u32,
    },
    Wakeup {
        name: u16,
        prio: u8,
        value: u32,
    },
    StatRuntime {
        name: u16,
        prio: u8,
        value: u32,
    },
    /// The event itself lies there, among those that lie aside.
    Aside(u32),
}

const _: () = assert!(size_of::<Packed>() == 24 && size_of::<RawEvent>() == 48);

/// The number of a name plus one; none becomes 0.
#[inline]
fn pack_name(name: u32) -> Option<u16> {
    u16::try_from(name.wrapping_add(1)).ok()
}

#[inline]
const fn unpack_name(name: u16) -> u32 {
    (name as u32).wrapping_sub(1)
}

/// A priority, from -1 on, plus two; none becomes 0.
#[inline]
fn pack_prio(prio: i16) -> Option<u8> {
    if prio == NO_PRIO {
        return Some(0);
    }
    u8::try_from(prio.wrapping_add(2))
        .ok()
        .filter(|&code| code > 0)
}

#[inline]
const fn unpack_prio(prio: u8) -> i16 {
    if prio == 0 { NO_PRIO } else { prio as i16 - 2 }
}

impl Packed {
    #[inline]
    fn new(event: &RawEvent) -> Option<Self> {
        let (name, prio) = (pack_name(event.a_name)?, pack_prio(event.a_prio)?);
        if event.kind == RawKind::Switch {
            let rest = Rest::Switch {
                a_name: name,
                b_name: pack_name(event.b_name)?,
                a_prio: prio,
                b_prio: pack_prio(event.b_prio)?,
                state: event.state,
            };
            // Who ran is the task that stops.
            return (event.current == event.a && event.value == 0).then_some(Self {
                time: event.time,
                a: event.a,
                b: event.b,
                rest,
            });
        }
        let value = u32::try_from(event.value).ok()?;
        // The kinds below have no second task.
        let rest = match event.kind {
            RawKind::Waking => Rest::Waking { name, prio, value },
            RawKind::Wakeup => Rest::Wakeup { name, prio, value },
            RawKind::StatRuntime => Rest::StatRuntime { name, prio, value },
            _ => return None,
        };
        Some(Self {
            time: event.time,
            a: event.a,
            b: event.current,
            rest,
        })
    }

    #[inline]
    fn unpack(&self, cpu: u32, aside: &[RawEvent]) -> RawEvent {
        let mut event = RawEvent::new(self.time, cpu, RawKind::Switch);
        event.a = self.a;
        let (kind, name, prio, value) = match self.rest {
            Rest::Switch {
                a_name,
                b_name,
                a_prio,
                b_prio,
                state,
            } => {
                event.current = self.a;
                event.a_name = unpack_name(a_name);
                event.a_prio = unpack_prio(a_prio);
                event.b = self.b;
                event.b_name = unpack_name(b_name);
                event.b_prio = unpack_prio(b_prio);
                event.state = state;
                return event;
            }
            Rest::Aside(at) => return aside[at as usize],
            Rest::Waking { name, prio, value } => (RawKind::Waking, name, prio, value),
            Rest::Wakeup { name, prio, value } => (RawKind::Wakeup, name, prio, value),
            Rest::StatRuntime { name, prio, value } => (RawKind::StatRuntime, name, prio, value),
        };
        event.kind = kind;
        event.current = self.b;
        event.a_name = unpack_name(name);
        event.a_prio = unpack_prio(prio);
        event.value = u64::from(value);
        event
    }
}

/// What came from one CPU's buffer.
#[derive(Debug)]
pub(super) struct Lane {
    /// The CPU of all that does not lie aside.
    cpu: u32,
    events: Vec<Packed>,
    /// Events that cannot be packed.
    aside: Vec<RawEvent>,
    /// What has been taken of `events`.
    next: usize,
    is_disordered: bool,
}

impl Lane {
    pub(super) const fn new(cpu: u32) -> Self {
        Self {
            cpu,
            events: Vec::new(),
            aside: Vec::new(),
            next: 0,
            is_disordered: false,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, event: &RawEvent) {
        if let Some(last) = self.events.last() {
            self.is_disordered |= event.time < last.time;
            if self.next == self.events.len() {
                self.events.clear();
                self.aside.clear();
                self.next = 0;
            } else if self.events.len() == self.events.capacity()
                && self.next > self.events.len() / 2
            {
                self.forget_taken();
            }
        }
        let packed = if event.cpu == self.cpu {
            Packed::new(event)
        } else {
            None
        };
        match packed {
            Some(packed) => self.events.push(packed),
            None => self.push_aside(event),
        }
    }

    #[cold]
    fn push_aside(&mut self, event: &RawEvent) {
        self.aside.push(*event);
        self.events.push(Packed {
            time: event.time,
            a: NONE,
            b: NONE,
            // There are fewer: `MOST_PENDING`.
            rest: Rest::Aside(self.aside.len() as u32 - 1),
        });
    }

    #[cold]
    fn forget_taken(&mut self) {
        self.events.drain(..self.next);
        self.next = 0;
        let mut left = Vec::new();
        for event in &mut self.events {
            if let Rest::Aside(at) = &mut event.rest {
                left.push(self.aside[*at as usize]);
                *at = left.len() as u32 - 1;
            }
        }
        self.aside = left;
    }

    /// The time of the next event.
    #[inline]
    pub(super) fn peek(&self) -> Option<u64> {
        self.events.get(self.next).map(|event| event.time)
    }

    /// Moves events to `out`, at most `most`: those up to the time `bound`, and of them those up to `until` and
    /// `least` later ones. Says how many.
    #[inline]
    pub(super) fn take(
        &mut self,
        bound: u64,
        until: u64,
        least: usize,
        most: usize,
        out: &mut Vec<RawEvent>,
    ) -> usize {
        let sure = bound.min(until);
        let rest = &self.events[self.next..];
        let mut taken = 0;
        for event in &rest[..rest.len().min(most)] {
            if event.time > sure && (event.time > bound || taken >= least) {
                break;
            }
            out.push(event.unpack(self.cpu, &self.aside));
            taken += 1;
        }
        self.next += taken;
        taken
    }

    pub(super) fn put_in_order(&mut self) {
        if std::mem::take(&mut self.is_disordered) {
            // Stable: events of the same time keep the order of the file.
            self.events[self.next..].sort_by_key(|event| event.time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ordinary events, and some that have something of every field that does not fit.
    fn events() -> Vec<RawEvent> {
        let mut events = Vec::new();
        for kind in [
            RawKind::Switch,
            RawKind::Waking,
            RawKind::Wakeup,
            RawKind::StatRuntime,
            RawKind::Migrate,
            RawKind::Process,
        ] {
            let plain = |time| {
                let mut event = RawEvent::new(time, 3, kind);
                (event.a, event.a_name, event.a_prio) = (70_000, 5, 120);
                event.current = if kind == RawKind::Switch { 70_000 } else { 9 };
                if kind == RawKind::Switch {
                    (event.b, event.b_name, event.b_prio) = (80_000, 7, -1);
                    event.state = SwitchState::Dead;
                } else {
                    event.value = u64::from(NONE);
                }
                event
            };
            let changes: [fn(&mut RawEvent); 12] = [
                |_| (),
                |event| event.cpu = 4,
                |event| event.cpu = NONE,
                |event| event.value = 1 << 32,
                |event| event.current = NONE,
                |event| event.a_name = NONE,
                |event| event.a_name = 0xffff,
                |event| event.a_prio = NO_PRIO,
                |event| event.a_prio = 254,
                |event| event.a = NONE,
                |event| event.b_name = 0x1_0000,
                |event| event.b_prio = -2,
            ];
            // Only switches have a second task.
            let changes = &changes[..if kind == RawKind::Switch { 12 } else { 10 }];
            for change in changes {
                let mut event = plain(events.len() as u64);
                change(&mut event);
                events.push(event);
            }
        }
        events
    }

    fn taken(lane: &mut Lane, most: usize) -> Vec<String> {
        let mut out = Vec::new();
        lane.take(u64::MAX, u64::MAX, 0, most, &mut out);
        out.iter().map(|event| format!("{event:?}")).collect()
    }

    #[test]
    fn what_is_packed_comes_out_as_it_was() {
        let events = events();
        let mut lane = Lane::new(3);
        events.iter().for_each(|event| lane.push(event));
        // Nothing of the last two kinds is packed, and of the others what has one number too many.
        assert_eq!(lane.aside.len(), 2 * 10 + 9 + 3 * 5);
        let wanted: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
        for (taken, wanted) in taken(&mut lane, usize::MAX).iter().zip(&wanted) {
            assert_eq!(taken, wanted);
        }
        assert_eq!(lane.peek(), None);
    }

    #[test]
    fn what_lies_aside_is_found_when_the_lane_was_sorted_and_cut() {
        let mut lane = Lane::new(3);
        let mut events = events();
        events.reverse();
        events.iter().for_each(|event| lane.push(event));
        lane.put_in_order();
        events.reverse();
        let wanted: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
        assert!(taken(&mut lane, 50) == wanted[..50]);
        lane.forget_taken();
        assert_eq!(lane.events.len(), events.len() - 50);
        assert!(lane.aside.len() <= lane.events.len());
        assert!(taken(&mut lane, usize::MAX) == wanted[50..]);
    }
}
