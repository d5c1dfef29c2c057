/* SPDX-License-Identifier: GPL-2.0-only */
/* Runqueues of the kernel's own classes, for programs that watch. */
#ifndef FAIRLAB_RQ_H
#define FAIRLAB_RQ_H

#include "state.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct removed {
	int nr;
};
struct cfs_rq {
	struct load_weight load;
	struct sched_avg avg;
	/* From 6.14 on. */
	unsigned int nr_queued, h_nr_queued, h_nr_runnable, h_nr_idle;
	/* The same before; the delayed ones from 6.12 on. */
	unsigned int nr_running, h_nr_running, h_nr_delayed, idle_h_nr_running;
	unsigned long h_load, last_h_load_update;
	struct removed removed;
};
struct rt_rq {
	unsigned int rt_nr_running;
};
struct dl_rq {
	unsigned int dl_nr_running;
};
struct cpuidle_state {
	unsigned int exit_latency;
};
struct rq {
	unsigned int nr_running, nr_numa_running, nr_preferred_running, nohz_tick_stopped, ttwu_pending;
	unsigned long cpu_capacity, misfit_task_load;
	struct task_struct *curr, *idle;
	struct cfs_rq cfs;
	struct rt_rq rt;
	struct dl_rq dl;
	u64 clock, clock_task, clock_pelt, idle_stamp, avg_idle;
	struct sched_avg avg_rt, avg_dl;
	struct cpuidle_state *idle_state;
	struct sched_domain *sd;
	struct root_domain *rd;
	int online;
};
#pragma clang attribute pop

extern const struct rq runqueues __ksym;

/* Tasks of the fair class, those whose dequeue is delayed included. */
static __inline u32 nr_queued(struct rq *rq)
{
	return has_field(rq->cfs.h_nr_queued) ? rq->cfs.h_nr_queued : rq->cfs.h_nr_running;
}

/* Those that are not. */
static __inline u32 nr_runnable(struct rq *rq)
{
	if (has_field(rq->cfs.h_nr_runnable))
		return rq->cfs.h_nr_runnable;
	if (has_field(rq->cfs.h_nr_delayed))
		return nr_queued(rq) - rq->cfs.h_nr_delayed;
	return nr_queued(rq);
}

#endif
