//! A slow and obvious queue: one vector, linear scans, exact arithmetic, no wrapping.
//!
//! It states the rules of one flat queue afresh and shares only the weighted-time functions with
//! the crate (these are checked against tables elsewhere).

use fairlab_kernel::{Feature, Kernel};
use fairlab_runqueue::{
    Policy, Resched, RqConfig, Weight, weighted_by_division, weighted_by_inverse,
};

#[derive(Clone, Debug)]
pub struct Task {
    pub nice: i8,
    pub policy: Policy,
    pub v: i128,
    pub deadline: i128,
    pub vlag: i128,
    pub vprot: i128,
    pub slice: i128,
    pub custom: bool,
    pub relative: bool,
    pub on_rq: bool,
    pub delayed: bool,
    pub exec_start: u64,
    pub sum_exec: u64,
    pub prev_sum_exec: u64,
    /// When it was inserted among the waiting ones.
    pub seq: u64,
    /// The deadline that protects it.
    pub mark: Option<i128>,
}

impl Task {
    fn scaled(&self) -> u64 {
        match self.policy {
            Policy::Idle => Weight::IDLE.0,
            _ => Weight::of_nice(self.nice).0,
        }
    }

    fn w(&self) -> i128 {
        i128::from(self.scaled() >> 10)
    }
}

#[derive(Clone, Debug)]
pub struct Model {
    kernel: Kernel,
    pub tasks: Vec<Task>,
    pub curr: Option<usize>,
    next: Option<usize>,
    last: Option<usize>,
    skip: Option<usize>,
    /// The average as last kept, and the CFS floor.
    kept: i128,
    floor: i128,
    seq: u64,
    base: i128,
    latency: u64,
    gran: u64,
    wakeup_gran: u64,
    factor: u64,
}

const START: i128 = -(1 << 20);

impl Model {
    pub fn new(kernel: &Kernel, nr_cpus: usize) -> Self {
        let factor = kernel.tunables.scaling_factor(nr_cpus);
        Self {
            kernel: *kernel,
            tasks: Vec::new(),
            curr: None,
            next: None,
            last: None,
            skip: None,
            kept: START,
            floor: START,
            seq: 0,
            base: i128::from(RqConfig::new(kernel, nr_cpus).base_slice().0),
            latency: kernel.tunables.latency_ns * factor,
            gran: kernel.tunables.min_granularity_ns * factor,
            wakeup_gran: kernel.tunables.wakeup_granularity_ns * factor,
            factor,
        }
    }

    fn has(&self, feature: Feature) -> bool {
        self.kernel.has(feature)
    }

    fn eevdf(&self) -> bool {
        self.has(Feature::EEVDF)
    }

    fn fair(&self, delta: i128, t: usize) -> i128 {
        let (delta, task) = (delta as u64, &self.tasks[t]);
        let scaled = task.scaled();
        i128::from(if scaled == Weight::NICE_0.0 {
            delta
        } else if self.has(Feature::WEIGHT_UNSCALED) {
            weighted_by_inverse(delta, 1024, inverse(task))
        } else {
            weighted_by_division(delta, Weight::NICE_0.0, scaled)
        })
    }

    pub fn queued(&self) -> Vec<usize> {
        (0..self.tasks.len())
            .filter(|t| self.tasks[*t].on_rq)
            .collect()
    }

    fn nr(&self) -> usize {
        self.queued().len()
    }

    fn queued_curr(&self) -> Option<usize> {
        self.curr.filter(|t| self.tasks[*t].on_rq)
    }

    /// Waiting tasks in the order of the tree.
    pub fn waiting(&self) -> Vec<usize> {
        let mut waiting: Vec<_> = self
            .queued()
            .into_iter()
            .filter(|t| Some(*t) != self.curr)
            .collect();
        waiting.sort_by_key(|t| {
            let task = &self.tasks[*t];
            let key = if self.eevdf() { task.deadline } else { task.v };
            (key, task.seq)
        });
        waiting
    }

    fn sum(&self) -> (i128, i128) {
        let queued = self.queued();
        (
            queued
                .iter()
                .map(|t| self.tasks[*t].w() * self.tasks[*t].v)
                .sum(),
            queued.iter().map(|t| self.tasks[*t].w()).sum(),
        )
    }

