/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policy beside the kernel's own: asked at each placement of the fair class, and never obeyed.
 *
 * The question is put as the kernel's function begins, from what that function is about to read; the
 * answers are compared as it ends. Needs no sched_ext.
 */
#ifndef FAIRLAB_SHADOW_H
#define FAIRLAB_SHADOW_H

#include "record_types.bpf.h"

/* Mirrors crates/fairlab-live/src/shadow.rs. */
struct shadow_counts {
	u64 asked[REASONS], agreed[REASONS];
	/* Forks and execs, which the kernel places by averages of whole groups. */
	u64 forks, forks_agreed;
	u64 unrecorded;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct shadow_counts);
} shadow_counts SEC(".maps");

/* A question, our answer, and the kernel's; what the loader explains. */
struct difference {
	struct request request;
	struct answer answer;
	u32 theirs, thread;
	/* Idle CPUs when the kernel had decided. */
	u64 idle_after[WORDS];
	/* How many CPUs of the cache the kernel's search may look at, or NONE; does its hint say that a core idles? */
	u32 idle_scan, has_idle_cores;
};

struct asked {
	struct difference difference;
	struct hits hits;
	/* CPUs that are idle, or off. */
	u64 quiet[WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct asked);
} asked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} differences SEC(".maps");

static __inline struct asked *asked_here(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&asked, &zero);
}

/* Which CPUs idle, and if asked for, which are quiet: one that is off idles, too. */
static __inline void read_idle(u64 *idle, u64 *quiet)
{
#pragma unroll
	for (int i = 0; i < WORDS; i++) {
		idle[i] = 0;
		if (quiet)
			quiet[i] = 0;
	}
	each_of(cpu, config.cpus)
	{
		struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
		u64 bit = 1ULL << (cpu & 63);

		if (!rq || rq->curr != rq->idle || rq->nr_running || rq->ttwu_pending)
			continue;
		if (quiet)
			quiet[(cpu >> 6) & (WORDS - 1)] |= bit;
		if (rq->online)
			idle[(cpu >> 6) & (WORDS - 1)] |= bit;
	}
}

SEC("fentry/select_task_rq_fair")
int fairlab_ask(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0], *waker = bpf_get_current_task_btf();
	u32 prev = ctx[1], flags = ctx[2], this = bpf_get_smp_processor_id();
	struct asked *here = asked_here();
	struct difference *difference;
	const cpumask_t *allowed = p->cpus_ptr;
	struct wakes wakes = {};
	struct request *request;
	struct rq *rq;

	if (!here)
		return 0;
	difference = &here->difference;
	request = &difference->request;
	request->this_cpu = this;
	request->prev_cpu = prev;
	request->recent_cpu = p->recent_used_cpu;
	request->thread = p->pid;
	request->kind = DECAYED;
	request->waker_flips = 0;
	if (flags & WF_TTWU) {
		request->kind |= WAKEUP;
		wakes.halved_at = waker->wakee_flip_decay_ts;
		wakes.flips = waker->wakee_flips;
		/* Only whether it is the same thread counts. */
		wakes.last = waker->last_wakee == p ? p->pid : ~p->pid;
		fairlab_record_wakee(&config, &wakes, bpf_jiffies64(), p->pid);
		request->waker_flips = wakes.flips;
		if (waker->pid == p->pid)
			request->kind |= SELF;
		if ((flags & WF_SYNC) && !(waker->flags & PF_EXITING))
			request->kind |= SYNC;
		if ((waker->flags & PF_KTHREAD) && waker->nr_cpus_allowed == 1)
			request->kind |= BY_KTHREAD;
		if (in_interrupt())
			request->kind |= INTERRUPT;
	}
	request->wakee_flips = p->wakee_flips;
	request->wakee_weight = p->se.avg.load_avg;
	request->waker_weight = waker->se.avg.load_avg;
	request->nr_running = 0;
	request->this_load = 0;
	request->prev_load = 0;
	rq = bpf_per_cpu_ptr(&runqueues, this);
	if (rq) {
		request->nr_running = rq->nr_running - (nr_queued(rq) - nr_runnable(rq));
		request->this_load = rq->cfs.avg.load_avg;
	}
	rq = bpf_per_cpu_ptr(&runqueues, prev);
	if (rq)
		request->prev_load = rq->cfs.avg.load_avg;
	read_idle(request->idle, here->quiet);
	fairlab_idle_cores(&config, here->quiet, request);
#pragma unroll
	for (int i = 0; i < WORDS; i++)
		request->allowed[i] = i < config.words ? ((const u64 *)allowed)[i] : 0;

	fairlab_place(&config, request, &difference->answer, &here->hits);
	if (here->hits.target != NONE)
		fairlab_search(&config, request, &difference->answer, &here->hits);
	difference->thread = p->pid;
	return 0;
}

SEC("fexit/select_task_rq_fair")
int fairlab_compare(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 flags = ctx[2], theirs = ctx[3], zero = 0;
	struct shadow_counts *counts = bpf_map_lookup_elem(&shadow_counts, &zero);
	struct asked *here = asked_here();
	struct difference *difference;
	struct sched_domain_shared *shared;
	struct rq *rq;
	u32 reason;
	bool same;

	/* It may have begun before it was watched. */
	if (!here || !counts || here->difference.thread != p->pid)
		return 0;
	difference = &here->difference;
	difference->thread = 0;
	same = difference->answer.cpu == theirs;
	if (!(flags & WF_TTWU)) {
		counts->forks++;
		counts->forks_agreed += same;
		return 0;
	}
	reason = difference->answer.reason & (REASONS - 1);
	counts->asked[reason]++;
	if (same) {
		counts->agreed[reason]++;
		return 0;
	}
	difference->theirs = theirs;
	read_idle(difference->idle_after, NULL);
	difference->idle_scan = NONE;
	difference->has_idle_cores = 0;
	/* What a search around the kernel's answer, which it falls back to, went by. */
	rq = bpf_per_cpu_ptr(&runqueues, theirs);
	shared = rq ? shared_of(rq) : NULL;
	if (shared) {
		if (has_field(shared->nr_idle_scan))
			difference->idle_scan = shared->nr_idle_scan;
		difference->has_idle_cores = shared->has_idle_cores;
	}
	if (bpf_ringbuf_output(&differences, difference, sizeof(*difference), BPF_RB_NO_WAKEUP))
		counts->unrecorded++;
	return 0;
}

#endif
