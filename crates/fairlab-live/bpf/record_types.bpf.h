/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of recordings, and the structures of the kernel that they are read from. */
#ifndef FAIRLAB_RECORD_TYPES_H
#define FAIRLAB_RECORD_TYPES_H

#include "rq.bpf.h"

/* Levels of task groups and of domains that are read; a machine has fewer. */
enum { LEVELS = 8, DOMAINS = 10 };

/* Mirrors crates/fairlab-live/src/record/parts.rs. */
enum { PART_BEGIN = 1, PART_TASK, PART_CPU, PART_DOMAIN, PART_GROUP, PART_CHOICE, PART_CPU_AFTER,
       PART_END };
enum { TASK_PLACED, TASK_CURRENT };

struct part_head {
	u64 id;
	u32 kind, cpu;
};

struct part_task {
	struct part_head head;
	u64 values[33];
	u64 allowed[WORDS];
	u64 chain[LEVELS][5];
	u64 depth;
	char comm[16];
};

struct part_cpu {
	struct part_head head;
	u64 values[38];
};

struct part_span {
	struct part_head head;
	u64 values[12];
	u64 span[WORDS], mask[WORDS];
	u64 idx;
	char name[16];
};

/* Begin and end. */
struct part_end {
	struct part_head head;
	u64 values[13];
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct util_est___enqueued {
	unsigned int enqueued, ewma;
};
struct sched_avg___enqueued {
	struct util_est___enqueued util_est;
};
struct atomic {
	int counter;
};
struct sched_domain_shared {
	struct atomic nr_busy_cpus;
	int has_idle_cores, nr_idle_scan;
	unsigned long util_avg, capacity;
};
struct sched_group_capacity {
	unsigned long capacity, min_capacity, max_capacity;
	int imbalance;
	unsigned long cpumask[1];
};
struct sched_group {
	struct sched_group *next;
	unsigned int group_weight, cores;
	struct sched_group_capacity *sgc;
	int asym_prefer_cpu, flags;
	unsigned long cpumask[1];
};
struct root_domain {
	/* A number or a truth, by release; its first byte tells. */
	unsigned char overutilized;
};
struct sched_domain {
	struct sched_domain *parent;
	struct sched_group *groups;
	unsigned long min_interval, max_interval;
	unsigned int busy_factor, imbalance_pct, cache_nice_tries, imb_numa_nr;
	int flags, level;
	char *name;
	struct sched_domain_shared *shared;
	unsigned int span_weight;
};
#pragma clang attribute pop

/* What the CPUs of this one's last-level cache share. */
static __inline struct sched_domain_shared *shared_of(struct rq *rq)
{
	struct sched_domain_shared *shared = NULL;
	struct sched_domain *sd = rq->sd;

#pragma unroll
	for (int i = 0; i < DOMAINS; i++) {
		if (sd) {
			struct sched_domain_shared *here = sd->shared;

			if (here)
				shared = here;
			sd = sd->parent;
		}
	}
	return shared;
}

extern const int sd_llc_id __ksym __weak, sd_llc_size __ksym __weak;

static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const bpf_get_func_ret)(void *ctx, u64 *value) = (void *)184;

#endif