    pub fn average(&self) -> i128 {
        let (sum, w) = self.sum();
        if w != 0 {
            sum.div_euclid(w)
        } else if self.has(Feature::ZERO_VRUNTIME) {
            self.kept
        } else {
            self.floor
        }
    }

    fn keep(&mut self) -> i128 {
        self.kept = self.average();
        self.kept
    }

    pub fn eligible(&self, t: usize) -> bool {
        let (sum, w) = self.sum();
        // Without rounding; the queue may not contain the task.
        w == 0 || sum >= self.tasks[t].v * w
    }

    fn clear_buddies(&mut self, t: usize) {
        for buddy in [&mut self.next, &mut self.last, &mut self.skip] {
            if *buddy == Some(t) {
                *buddy = None;
            }
        }
    }

    fn insert(&mut self, t: usize) {
        self.seq += 1;
        self.tasks[t].seq = self.seq;
    }

    fn advance_floor(&mut self) {
        let least = self.queued().into_iter().map(|t| self.tasks[t].v).min();
        // Only the leftmost and the running one are looked at, which are the least.
        if let Some(least) = least {
            self.floor = self.floor.max(least);
        }
    }

    fn is_protected(&self, t: usize) -> bool {
        let task = &self.tasks[t];
        if self.has(Feature::SLICE_VPROT) {
            task.v < task.vprot
        } else {
            task.mark == Some(task.deadline)
        }
    }

    fn unprotect(&mut self, t: usize) {
        if self.is_protected(t) {
            let v = self.tasks[t].v;
            self.tasks[t].vprot = v;
            self.tasks[t].mark = None;
        }
    }

    fn request(&self) -> Resched {
        if self.has(Feature::RESCHED_LAZY) {
            Resched::Lazy
        } else {
            Resched::Now
        }
    }

    pub fn update_curr(&mut self, now: u64) -> Resched {
        let Some(t) = self.curr else {
            return Resched::None;
        };
        if now <= self.tasks[t].exec_start {
            return Resched::None;
        }
        let delta = now - self.tasks[t].exec_start;
        self.tasks[t].exec_start = now;
        self.tasks[t].sum_exec += delta;
        self.tasks[t].v += self.fair(i128::from(delta), t);
        let mut resched = Resched::None;
        if self.eevdf() {
            let ended = self.renew(t);
            let unprotected = !self.is_protected(t);
            let ends = ended
                || if self.has(Feature::SLICE_VPROT) {
                    unprotected
                } else {
                    self.has(Feature::PREEMPT_SHORT) && unprotected && !self.eligible(t)
                };
            if ends && self.nr() != 1 {
                self.clear_buddies(t);
                resched = self.request();
            }
        }
        if !self.has(Feature::ZERO_VRUNTIME) {
            self.advance_floor();
        }
        resched
    }

    fn renew(&mut self, t: usize) -> bool {
        if self.tasks[t].v < self.tasks[t].deadline {
            return false;
        }
        if !self.tasks[t].custom {
            self.tasks[t].slice = self.base;
        }
        self.tasks[t].deadline = self.tasks[t].v + self.fair(self.tasks[t].slice, t);
        self.keep();
        true
    }

    fn clamped_lag(&mut self, t: usize) -> i128 {
        let lag = self.keep() - self.tasks[t].v;
        let tick = i128::from(self.kernel.tunables.tick_ns());
        let span = if self.has(Feature::LAG_LIMIT_MAX_SLICE) {
            let others = self.queued().into_iter().map(|o| self.tasks[o].slice).max();
            others.unwrap_or(0).max(self.tasks[t].slice) + tick
        } else {
            (2 * self.tasks[t].slice).max(tick)
        };
        let limit = self.fair(span, t);
        lag.clamp(-limit, limit)
    }

    fn store_lag(&mut self, t: usize) {
        let mut lag = self.clamped_lag(t);
        if self.has(Feature::DELAY_LAG_KEPT) && self.tasks[t].delayed {
            lag = lag.max(self.tasks[t].vlag);
            if self.has(Feature::DELAY_ZERO) {
                lag = lag.min(0);
            }
        }
        self.tasks[t].vlag = lag;
    }

