/* SPDX-License-Identifier: GPL-2.0-only */
/* The books: who is runnable where, and who has run for how long. */
#ifndef FAIRLAB_BOOKS_H
#define FAIRLAB_BOOKS_H

#include "state.bpf.h"

/* Counts the task where it is runnable, or no more. */
static __inline void count(struct task_state *task, bool add)
{
	struct queue_clock *queue = queue_of(task->queue);
	struct cpu_state *cpu = cpu_of(task->cpu);
	u64 weight = add ? task->clock.weight : -task->clock.weight;

	if (queue)
		__sync_fetch_and_add(&queue->weights, weight);
	if (cpu) {
		__sync_fetch_and_add(&cpu->weights, weight);
		__sync_fetch_and_add(&cpu->nr_running, add ? 1 : -1);
	}
	task->is_counted = add;
}

/* Counts the task as waiting in its queue. */
static __inline void wait_begins(struct task_state *task)
{
	u64 *number = waiting_in(task->queue);

	if (number)
		__sync_fetch_and_add(number, 1);
	task->waits_in = task->queue + 1;
}

/* It waits no more where it did: it runs, is queued anew, or leaves. */
static __inline void wait_ends(struct task_state *task)
{
	u64 *number;

	if (!task->waits_in)
		return;
	number = waiting_in(task->waits_in - 1);
	if (number)
		__sync_fetch_and_add(number, -1);
	task->waits_in = 0;
}

/* The task is runnable no more. */
static __inline void leave(struct task_state *task)
{
	struct queue_clock *queue = queue_of(task->queue);

	wait_ends(task);
	if (!task->is_counted)
		return;
	if (queue)
		fairlab_leave(&task->clock, queue->vtime, config.slice_ns);
	count(task, false);
	task->crowded_since = 0;
}

/* Books a task as runnable on this CPU, wherever it was booked before. */
static __inline void book(struct task_state *task, u32 cpu)
{
	u32 queue = facts_of(cpu)->queue;

	if (!task->is_counted) {
		struct queue_clock *clock = queue_of(queue);

		task->cpu = cpu;
		task->queue = queue;
		if (clock)
			fairlab_join(&task->clock, clock->vtime, config.slice_ns);
		count(task, true);
		if (config.counts_details)
			task->woken_at = now();
		return;
	}
	if (task->cpu == cpu)
		return;
	count(task, false);
	if (task->queue != queue) {
		struct queue_clock *from = queue_of(task->queue), *to = queue_of(queue);
		if (from && to)
			fairlab_transfer(&task->clock, from->vtime, to->vtime);
		task->queue = queue;
	}
	task->cpu = cpu;
	count(task, true);
}

/* Charges the task with what it has run since it was last charged, by the kernel's own account. */
static __inline void charge(struct task_struct *p, struct task_state *task)
{
	struct queue_clock *queue = queue_of(task->queue);
	u64 all = p->se.sum_exec_runtime;
	s64 ran = all - task->charged;

	task->charged = all;
	if (ran <= 0 || !queue)
		return;
	__sync_fetch_and_add(&queue->vtime,
			     fairlab_run(&task->clock, queue, ran, config.slice_ns));
}

#endif
