/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that come and go while we schedule.
 *
 * A known CPU that goes, and one that comes back, are a bit in `presence`, which every question to the policy
 * is put with: nothing is loaded anew, and no task leaves us. Sizes of caches stay those of the machine
 * that was read. Of a CPU that was off then, nothing is known; for it the scheduler starts anew.
 */
#ifndef FAIRLAB_HOTPLUG_H
#define FAIRLAB_HOTPLUG_H

#include "rq.bpf.h"

/*
 * Can tasks be queued that only this CPU takes? The kernel clears this with the lock held under which tasks
 * become queued, and then tells us that the CPU goes: what we find queued then is all.
 */
static __inline bool takes_tasks(u32 cpu)
{
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq && rq->online;
}

static __inline bool has(u64 *words, u32 cpu)
{
	return words[(cpu >> 6) & (WORDS - 1)] >> (cpu & 63) & 1;
}

/* One CPU comes or goes at a time. */
static __inline void set_online(u32 cpu, bool is_online)
{
	u64 *word = &presence.online[(cpu >> 6) & (WORDS - 1)], bit = 1ULL << (cpu & 63);

	*word = is_online ? *word | bit : *word & ~bit;
}

/* Gives the CPU all tasks of this queue, so that the kernel moves them away with what else is there. */
static __inline void hand_over(u64 queue, u32 cpu)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	bpf_iter_scx_dsq_new(&it, queue, 0);
	while ((p = bpf_iter_scx_dsq_next(&it)))
		scx_bpf_dsq_move(&it, p, SCX_DSQ_LOCAL_ON | cpu, 0);
	bpf_iter_scx_dsq_destroy(&it);
}

/* Does a CPU that is online take tasks from this queue before those of others? */
static __inline bool is_served(u32 queue)
{
	bool served = false;

	each_of(i, config.cpus)
	{
		if (facts_of(i)->queue == queue && has(presence.online, i))
			served = true;
	}
	return served;
}

SEC("struct_ops/fairlab_cpu_offline")
int fairlab_cpu_offline(u64 *ctx)
{
	u32 cpu = ctx[0], queue = facts_of(cpu)->queue;

	set_online(cpu, false);
	hand_over(PINNED | cpu, cpu);
	if (!is_served(queue))
		hand_over(queue, cpu);
	return 0;
}

static char came[] = "CPU %llu came, which was off when the machine was read";

SEC("struct_ops/fairlab_cpu_online")
int fairlab_cpu_online(u64 *ctx)
{
	unsigned long long cpu = (u32)ctx[0];

	if (has(presence.known, cpu))
		set_online(cpu, true);
	else
		scx_bpf_exit_bstr(SCX_ECODE_ACT_RESTART, came, &cpu, sizeof(cpu));
	return 0;
}

#endif