    /// Places a task that is not counted, or the running one.
    fn place(&mut self, t: usize, new: bool, nr: usize) {
        let v = self.keep();
        if !self.tasks[t].custom {
            self.tasks[t].slice = self.base;
        }
        let mut lag = 0;
        if self.has(Feature::PLACE_LAG) && nr > 0 {
            let w = self.tasks[t].w();
            let load = self.sum().1;
            lag = self.tasks[t].vlag * (load + w) / load.max(1);
        }
        self.tasks[t].v = v - lag;
        if self.tasks[t].relative && self.has(Feature::PLACE_REL_DEADLINE) {
            self.tasks[t].deadline += self.tasks[t].v;
            self.tasks[t].relative = false;
            return;
        }
        let mut vslice = self.fair(self.tasks[t].slice, t);
        if new && self.has(Feature::PLACE_DEADLINE_INITIAL) {
            vslice /= 2;
        }
        self.tasks[t].deadline = self.tasks[t].v + vslice;
    }

    pub fn fork(&mut self, t: usize, now: u64) {
        if self.eevdf() {
            return;
        }
        let _ = self.update_curr(now);
        if let Some(curr) = self.curr {
            self.tasks[t].v = self.tasks[curr].v;
        }
        let mut v = self.floor;
        if self.has(Feature::START_DEBIT) {
            v += self.fair(i128::from(self.cfs_slice(t)), t);
        }
        self.tasks[t].v = self.tasks[t].v.max(v) - self.floor;
    }

    pub fn enqueue(
        &mut self,
        t: usize,
        wakeup: bool,
        new: bool,
        migrated: bool,
        now: u64,
    ) -> Resched {
        if self.tasks[t].on_rq {
            return self.requeue(t, now);
        }
        let resched = self.update_curr(now);
        if self.eevdf() {
            let nr = self.nr();
            self.place(t, new, nr);
        } else {
            if !wakeup || migrated {
                self.tasks[t].v += self.floor;
            }
            if wakeup {
                let mut credit = self.latency;
                if self.has(Feature::IDLE_MIN_GRANULARITY) && self.tasks[t].policy == Policy::Idle {
                    credit = self.gran;
                }
                if self.has(Feature::GENTLE_FAIR_SLEEPERS) {
                    credit /= 2;
                }
                self.tasks[t].v = self.tasks[t].v.max(self.floor - i128::from(credit));
            }
        }
        if migrated {
            self.tasks[t].exec_start = 0;
        }
        self.tasks[t].on_rq = true;
        self.insert(t);
        resched
    }

    fn requeue(&mut self, t: usize, now: u64) -> Resched {
        assert!(self.tasks[t].delayed);
        let mut resched = Resched::None;
        let again = if self.has(Feature::DELAY_LAG_KEPT) {
            resched = self.update_curr(now);
            self.store_lag(t);
            self.kept - self.tasks[t].vlag != self.tasks[t].v
        } else if self.has(Feature::DELAY_ZERO) {
            self.store_lag(t);
            if self.curr == Some(t) {
                self.tasks[t].mark = None;
            }
            let again = self.tasks[t].vlag > 0;
            self.tasks[t].vlag = self.tasks[t].vlag.min(0);
            again
        } else {
            false
        };
        if again {
            let nr = self.nr() - 1;
            if self.curr != Some(t) {
                // It does not count while it is placed; but its average was kept with it.
                self.tasks[t].on_rq = false;
            }
            self.place(t, false, nr);
            self.tasks[t].on_rq = true;
            self.insert(t);
        }
        self.tasks[t].delayed = false;
        resched
    }

    /// True when it left.
    pub fn dequeue(&mut self, t: usize, sleep: bool, special: bool, now: u64) -> (bool, Resched) {
        let resched = self.update_curr(now);
        self.clear_buddies(t);
        if self.eevdf() {
            let stays = self.has(Feature::DELAY_DEQUEUE)
                && sleep
                && !special
                && !self.tasks[t].delayed
                && !self.eligible(t);
            if stays {
                if self.has(Feature::DELAY_LAG_KEPT) {
                    self.store_lag(t);
                }
                self.tasks[t].delayed = true;
                return (false, resched);
            }
            self.store_lag(t);
            if self.has(Feature::PLACE_REL_DEADLINE) && !sleep {
                self.tasks[t].deadline -= self.tasks[t].v;
                self.tasks[t].relative = true;
            }
        }
        self.tasks[t].on_rq = false;
        self.tasks[t].mark = None;
        if self.tasks[t].delayed && sleep {
            self.tasks[t].delayed = false;
            if self.has(Feature::DELAY_ZERO) {
                self.tasks[t].vlag = self.tasks[t].vlag.min(0);
            }
        }
        if !self.eevdf() && !sleep {
            self.tasks[t].v -= self.floor;
        }
        if !self.has(Feature::ZERO_VRUNTIME) {
            self.advance_floor();
        }
        (true, resched)
    }

