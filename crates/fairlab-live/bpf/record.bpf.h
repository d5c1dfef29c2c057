/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that a placement of the kernel's own class depends on, and its answer; raw, in parts that the
 * loader puts together. Reads only. Needs no sched_ext.
 *
 * One decision is: its head and tasks, a row for each CPU, the groups of this CPU's domains where they
 * count (fork, exec), groups chosen on the slow path, the rows once more, the end. All have its number.
 */
#ifndef FAIRLAB_RECORD_H
#define FAIRLAB_RECORD_H

#include "record_types.bpf.h"

/* From one program that watches a call to the next, on one CPU; interrupts are off in between. */
struct open_decision {
	u64 id;
	/* Did a part find no room? */
	u64 is_broken;
	struct part_task task;
	struct part_cpu cpu;
	struct part_span span;
	struct part_end end;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct open_decision);
} open_decisions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} parts SEC(".maps");

/* Decisions so far, complete or not; at `wanted` recording stops. */
struct record_counts {
	u64 begun, wanted, broken;
};
struct record_counts record_counts SEC(".bss.record");

static __inline struct open_decision *open_decision(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&open_decisions, &zero);
}

#define TELL(open, part)                                                                           \
	((open)->is_broken |=                                                                      \
	 bpf_ringbuf_output(&parts, part, sizeof(*(part)), BPF_RB_NO_WAKEUP) != 0)

/* A field that this kernel may lack. */
#define OR_ELSE(from, field, otherwise) (has_field((from)->field) ? (u64)(from)->field : (otherwise))

/* The address of a field, for those that are arrays or have another size by release. */
#define ADDRESS(at, field) ((const void *)(at) + __builtin_preserve_field_info((at)->field, 0))

/* Of a small number whose size differs by release. */
static __inline u64 first_byte(const void *at)
{
	u8 byte = 0;

	bpf_probe_read_kernel(&byte, sizeof(byte), at);
	return byte;
}

static __inline void read_averages(u64 *to, struct task_struct *p)
{
	struct sched_avg___enqueued *old = (void *)&p->se.avg;

	to[0] = p->se.avg.last_update_time;
	to[1] = p->se.avg.load_sum;
	to[2] = p->se.avg.runnable_sum;
	to[3] = p->se.avg.util_sum;
	to[4] = p->se.avg.period_contrib;
	to[5] = p->se.avg.load_avg;
	to[6] = p->se.avg.runnable_avg;
	to[7] = p->se.avg.util_avg;
	if (has_field(old->util_est.enqueued)) {
		to[8] = old->util_est.enqueued;
		to[9] = old->util_est.ewma;
	} else {
		to[8] = p->se.avg.util_est;
		to[9] = 0;
	}
}

static __inline void tell_task(struct open_decision *open, struct task_struct *p, u32 which)
{
	struct part_task *part = &open->task;
	u64 *v = part->values;
	struct sched_entity *se = &p->se;
	u32 depth = 0;

	part->head.id = open->id;
	part->head.kind = PART_TASK;
	part->head.cpu = which;
	*v++ = p->pid;
	*v++ = p->tgid;
	*v++ = p->flags;
	*v++ = p->policy;
	*v++ = p->prio;
	*v++ = p->static_prio;
	*v++ = p->nr_cpus_allowed;
	*v++ = p->recent_used_cpu;
	*v++ = p->wakee_flips;
	*v++ = p->wakee_flip_decay_ts;
	*v++ = p->last_wakee ? p->last_wakee->pid : 0;
	*v++ = OR_ELSE(p, numa_preferred_nid, -1);
	*v++ = p->wake_cpu;
	*v++ = OR_ELSE(p, preferred_llc, -1);
	*v++ = first_byte(ADDRESS(p, on_rq));
	*v++ = first_byte(ADDRESS(p, on_cpu));
	*v++ = OR_ELSE(p, se.sched_delayed, 0);
	*v++ = p->se.on_rq;
	*v++ = OR_ELSE(p, se.depth, 0);
	*v++ = p->thread_info.cpu;
	*v++ = p->migration_disabled;
	*v++ = p->se.load.weight;
	*v++ = p->mm == NULL;
	read_averages(v, p);
	bpf_probe_read_kernel(part->comm, sizeof(part->comm), p->comm);
#pragma unroll
	for (int i = 0; i < WORDS; i++)
		part->allowed[i] = i < config.words ? ((const u64 *)p->cpus_ptr)[i] : 0;
#pragma unroll
	for (int i = 0; i < LEVELS; i++) {
		if (se) {
			u64 *level = part->chain[i];

			level[0] = se->load.weight;
			level[1] = se->avg.load_avg;
			level[2] = se->cfs_rq->avg.load_avg;
			level[3] = se->cfs_rq->h_load;
			level[4] = se->cfs_rq->last_h_load_update;
			depth = i + 1;
			se = se->parent;
		}
	}
	part->depth = depth;
	TELL(open, part);
}

