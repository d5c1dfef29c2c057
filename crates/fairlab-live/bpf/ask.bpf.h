/* SPDX-License-Identifier: GPL-2.0-only */
/* Questions to the policy beside that of a wakeup, and what is done about the answers. */
#ifndef FAIRLAB_ASK_H
#define FAIRLAB_ASK_H

#include "state.bpf.h"

/*
 * The kernel's masks are no longer than the machine needs, whatever their type says. The number of words
 * is known to the verifier, which leaves the others out.
 */
static __inline void copy_mask(u64 *to, const cpumask_t *from)
{
#pragma unroll
	for (int i = 0; i < WORDS; i++) {
		if (i < config.words)
			to[i] = ((const u64 *)from)[i];
	}
}

/* Which CPUs idle, and which of them the task may use. To the kernel's mask, one that is off idles, too. */
static __inline void copy_idle(struct scratch *mine, struct task_struct *p)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	struct request *request = &mine->decision.request;

#pragma unroll
	for (int i = 0; i < WORDS; i++) {
		if (i < config.words) {
			u64 word = ((const u64 *)idle)[i], here = presence.online[i];

			mine->quiet[i] = word | ~here;
			request->idle[i] = word & here;
		}
	}
	scx_bpf_put_idle_cpumask(idle);
	copy_mask(request->allowed, p->cpus_ptr);
}

/* How far two CPUs are apart, in the order of fairlab_topology::Distance. */
static __inline u32 distance(u32 from, u32 to)
{
	struct cpu_facts *here = facts_of(from), *there = facts_of(to);

	if (from == to)
		return 0;
	if (here->core == there->core && here->core != NONE)
		return 1;
	if (here->cluster == there->cluster && here->cluster != NONE)
		return 2;
	if (here->llc == there->llc && here->llc != NONE)
		return 3;
	return here->node == there->node ? 4 : 5;
}

/* What was idle at the chosen CPU: nothing, its thread, or its whole core. */
static __inline u32 found(struct request *request, struct answer *answer)
{
	u32 cpu = answer->cpu;

	if (!answer->is_idle)
		return 0;
	if (!config.has_smt)
		return 2;
	return 1 + ((request->idle_core[(cpu >> 6) & (WORDS - 1)] >> (cpu & 63)) & 1);
}

/* The question where a task that is on this CPU would be better off. */
static __inline struct scratch *ask_about(struct task_struct *p, u32 cpu)
{
	u32 zero = 0;
	struct scratch *mine = bpf_map_lookup_elem(&scratch, &zero);
	struct request *request;

	if (!mine)
		return NULL;
	request = &mine->decision.request;
	request->prev_cpu = cpu;
	copy_idle(mine, p);
	fairlab_idle_cores(&config, mine->quiet, request);
	return mine;
}

/* Sends a task that would wait or share a core on this CPU straight to a better one. */
static __inline bool send_away(struct task_struct *p, u32 cpu, u32 place, u64 flags)
{
	struct scratch *asked = ask_about(p, cpu);
	u32 spare;

	if (!asked)
		return false;
	spare = fairlab_spare(&config, &asked->decision.request, place);
	if (spare >= config.cpus || !scx_bpf_test_and_clear_cpu_idle(spare))
		return false;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | spare, config.slice_ns, flags);
	return true;
}

/* Has the running task shared its core for long, and is there another for it? */
static __inline bool wants_core(struct task_struct *p, struct task_state *task, u32 cpu)
{
	struct scratch *asked;

	if (!config.has_smt || !can_move(p))
		return false;
	asked = ask_about(p, cpu);
	return asked && fairlab_leaves_core(&config, asked->quiet, &asked->decision.request,
					    &task->crowded_since, now());
}

#endif
