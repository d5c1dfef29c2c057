//! Moving a queued task from one CPU to another: by the balancer, the stopper, a change of affinity.

use fairlab_runqueue::{DequeueFlags, EnqueueFlags, Resched, WakeFlags};
use fairlab_units::{CpuId, TaskId, Timestamp};

use crate::engine::Engine;
use crate::task::Phase;
use crate::world::World;

impl World<'_> {
    /// Takes a queued fair task that does not run off the queue of `src`; it belongs to `dst` now.
    #[doc(alias = "detach_task")]
    pub(crate) fn detach(&mut self, id: TaskId, src: CpuId, dst: CpuId, now: Timestamp) {
        let task = &mut self.tasks[id.index()];
        let queue = &mut self.cpus[src].queue;
        if std::mem::take(&mut task.is_parked) {
            queue.leave_limbo(&mut self.ents, task.entity);
            queue.detach(&mut self.ents, task, now);
            task.cpu = dst;
            return;
        }
        // The request of the source's last accounting is moot: its running task stays.
        let _ = queue.dequeue(&mut self.ents, task, DequeueFlags::MOVE, now);
        queue.detach(&mut self.ents, task, now);
        task.cpu = dst;
    }

    /// Queues a detached task on `dst`; says whether it should preempt what runs there.
    #[doc(alias = "attach_task")]
    pub(crate) fn attach(&mut self, id: TaskId, dst: CpuId, now: Timestamp) -> Resched {
        let task = &mut self.tasks[id.index()];
        let cpu = &mut self.cpus[dst];
        let flags = EnqueueFlags {
            migrated: true,
            ..EnqueueFlags::MOVED
        };
        let queue = &mut cpu.queue;
        let request = queue.enqueue(&mut self.ents, task, flags, now);
        if task.phase == Phase::Sleeping {
            // A sleeper whose dequeue was delayed stays delayed on its new CPU, and preempts nobody.
            return Resched::None;
        }
        if cpu.curr_higher.is_some() {
            return request;
        }
        if cpu.curr.is_none() {
            return Resched::Now;
        }
        let pending = if cpu.need_resched {
            Resched::Now
        } else {
            Resched::None
        };
        let flags = WakeFlags {
            fork: false,
            pending,
        };
        let entity = task.entity;
        request.or(queue.check_preempt(&mut self.ents, entity, flags, now))
    }
}

impl Engine<'_> {
    /// Moves a task that waits on `src` to `dst`, on behalf of what runs on `this`.
    #[doc(alias = "move_queued_task")]
    pub(crate) fn move_queued(&mut self, id: TaskId, src: CpuId, dst: CpuId, this: CpuId) {
        let now = self.now;
        let resched = match self.world.tasks[id.index()].higher {
            Some(class) => {
                let queued = self.world.cpus[src].higher.remove(id.0);
                debug_assert!(queued, "only waiting tasks are moved");
                self.world.tasks[id.index()].cpu = dst;
                let target = &mut self.world.cpus[dst];
                target.higher.push_back(id.0, class);
                let preempts = target.curr.is_none()
                    || target.curr_higher.is_none_or(|curr| class.preempts(curr));
                if preempts {
                    Resched::Now
                } else {
                    Resched::None
                }
            }
            None => {
                self.world.detach(id, src, dst, now);
                self.world.attach(id, dst, now)
            }
        };
        self.note_migration(this, id, src, dst);
        self.collect_left(src);
        self.collect_left(dst);
        self.request(dst, this, resched);
    }
}
