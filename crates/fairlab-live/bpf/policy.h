/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the policy in Rust is given and answers. Mirrors crates/fairlab-live-policy/src/config.rs,
 * request.rs, search.rs, clock.rs and entry.rs, where the fields are explained.
 */
#ifndef FAIRLAB_POLICY_H
#define FAIRLAB_POLICY_H

#include "kernel.h"

enum { WORDS = 16, CPUS = WORDS * 64, LLCS = 64, CLUSTERS = 256 };
#define NONE (~0U)

struct cpu_facts {
	u32 llc, cluster, share, affine, llc_size, imbalance_pct, capacity, queue,
		core, node;
	u16 threads[8];
};

struct siblings {
	u32 distance, reserved;
	u64 above[WORDS];
};

struct config {
	u64 slice_ns, hz;
	u32 words, cpus, queues, has_smt, has_clusters, record_every, lost_thread, counts_details;
	u64 llc_span[LLCS][WORDS];
	u64 cluster_span[CLUSTERS][WORDS];
	struct siblings siblings[8];
	struct cpu_facts facts[CPUS];
	/* The policy's switches; it knows how many words they are. */
	u64 features[8];
};

enum { WAKEUP = 1, SYNC = 2, BY_KTHREAD = 4, INTERRUPT = 8, SELF = 16, DECAYED = 32 };

/* What a task has where it is, as the policy is told. */
enum { WAITS, WAITS_BRIEFLY, SHARES };

/* How a task came to be queued. */
struct queued {
	bool ran, is_last, makes_way, gave_way;
	u32 waiting;
};

struct request {
	u32 this_cpu, prev_cpu, recent_cpu, kind, waker_flips, wakee_flips, nr_running, thread;
	u64 this_load, prev_load, waker_weight, wakee_weight;
	u64 idle[WORDS], idle_core[WORDS], allowed[WORDS];
};

struct answer {
	u32 cpu, reason, recent_cpu, is_idle;
};

/* What a search knows between its steps. */
struct hits {
	u64 cores, cpus;
	u32 target, reserved;
};

struct queue_clock {
	u64 vtime, weights;
};

struct task_clock {
	u64 vruntime, deadline;
	s64 lag;
	u64 weight;
};

struct wakes {
	u64 halved_at;
	u32 flips, last;
};

void fairlab_place(struct config *config, struct request *request, struct answer *answer,
		   struct hits *hits);
void fairlab_search(struct config *config, struct request *request, struct answer *answer,
		    struct hits *hits);
void fairlab_idle_cores(struct config *config, u64 *quiet, struct request *request);
u32 fairlab_place_of(struct queued *queued);
u32 fairlab_spare(struct config *config, struct request *request, u32 place);
bool fairlab_leaves_core(struct config *config, u64 *quiet, struct request *request, u64 *since,
			 u64 now);
void fairlab_record_wakee(struct config *config, struct wakes *wakes, u64 jiffies, u32 thread);
u64 fairlab_weight(u32 static_prio, bool is_idle_policy);
void fairlab_join(struct task_clock *task, u64 vtime, u64 slice_ns);
void fairlab_leave(struct task_clock *task, u64 vtime, u64 slice_ns);
u64 fairlab_run(struct task_clock *task, struct queue_clock *queue, u64 ns, u64 slice_ns);
void fairlab_transfer(struct task_clock *task, u64 from, u64 to);

#endif