static __inline s64 fact_of(const int *fact)
{
	return fact ? *fact : -1;
}

/* What the kernel keeps of a CPU's last-level cache. */
#define LLC_FACT(name, cpu) fact_of(&name ? bpf_per_cpu_ptr(&name, cpu) : NULL)

/* The row of a CPU, and what its last-level cache shares. */
static __inline void tell_cpu(struct open_decision *open, u32 cpu, u32 kind)
{
	struct part_cpu *part = &open->cpu;
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	struct sched_domain_shared *shared;
	struct sched_avg___enqueued *old;
	struct task_struct *curr;
	u64 *v = part->values, flags = 0;

	if (!rq)
		return;
	part->head.id = open->id;
	part->head.kind = kind;
	part->head.cpu = cpu;
	curr = rq->curr;
	if (curr == rq->idle)
		flags |= 1;
	if (OR_ELSE(rq, nohz_tick_stopped, 0) & 1)
		flags |= 2;
	if (rq->online)
		flags |= 4;
	if (curr->policy == SCHED_IDLE)
		flags |= 8;
	if (curr->flags & PF_KTHREAD)
		flags |= 16;
	/* Priorities of the fair class; the idle task has the default one, too. */
	if (curr->prio >= 100 && curr != rq->idle)
		flags |= 32;
	*v++ = flags;
	*v++ = rq->nr_running;
	*v++ = rq->ttwu_pending;
	*v++ = has_field(rq->cfs.nr_queued) ? rq->cfs.nr_queued : rq->cfs.nr_running;
	*v++ = nr_queued(rq);
	*v++ = nr_runnable(rq);
	*v++ = has_field(rq->cfs.h_nr_idle) ? rq->cfs.h_nr_idle : rq->cfs.idle_h_nr_running;
	*v++ = OR_ELSE(rq, nr_numa_running, 0);
	*v++ = OR_ELSE(rq, nr_preferred_running, 0);
	*v++ = curr->pid;
	*v++ = rq->cpu_capacity;
	*v++ = rq->cfs.avg.load_avg;
	*v++ = rq->cfs.avg.runnable_avg;
	*v++ = rq->cfs.avg.util_avg;
	old = (void *)&rq->cfs.avg;
	*v++ = has_field(old->util_est.enqueued) ? old->util_est.enqueued : rq->cfs.avg.util_est;
	*v++ = rq->cfs.avg.last_update_time;
	*v++ = rq->cfs.load.weight;
	*v++ = rq->cfs.h_load;
	*v++ = rq->cfs.last_h_load_update;
	*v++ = rq->clock;
	*v++ = rq->clock_task;
	*v++ = rq->clock_pelt;
	*v++ = rq->idle_stamp;
	*v++ = rq->avg_idle;
	*v++ = rq->misfit_task_load;
	*v++ = rq->rt.rt_nr_running;
	*v++ = rq->dl.dl_nr_running;
	*v++ = rq->avg_rt.util_avg;
	*v++ = rq->avg_dl.util_avg;
	*v++ = OR_ELSE(rq, idle_state, 0) ? rq->idle_state->exit_latency : (u64)-1;
	*v++ = rq->cfs.removed.nr;
	*v++ = LLC_FACT(sd_llc_id, cpu);
	shared = shared_of(rq);
	*v++ = shared != NULL;
	if (shared) {
		*v++ = shared->has_idle_cores;
		*v++ = OR_ELSE(shared, nr_idle_scan, -1);
		*v++ = shared->nr_busy_cpus.counter;
		*v++ = OR_ELSE(shared, util_avg, 0);
		*v++ = OR_ELSE(shared, capacity, 0);
	}
	TELL(open, part);
}

static __inline void tell_cpus(struct open_decision *open, u32 kind)
{
	each_of(cpu, config.cpus)
		tell_cpu(open, cpu, kind);
}

static __inline void read_span(u64 *to, const void *mask)
{
	bpf_probe_read_kernel(to, config.words * 8 & 0xff, mask);
}

static __inline void tell_group(struct open_decision *open, struct sched_group *group, u32 idx)
{
	struct part_span *part = &open->span;
	u64 *v = part->values;

	part->head.kind = PART_GROUP;
	part->idx = idx;
	read_span(part->span, ADDRESS(group, cpumask));
	read_span(part->mask, ADDRESS(group->sgc, cpumask));
	*v++ = group->group_weight;
	*v++ = OR_ELSE(group, cores, 0);
	*v++ = OR_ELSE(group, flags, 0);
	*v++ = group->asym_prefer_cpu;
	*v++ = group->sgc->capacity;
	*v++ = group->sgc->min_capacity;
	*v++ = group->sgc->max_capacity;
	*v++ = group->sgc->imbalance;
	TELL(open, part);
}

/*
 * The domains of a CPU from the lowest up, each with its groups in the order of the ring. Groups cover
 * their domain, so that its span need not be read.
 */