    pub fn migrate_wakeup(&mut self, t: usize) {
        if !self.eevdf() {
            self.tasks[t].v -= self.floor;
        }
    }

    fn pick_eevdf(&self, protect: bool) -> Option<usize> {
        let curr = self.queued_curr();
        if self.nr() == 1 && self.has(Feature::EEVDF_DEADLINE_TREE) {
            return self.queued().first().copied();
        }
        if protect
            && self.has(Feature::PICK_BUDDY_PROTECTED)
            && let Some(next) = self.next
            && self.eligible(next)
        {
            return Some(next);
        }
        let curr = curr.filter(|t| self.eligible(*t));
        if let Some(curr) = curr {
            let honours = self.has(Feature::SLICE_VPROT) || self.has(Feature::RUN_TO_PARITY);
            if protect && honours && self.is_protected(curr) {
                return Some(curr);
            }
        }
        let best = self.waiting().into_iter().find(|t| self.eligible(*t));
        match (curr, best) {
            (Some(c), Some(b)) => {
                let (dc, db) = (self.tasks[c].deadline, self.tasks[b].deadline);
                let curr_wins = dc < db || (dc == db && !self.has(Feature::EEVDF_DEADLINE_TREE));
                Some(if curr_wins { c } else { b })
            }
            (c, b) => c.or(b),
        }
    }

    fn period(&self, nr: u64) -> u64 {
        if nr > self.latency.div_ceil(self.gran) {
            nr * self.gran
        } else {
            self.latency
        }
    }

    fn cfs_slice(&self, t: usize) -> u64 {
        let extra = u64::from(!self.tasks[t].on_rq);
        let mut load: u64 = self.queued().iter().map(|o| self.tasks[*o].scaled()).sum();
        if extra == 1 {
            load += self.tasks[t].scaled();
        }
        let period = self.period(self.nr() as u64 + extra);
        let w = self.tasks[t].scaled() >> 10;
        let mut slice = weighted_by_inverse(period, w, Weight(load).sum_inverse());
        if self.has(Feature::BASE_SLICE) {
            let queued = self.queued();
            let all_idle =
                !queued.is_empty() && queued.iter().all(|o| self.tasks[*o].policy == Policy::Idle);
            let own = self.has(Feature::IDLE_MIN_GRANULARITY)
                && self.tasks[t].policy == Policy::Idle
                && !all_idle;
            let least = if own {
                self.kernel.tunables.idle_min_granularity_ns
            } else {
                self.gran
            };
            slice = slice.max(least);
        }
        slice
    }

    fn preempts(&self, curr: usize, se: usize) -> i32 {
        let lead = self.tasks[curr].v - self.tasks[se].v;
        if lead <= 0 {
            -1
        } else {
            i32::from(lead > self.fair(i128::from(self.wakeup_gran), se))
        }
    }

    fn pick_cfs(&self) -> Option<usize> {
        let curr = self.queued_curr();
        let tree = self.waiting();
        let v = |t: usize| self.tasks[t].v;
        let left = match (tree.first().copied(), curr) {
            (Some(f), Some(c)) => Some(if v(c) < v(f) { c } else { f }),
            (f, c) => f.or(c),
        }?;
        let mut pick = left;
        if self.skip == Some(left) {
            let next = if Some(left) == curr {
                tree.first().copied()
            } else {
                let at = tree.iter().position(|t| *t == left)?;
                tree.get(at + 1).copied()
            };
            let second = match (next, curr) {
                (Some(n), Some(c)) => Some(if v(c) < v(n) { c } else { n }),
                (n, c) => n.or(c),
            };
            if let Some(second) = second
                && self.preempts(second, left) < 1
            {
                pick = second;
            }
        }
        for buddy in [self.next, self.last] {
            if let Some(buddy) = buddy
                && self.preempts(buddy, left) < 1
            {
                return Some(buddy);
            }
        }
        Some(pick)
    }

