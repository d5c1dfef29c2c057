/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks that come, change and leave; the scheduler that begins and ends. */
#ifndef FAIRLAB_LIFE_H
#define FAIRLAB_LIFE_H

#include "books.bpf.h"

/* One that waits can leave, too: for another class. */
SEC("struct_ops/fairlab_disable")
int fairlab_disable(u64 *ctx)
{
	struct task_state *task = state_of((void *)ctx[0]);

	if (task)
		leave(task);
	return 0;
}

/* Gives the task the weight of its nice value and policy. */
static __inline void weigh(struct task_struct *p, struct task_state *task)
{
	bool counted = task->is_counted;

	if (counted)
		count(task, false);
	task->clock.weight = fairlab_weight(p->static_prio, p->policy == SCHED_IDLE);
	if (counted)
		count(task, true);
}

SEC("struct_ops/fairlab_set_weight")
int fairlab_set_weight(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *task = state_of(p);

	if (task)
		weigh(p, task);
	return 0;
}

SEC("struct_ops.s/fairlab_init_task")
s32 fairlab_init_task(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *task =
		bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!task)
		return -12; /* ENOMEM */
	task->recent_cpu = NONE;
	task->ran_on = NONE;
	weigh(p, task);
	return 0;
}

SEC("struct_ops/fairlab_enable")
int fairlab_enable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *task = state_of(p);

	/* No section that forbids migration is left open here, so that what is counted is ours. */
	own_disables = bpf_get_current_task_btf()->migration_disabled;
	if (task) {
		weigh(p, task);
		task->charged = p->se.sum_exec_runtime;
	}
	return 0;
}

static __inline s32 create_queues(u64 first, u32 count)
{
	s32 error = 0;

	each_of(i, count)
	{
		error = scx_bpf_create_dsq(first | i, -1);
		if (error)
			break;
	}
	return error;
}

SEC("struct_ops.s/fairlab_init")
s32 fairlab_init(u64 *ctx)
{
	s32 error = create_queues(0, config.queues);

	return error ? error : create_queues(PINNED, config.cpus);
}

SEC("struct_ops/fairlab_exit")
int fairlab_exit(u64 *ctx)
{
	struct scx_exit_info *info = (void *)ctx[0];

	bpf_probe_read_kernel_str(exit_report.reason, sizeof(exit_report.reason), info->reason);
	bpf_probe_read_kernel_str(exit_report.message, sizeof(exit_report.message), info->msg);
	exit_report.code = info->exit_code;
	/* Last: whoever sees a kind sees the rest. */
	__sync_fetch_and_add(&exit_report.kind, info->kind);
	return 0;
}

#endif
