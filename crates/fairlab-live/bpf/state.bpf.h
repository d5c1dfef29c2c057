/* SPDX-License-Identifier: GPL-2.0-only */
/* What the scheduler keeps: of tasks, of queues, of CPUs; its counts; and how to get at them. */
#ifndef FAIRLAB_STATE_H
#define FAIRLAB_STATE_H

#include "policy.h"

/* Read-only once loaded. Not const, so that no compiler takes its zeroes for final. */
struct config config SEC(".rodata.config");

/* CPUs that are online, and those that were when the machine was read, with which both begin. */
struct presence {
	u64 online[WORDS], known[WORDS];
};
struct presence presence SEC(".bss.presence");

enum { PINNED = 1 << 16, LATENCIES = 32, REASONS = 64, DISTANCES = 6, FOUND = 3,
       LENGTHS = 16 };
/* Ticks look for a better core only where slices are so long that their ends come too rarely. */
#define LONG_SLICE_NS 20000000ULL

struct task_state {
	struct task_clock clock;
	struct wakes wakes;
	/* What of its run time has been charged; when it was woken, 0 once accounted. */
	u64 charged, woken_at;
	/* Since when it has shared its core, as its slices ended; 0 if it has not. */
	u64 crowded_since;
	/* The queue whose virtual time its clock follows, and the CPU that counts it. */
	u32 queue, cpu;
	u32 recent_cpu;
	u32 is_counted;
	/* Where it ran last, or NONE. */
	u32 ran_on;
	/* The queue that counts it as waiting, and one more; 0 for none. */
	u32 waits_in;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LLCS);
	__type(key, u32);
	__type(value, struct queue_clock);
} queues SEC(".maps");

/*
 * How many wait in each queue; never fewer than there are. To ask a queue itself costs a look-up by its name, and most
 * are empty.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LLCS);
	__type(key, u32);
	__type(value, u64);
} waiting SEC(".maps");

struct cpu_state {
	/* Of the task that runs there. */
	u64 deadline;
	/* Of its runnable tasks. */
	u64 weights;
	u32 nr_running;
	/* Has something that goes before its task been queued, and not run yet? */
	u32 makes_way;
	/* May there be tasks in its own queue? Written under the lock of its runqueue. */
	u32 has_own;
	/* Has one from a queue been taken, and not run yet? */
	u32 gave_way;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPUS);
	__type(key, u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

/* A question and its answer; what the loader checks. */
struct decision {
	struct request request;
	struct answer answer;
};

struct scratch {
	struct decision decision;
	struct hits hits;
	/* CPUs that are idle, or off. */
	u64 quiet[WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} decisions SEC(".maps");

/* Mirrors crates/fairlab-live/src/stats.rs. */
struct stats {
	u64 reasons[REASONS];
	u64 latencies[LATENCIES];
	u64 placed[DISTANCES], moved[DISTANCES], found[FOUND];
	u64 lengths[LENGTHS];
	u64 asked, lost_races, unrecorded;
	u64 direct, queued, pinned, kthreads, stolen, preempted, kept, relieved, spread;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stats);
} stats SEC(".maps");

struct exit_report {
	s64 code;
	u32 kind;
	u32 reserved;
	char reason[128];
	char message[1024];
};
struct exit_report exit_report SEC(".bss.exit");

static __inline struct task_state *state_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, NULL, 0);
}

static __inline struct queue_clock *queue_of(u32 queue)
{
	return bpf_map_lookup_elem(&queues, &queue);
}

static __inline u64 *waiting_in(u32 queue)
{
	return bpf_map_lookup_elem(&waiting, &queue);
}

static __inline bool may_have_tasks(u32 queue)
{
	u64 *number = waiting_in(queue);

	return number && *number;
}

static __inline struct cpu_state *cpu_of(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __inline struct stats *my_stats(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&stats, &zero);
}

static __inline struct cpu_facts *facts_of(u32 cpu)
{
	return &config.facts[cpu & (CPUS - 1)];
}

#define COUNT(what)                                                                               \
	do {                                                                                      \
		struct stats *counts = my_stats();                                                \
		if (counts)                                                                       \
			counts->what++;                                                           \
	} while (0)

/* The largest power of two that is not greater, as its exponent. */
static __inline u32 log2_of(u64 number)
{
	u32 log = 0;

#pragma unroll
	for (int shift = 16; shift; shift >>= 1) {
		if (number >> shift) {
			number >>= shift;
			log += shift;
		}
	}
	return log;
}

static __inline bool is_pinned(struct task_struct *p)
{
	return p->nr_cpus_allowed == 1;
}

/* How often migration is disabled for the running task because a program like this one runs. */
u32 own_disables SEC(".bss.own");

/* May the task go to another CPU? Running on one forbids it only in certain sections. */
static __inline bool can_move(struct task_struct *p)
{
	u32 disabled = p->migration_disabled;

	if (is_pinned(p))
		return false;
	return !disabled || (disabled <= own_disables && p == bpf_get_current_task_btf());
}

#endif
