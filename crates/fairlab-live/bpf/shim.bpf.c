/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the kernel and the policy: reads what the policy asks for, and does what it answers.
 * No rule about where a task goes or who is owed time is written here.
 *
 * Queues: one per last-level cache, ordered by virtual deadline, and one per CPU for tasks that may
 * run nowhere else. A CPU takes the earlier of the two heads, unless the task that it runs is due
 * earlier still, and steals from other caches before it idles.
 */
#include "ask.bpf.h"
#include "books.bpf.h"
#include "hotplug.bpf.h"
#include "life.bpf.h"
#include "record.bpf.h"
#include "shadow.bpf.h"

char _license[] SEC("license") = "GPL";

SEC("struct_ops/fairlab_select_cpu")
s32 fairlab_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0], *waker;
	s32 prev = ctx[1];
	u64 flags = ctx[2];
	u32 zero = 0, this = bpf_get_smp_processor_id();
	struct scratch *mine = bpf_map_lookup_elem(&scratch, &zero);
	struct task_state *task = state_of(p), *by = NULL;
	struct stats *counts = my_stats();
	struct cpu_state *cpu;
	struct request *request;
	struct answer *answer;

	if (!mine || !task || !counts)
		return prev;
	request = &mine->decision.request;
	answer = &mine->decision.answer;
	request->this_cpu = this;
	request->prev_cpu = prev;
	request->recent_cpu = task->recent_cpu;
	request->thread = p->pid;
	request->kind = 0;
	request->wakee_weight = task->clock.weight;
	request->waker_weight = 0;
	request->waker_flips = 0;
	request->nr_running = 0;
	request->this_load = 0;
	request->prev_load = 0;
	waker = bpf_get_current_task_btf();
	by = state_of(waker);
	if (flags & SCX_WAKE_TTWU) {
		request->kind |= WAKEUP;
		if (by) {
			fairlab_record_wakee(&config, &by->wakes, bpf_jiffies64(), p->pid);
			request->waker_flips = by->wakes.flips;
			request->waker_weight = by->clock.weight;
		}
		if (waker->pid == p->pid)
			request->kind |= SELF;
		if ((flags & SCX_WAKE_SYNC) && !(waker->flags & PF_EXITING))
			request->kind |= SYNC;
		if ((waker->flags & PF_KTHREAD) && is_pinned(waker))
			request->kind |= BY_KTHREAD;
		if (in_interrupt())
			request->kind |= INTERRUPT;
	}
	request->wakee_flips = task->wakes.flips;
	cpu = cpu_of(this);
	if (cpu) {
		request->nr_running = cpu->nr_running;
		request->this_load = cpu->weights;
	}
	cpu = cpu_of(prev);
	if (cpu)
		request->prev_load = cpu->weights;
	copy_idle(mine, p);

	fairlab_place(&config, request, answer, &mine->hits);
	if (mine->hits.target != NONE) {
		if (config.has_smt)
			fairlab_idle_cores(&config, mine->quiet, request);
		fairlab_search(&config, request, answer, &mine->hits);
	}

	counts->asked++;
	counts->reasons[answer->reason & (REASONS - 1)]++;
	if (config.counts_details) {
		counts->placed[distance(prev, answer->cpu)]++;
		/* Idle cores are read for a search only. */
		if (config.has_smt && mine->hits.target == NONE)
			fairlab_idle_cores(&config, mine->quiet, request);
		counts->found[found(request, answer)]++;
	}
	if (answer->recent_cpu != NONE)
		task->recent_cpu = answer->recent_cpu;
	if (config.record_every && counts->asked % config.record_every == 0 &&
	    bpf_ringbuf_output(&decisions, &mine->decision, sizeof(mine->decision),
			       BPF_RB_NO_WAKEUP))
		counts->unrecorded++;
	if (config.lost_thread && p->pid == config.lost_thread)
		return answer->cpu;
	if (answer->is_idle) {
		/* Another wakeup may have taken it. Then it queues, and whoever is free takes it. */
		if (scx_bpf_test_and_clear_cpu_idle(answer->cpu)) {
			counts->direct++;
			book(task, answer->cpu);
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, config.slice_ns, 0);
		} else {
			counts->lost_races++;
		}
	}
	return answer->cpu;
}