    pub fn pick_next(&mut self, now: u64) -> Option<usize> {
        loop {
            if self.queued_curr().is_some() {
                let _ = self.update_curr(now);
            }
            let pick = if self.eevdf() {
                let buddy = if self.has(Feature::PICK_BUDDY) {
                    self.next
                        .filter(|_| !self.has(Feature::PICK_BUDDY_PROTECTED))
                } else {
                    self.next.filter(|_| self.has(Feature::NEXT_BUDDY))
                };
                buddy
                    .filter(|t| self.eligible(*t))
                    .or_else(|| self.pick_eevdf(true))?
            } else {
                self.pick_cfs()?
            };
            if !self.tasks[pick].delayed {
                return Some(pick);
            }
            let (left, _) = self.dequeue(pick, true, false, now);
            assert!(left);
        }
    }

    pub fn set_next(&mut self, t: usize, now: u64, first: bool) {
        self.clear_buddies(t);
        self.curr = Some(t);
        self.tasks[t].exec_start = now;
        self.tasks[t].prev_sum_exec = self.tasks[t].sum_exec;
        if self.has(Feature::SLICE_VPROT) {
            if first {
                let shortest = if self.has(Feature::RUN_TO_PARITY) {
                    let others = self.waiting().into_iter().map(|o| self.tasks[o].slice);
                    others.min().unwrap_or(i128::MAX)
                } else {
                    self.base / i128::from(self.factor)
                };
                let mut end = self.tasks[t].deadline;
                if shortest < self.tasks[t].slice {
                    end = end.min(self.tasks[t].v + self.fair(shortest, t));
                }
                self.tasks[t].vprot = end;
            }
        } else {
            self.tasks[t].mark = Some(self.tasks[t].deadline);
        }
    }

    pub fn put_prev(&mut self, t: usize, now: u64) {
        if self.tasks[t].on_rq {
            let _ = self.update_curr(now);
            self.insert(t);
        }
        self.curr = None;
    }

    pub fn tick(&mut self, now: u64) -> Resched {
        let resched = self.update_curr(now);
        let Some(t) = self.curr else {
            return resched;
        };
        if self.eevdf() || self.nr() <= 1 {
            return resched;
        }
        let ideal = self.cfs_slice(t);
        let ran = self.tasks[t].sum_exec - self.tasks[t].prev_sum_exec;
        if ran > ideal {
            self.clear_buddies(t);
            return Resched::Now;
        }
        if ran < self.gran {
            return resched;
        }
        match self.waiting().first() {
            Some(first) if self.tasks[t].v - self.tasks[*first].v > i128::from(ideal) => {
                Resched::Now
            }
            _ => resched,
        }
    }

    pub fn preempt(&mut self, wakee: usize, fork: bool, now: u64) -> Resched {
        let Some(curr) = self.curr else {
            return Resched::None;
        };
        if curr == wakee {
            return Resched::None;
        }
        let idle = |m: &Self, t: usize| m.tasks[t].policy == Policy::Idle;
        let normal = self.tasks[wakee].policy == Policy::Normal;
        let gives_way = idle(self, curr) && !idle(self, wakee);
        if !self.eevdf() {
            let nr_latency = self.latency.div_ceil(self.gran) as usize;
            let crowded = self.nr() >= nr_latency;
            if !gives_way {
                if !normal {
                    return Resched::None;
                }
                let _ = self.update_curr(now);
                if self.preempts(curr, wakee) < 1 {
                    return Resched::None;
                }
                self.next = Some(wakee).filter(|t| !idle(self, *t));
            }
            if self.has(Feature::LAST_BUDDY)
                && crowded
                && self.tasks[curr].on_rq
                && !idle(self, curr)
            {
                self.last = Some(curr);
            }
            return Resched::Now;
        }
        let request = self.request();
        if gives_way {
            if self.has(Feature::PREEMPT_IDLE_ENTITY) {
                self.unprotect(curr);
            }
            return request;
        }
        if !normal || idle(self, curr) != idle(self, wakee) {
            return Resched::None;
        }
        let charged = self.update_curr(now);
        let short =
            self.has(Feature::PREEMPT_SHORT) && self.tasks[wakee].slice < self.tasks[curr].slice;
        let wins = if self.has(Feature::PREEMPT_IN_ORDER) {
            if !short && (fork || self.tasks[wakee].delayed) {
                false
            } else {
                let pick = loop {
                    match self.pick_eevdf(!short) {
                        Some(t) if self.tasks[t].delayed => {
                            let _ = self.dequeue(t, true, false, now);
                        }
                        pick => break pick,
                    }
                };
                if pick == Some(wakee) {
                    if short {
                        self.unprotect(curr);
                        self.clear_buddies(curr);
                    }
                    true
                } else {
                    if self.has(Feature::RUN_TO_PARITY) {
                        let slices = self.queued().into_iter().map(|o| self.tasks[o].slice);
                        if let Some(shortest) = slices.min() {
                            let end = self.tasks[curr].v + self.fair(shortest, curr);
                            self.tasks[curr].vprot = self.tasks[curr].vprot.min(end);
                        }
                    }
                    false
                }
            }
        } else {
            let due =
                self.tasks[wakee].deadline < self.tasks[curr].deadline || !self.eligible(curr);
            if short && self.eligible(wakee) && due {
                self.unprotect(curr);
            }
            self.pick_eevdf(true) == Some(wakee)
        };
        if wins { charged.or(request) } else { charged }
    }