static __inline void tell_domains(struct open_decision *open, u32 cpu)
{
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	struct part_span *part = &open->span;
	struct sched_domain *sd;

	if (!rq)
		return;
	part->head.id = open->id;
	part->head.cpu = cpu;
	sd = rq->sd;
	each_of(idx, DOMAINS)
	{
		struct sched_group *group, *first;
		u64 *v = part->values;

		if (!sd)
			break;
		part->head.kind = PART_DOMAIN;
		part->idx = idx;
		bpf_probe_read_kernel_str(part->name, sizeof(part->name), sd->name);
		*v++ = sd->flags;
		*v++ = sd->level;
		*v++ = sd->span_weight;
		*v++ = sd->imbalance_pct;
		*v++ = sd->busy_factor;
		*v++ = sd->cache_nice_tries;
		*v++ = OR_ELSE(sd, imb_numa_nr, 0);
		*v++ = sd->min_interval;
		*v++ = sd->max_interval;
		*v++ = sd->shared != NULL;
		*v++ = LLC_FACT(sd_llc_id, cpu);
		*v++ = LLC_FACT(sd_llc_size, cpu);
		TELL(open, part);
		group = first = sd->groups;
		each_of(turn, CPUS)
		{
			(void)turn;
			if (!group)
				break;
			tell_group(open, group, idx);
			group = group->next;
			if (group == first)
				break;
		}
		sd = sd->parent;
	}
}

/* All domains of the machine. Run once, by the loader. */
SEC("syscall")
int fairlab_domains(void *ctx)
{
	struct open_decision *open = open_decision();

	if (!open)
		return 1;
	open->id = 0;
	open->is_broken = 0;
	each_of(cpu, config.cpus)
		tell_domains(open, cpu);
	return open->is_broken;
}

SEC("fentry/select_task_rq_fair")
int fairlab_begins(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0], *cur = bpf_get_current_task_btf();
	struct open_decision *open = open_decision();
	s64 preempt = preempt_count();
	u32 flags = ctx[2];
	struct part_end *part;
	struct rq *rq;
	u64 number;

	if (!open)
		return 0;
	open->id = 0;
	if (record_counts.begun >= record_counts.wanted)
		return 0;
	number = __sync_fetch_and_add(&record_counts.begun, 1);
	open->id = number + 1;
	open->is_broken = 0;
	part = &open->end;
	part->head.id = open->id;
	part->head.kind = PART_BEGIN;
	part->head.cpu = bpf_get_smp_processor_id();
	part->values[0] = bpf_ktime_get_ns();
	part->values[1] = bpf_jiffies64();
	part->values[2] = (u32)ctx[1];
	part->values[3] = flags;
	part->values[4] = preempt < 0 ? 0 : preempt;
	part->values[5] = preempt >= 0;
	part->values[6] = cur->last_wakee == p;
	part->values[7] = p->last_wakee == cur;
	part->values[8] = 0;
	rq = bpf_per_cpu_ptr(&runqueues, part->head.cpu);
	if (rq)
		part->values[8] = first_byte(ADDRESS(rq->rd, overutilized));
	TELL(open, part);
	tell_task(open, p, TASK_PLACED);
	tell_task(open, cur, TASK_CURRENT);
	tell_cpus(open, PART_CPU);
	if (!(flags & WF_TTWU))
		tell_domains(open, part->head.cpu);
	return 0;
}

/* A group was chosen on the slow path. */
static __inline int tell_choice(u64 *ctx)
{
	struct open_decision *open = open_decision();
	struct sched_domain *sd = (void *)ctx[0];
	struct part_span *part;
	struct sched_group *group = NULL;

	if (!open || !open->id)
		return 0;
	part = &open->span;
	part->head.id = open->id;
	part->head.kind = PART_CHOICE;
	part->head.cpu = ctx[2];
	part->idx = sd->level;
	bpf_get_func_ret(ctx, (u64 *)&group);
	part->values[0] = group != NULL;
	if (group)
		read_span(part->span, ADDRESS(group, cpumask));
	TELL(open, part);
	return 0;
}

/* The function that chooses a group, by its two names. */
SEC("fexit/sched_balance_find_dst_group")
int fairlab_group(u64 *ctx)
{
	return tell_choice(ctx);
}

SEC("fexit/find_idlest_group")
int fairlab_group_old(u64 *ctx)
{
	return tell_choice(ctx);
}

SEC("fexit/select_task_rq_fair")
int fairlab_ends(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0], *cur = bpf_get_current_task_btf();
	struct open_decision *open = open_decision();
	struct part_end *part;

	if (!open || !open->id)
		return 0;
	tell_cpus(open, PART_CPU_AFTER);
	part = &open->end;
	part->head.id = open->id;
	part->head.kind = PART_END;
	part->values[0] = (u32)ctx[3];
	part->values[1] = cur->wakee_flips;
	part->values[2] = p->recent_used_cpu;
	read_averages(&part->values[3], p);
	if (TELL(open, part))
		__sync_fetch_and_add(&record_counts.broken, 1);
	open->id = 0;
	return 0;
}

#endif