/* Makes the CPU look at what was queued, if its task is due later. */
static __inline void make_way(struct task_state *task, struct cpu_state *state, u32 cpu,
			      bool wakes)
{
	if ((s64)(task->clock.deadline - state->deadline) < 0) {
		COUNT(preempted);
		state->makes_way |= wakes;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

SEC("struct_ops/fairlab_enqueue")
int fairlab_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 flags = ctx[1], queue;
	struct task_state *task = state_of(p);
	u32 cpu = scx_bpf_task_cpu(p);
	struct queued how = { .is_last = flags & SCX_ENQ_LAST };
	bool free = can_move(p), stays = !free;
	struct stats *counts = my_stats();
	struct cpu_state *state = cpu_of(cpu);
	u32 place;

	if (config.lost_thread && p->pid == config.lost_thread)
		return 0;
	if (!task || !counts || !state) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, config.slice_ns, flags);
		return 0;
	}
	wait_ends(task);
	book(task, cpu);
	if (free) {
		how.ran = p == bpf_get_current_task_btf();
		how.makes_way = state->makes_way;
		how.gave_way = state->gave_way;
		/* Who did not run need not know, and a count costs a look-up. */
		if (how.ran)
			how.waiting = scx_bpf_dsq_nr_queued(task->queue);
		place = fairlab_place_of(&how);
		/* Put off for a short while, it goes on here. */
		stays = place == WAITS_BRIEFLY;
		/* The last of its CPU goes on there, unless it shares the core while a whole one idles. */
		if (send_away(p, cpu, place, how.is_last ? 0 : flags)) {
			if (how.is_last)
				counts->spread++;
			else
				counts->relieved++;
			task->crowded_since = 0;
			return 0;
		}
	} else if (scx_bpf_test_and_clear_cpu_idle(cpu)) {
		counts->direct++;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, config.slice_ns, flags);
		return 0;
	}
	if (how.is_last) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, config.slice_ns, 0);
		return 0;
	}
	if (!takes_tasks(cpu)) {
		/* It is about to go, and the kernel moves away whatever it would run next. */
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, config.slice_ns, flags);
		return 0;
	}
	if (!free && (p->flags & PF_KTHREAD)) {
		/* The kernel's own work on this CPU waits for nobody but what runs. */
		counts->kthreads++;
		state->makes_way = true;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, config.slice_ns, flags);
		return 0;
	}
	if (stays) {
		counts->pinned++;
		queue = PINNED | cpu;
		state->has_own = true;
	} else {
		counts->queued++;
		queue = task->queue;
		/* Before it is there, so that nobody who looks finds too few. */
		wait_begins(task);
	}
	if (config.counts_details)
		counts->lengths[log2_of(scx_bpf_dsq_nr_queued(queue) + 1) & (LENGTHS - 1)]++;
	scx_bpf_dsq_insert_vtime(p, queue, config.slice_ns, task->clock.deadline, flags);
	if (free && scx_bpf_test_and_clear_cpu_idle(cpu))
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	else
		make_way(task, state, cpu, flags & SCX_ENQ_WAKEUP);
	return 0;
}