    pub fn yield_task(&mut self, now: u64) -> Resched {
        let Some(t) = self.curr else {
            return Resched::None;
        };
        if self.nr() == 1 {
            return Resched::None;
        }
        self.clear_buddies(t);
        if !self.eevdf() {
            let mut resched = Resched::None;
            if self.tasks[t].policy != Policy::Batch {
                resched = self.update_curr(now);
            }
            self.skip = Some(t);
            return resched;
        }
        let resched = self.update_curr(now);
        if self.has(Feature::YIELD_FORFEIT) {
            if self.eligible(t) {
                self.tasks[t].v = self.tasks[t].deadline;
                self.renew(t);
            }
        } else {
            self.tasks[t].deadline += self.fair(self.tasks[t].slice, t);
        }
        resched
    }

    /// Another weight for a task that is on no queue.
    pub fn reweight(&mut self, t: usize, nice: i8, policy: Policy) {
        let old = i128::from(self.tasks[t].scaled());
        self.tasks[t].nice = nice;
        self.tasks[t].policy = policy;
        let new = i128::from(self.tasks[t].scaled());
        if self.eevdf() {
            self.tasks[t].vlag = self.tasks[t].vlag * old / new;
            if self.tasks[t].relative && self.has(Feature::REWEIGHT_REL_DEADLINE) {
                self.tasks[t].deadline = self.tasks[t].deadline * old / new;
            }
        }
    }

    pub fn change(
        &mut self,
        t: usize,
        nice: i8,
        policy: Policy,
        slice: Option<i128>,
        now: u64,
    ) -> Resched {
        let queued = self.tasks[t].on_rq;
        let running = self.curr == Some(t);
        let mut resched = Resched::None;
        if queued {
            resched = resched.or(self.dequeue(t, false, false, now).1);
        }
        if running {
            self.put_prev(t, now);
        }
        self.reweight(t, nice, policy);
        if let Some(slice) = slice {
            self.tasks[t].custom = slice != 0;
            self.tasks[t].slice = if slice == 0 { self.base } else { slice };
        }
        if queued {
            resched = resched.or(self.enqueue(t, false, false, false, now));
        }
        if running {
            self.set_next(t, now, false);
        }
        resched
    }
}

fn inverse(task: &Task) -> u32 {
    match task.policy {
        Policy::Idle => fairlab_runqueue::IDLE_WMULT,
        _ => fairlab_runqueue::NICE_TO_WMULT[(task.nice + 20) as usize],
    }
}

impl Task {
    pub fn new(nice: i8, policy: Policy) -> Self {
        Self {
            nice,
            policy,
            v: 0,
            deadline: 0,
            vlag: 0,
            vprot: 0,
            slice: 0,
            custom: false,
            relative: false,
            on_rq: false,
            delayed: false,
            exec_start: 0,
            sum_exec: 0,
            prev_sum_exec: 0,
            seq: 0,
            mark: None,
        }
    }
}