SEC("struct_ops/fairlab_dispatch")
int fairlab_dispatch(u64 *ctx)
{
	s32 cpu = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *head;
	struct task_state *task = NULL;
	struct cpu_state *state = cpu_of(cpu);
	u32 queue = facts_of(cpu)->queue;
	u64 first = queue, second = PINNED | cpu, due = 0;
	bool has_first = false, has_second = false;

	if (!state)
		return 0;
	/* A look at a queue costs less than a try to take from it. */
	head = may_have_tasks(queue) ? scx_bpf_dsq_peek(first) : NULL;
	if (head) {
		due = head->scx.dsq_vtime;
		has_first = true;
	}
	if (state->has_own) {
		head = scx_bpf_dsq_peek(second);
		if (!head) {
			state->has_own = false;
		} else if (!has_first || (s64)(head->scx.dsq_vtime - due) < 0) {
			due = head->scx.dsq_vtime;
			has_second = has_first;
			has_first = true;
			first = second;
			second = queue;
		} else {
			has_second = true;
		}
	}
	if (prev && (prev->scx.flags & SCX_TASK_QUEUED))
		task = state_of(prev);
	if (has_first && task) {
		charge(prev, task);
		if ((s64)(task->clock.deadline - due) <= 0) {
			state->deadline = task->clock.deadline;
			COUNT(kept);
			scx_bpf_task_set_slice(prev, config.slice_ns);
			return 0;
		}
	}
	if ((has_first && scx_bpf_dsq_move_to_local(first)) ||
	    (has_second && scx_bpf_dsq_move_to_local(second))) {
		state->gave_way = true;
		return 0;
	}
	for (u32 i = 1; i < LLCS; i++) {
		if (i >= config.queues)
			break;
		if (++queue >= config.queues)
			queue = 0;
		if (may_have_tasks(queue) && scx_bpf_dsq_move_to_local(queue)) {
			state->gave_way = true;
			COUNT(stolen);
			return 0;
		}
	}
	/* Without a new slice it is queued as the last of its CPU, and sent to the other core. */
	if (prev && task && !wants_core(prev, task, cpu))
		scx_bpf_task_set_slice(prev, config.slice_ns);
	return 0;
}

SEC("struct_ops/fairlab_tick")
int fairlab_tick(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *task;

	if (config.slice_ns < LONG_SLICE_NS)
		return 0;
	task = state_of(p);
	if (task && wants_core(p, task, scx_bpf_task_cpu(p)))
		scx_bpf_task_set_slice(p, 0);
	return 0;
}

SEC("struct_ops/fairlab_running")
int fairlab_running(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *task = state_of(p);
	u32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *state = cpu_of(cpu);
	struct stats *counts = config.counts_details ? my_stats() : NULL;

	if (!task)
		return 0;
	wait_ends(task);
	book(task, cpu);
	if (counts) {
		u64 time = now();

		/* Clocks of two CPUs may differ by a little. */
		if (task->woken_at && time > task->woken_at)
			counts->latencies[log2_of(time - task->woken_at) & (LATENCIES - 1)]++;
		if (task->ran_on != cpu && task->ran_on != NONE)
			counts->moved[distance(task->ran_on, cpu)]++;
		task->woken_at = 0;
		task->ran_on = cpu;
	}
	if (state) {
		state->deadline = task->clock.deadline;
		state->makes_way = false;
		state->gave_way = false;
	}
	return 0;
}

/*
 * What runs and does not go on being runnable has left. That is nearly every way to leave, so that there
 * is no program for becoming runnable or not: each call of a program costs as much as a short one does.
 */
SEC("struct_ops/fairlab_stopping")
int fairlab_stopping(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *task = state_of(p);
	bool is_runnable = ctx[1];

	if (!task)
		return 0;
	charge(p, task);
	if (!is_runnable)
		leave(task);
	return 0;
}

struct sched_ext_ops fairlab SEC(".struct_ops.link") = {
	.select_cpu = (void *)fairlab_select_cpu,
	.enqueue = (void *)fairlab_enqueue,
	.dispatch = (void *)fairlab_dispatch,
	.tick = (void *)fairlab_tick,
	.running = (void *)fairlab_running,
	.stopping = (void *)fairlab_stopping,
	.set_weight = (void *)fairlab_set_weight,
	.init_task = (void *)fairlab_init_task,
	.enable = (void *)fairlab_enable,
	.disable = (void *)fairlab_disable,
	.cpu_online = (void *)fairlab_cpu_online,
	.cpu_offline = (void *)fairlab_cpu_offline,
	.init = (void *)fairlab_init,
	.exit = (void *)fairlab_exit,
	.flags = SCX_OPS_ENQ_LAST,
	.timeout_ms = 5000,
	.name = "fairlab",
};

/* The kernel's own choices under sched_ext. Never used to schedule, only to compare costs with. */
struct sched_ext_ops plain SEC(".struct_ops.link") = {
	.timeout_ms = 5000,
	.name = "plain",
};
