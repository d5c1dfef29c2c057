/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the kernel and the policy: reads what the policy asks for, and does what it answers.
 * No rule about where a task goes or who is owed time is written here.
 *
 * Queues: one per last-level cache, ordered by virtual deadline, and one per CPU for tasks that may
 * run nowhere else. A CPU takes the earlier of the two heads, unless the task that it runs is due
 * earlier still, and steals from other caches before it idles.
 */
#include "policy.h"

char _license[] SEC("license") = "GPL";

/* Read-only once loaded. Not const, so that no compiler takes its zeroes for final. */
struct config config SEC(".rodata.config");

enum { PINNED = 1 << 16, LATENCIES = 32, REASONS = 64 };

struct task_state {
	struct task_clock clock;
	struct wakes wakes;
	/* When it began to run, and when it was woken; 0 once accounted. */
	u64 started_at, woken_at;
	/* The queue whose virtual time its clock follows, and the CPU that counts it. */
	u32 queue, cpu;
	u32 recent_cpu;
	u32 is_counted;
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

struct cpu_state {
	/* Of the task that runs there. */
	u64 deadline;
	/* Of its runnable tasks. */
	u64 weights;
	u32 nr_running;
	u32 reserved;
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

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct decision);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} decisions SEC(".maps");

/* Mirrors crates/fairlab-live/src/stats.rs. */
struct stats {
	u64 reasons[REASONS];
	u64 latencies[LATENCIES];
	u64 asked, lost_races, unrecorded;
	u64 same_cpu, same_core, same_cluster, same_llc, other_llc;
	u64 direct, queued, pinned, kthreads, stolen, preempted, kept, spread;
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

static __inline bool is_pinned(struct task_struct *p)
{
	return p->nr_cpus_allowed == 1;
}

/* Counts the task where it is runnable, or no more. */
static __inline void count(struct task_state *task, bool add)
{
	struct queue_clock *queue = queue_of(task->queue);
	struct cpu_state *cpu = cpu_of(task->cpu);
	u64 weight = add ? task->clock.weight : -task->clock.weight;

	if (queue)
		__sync_fetch_and_add(&queue->weights, weight);
	if (cpu) {
		__sync_fetch_and_add(&cpu->weights, weight);
		__sync_fetch_and_add(&cpu->nr_running, add ? 1 : -1);
	}
	task->is_counted = add;
}

/* Moves a runnable task to the books of another CPU. */
static __inline void move(struct task_state *task, u32 cpu)
{
	u32 queue = facts_of(cpu)->queue;

	if (!task->is_counted || task->cpu == cpu)
		return;
	count(task, false);
	if (task->queue != queue) {
		struct queue_clock *from = queue_of(task->queue), *to = queue_of(queue);
		if (from && to)
			fairlab_transfer(&task->clock, from->vtime, to->vtime);
		task->queue = queue;
	}
	task->cpu = cpu;
	count(task, true);
}

/* Charges the task with what it has run since it was last charged. */
static __inline void charge(struct task_state *task, u64 now)
{
	struct queue_clock *queue = queue_of(task->queue);
	s64 ran = now - task->started_at;

	if (ran <= 0 || !task->started_at)
		return;
	task->started_at = now;
	fairlab_run(&task->clock, ran, config.slice_ns);
	if (queue)
		__sync_fetch_and_add(&queue->vtime, fairlab_advance(queue, ran));
}

static __inline void copy_masks(struct request *request, struct task_struct *p)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	const struct cpumask *cores = scx_bpf_get_idle_smtmask();
	const cpumask_t *allowed = p->cpus_ptr;

	/*
	 * The kernel's masks are no longer than the machine needs, whatever their type says. The number
	 * of words is known to the verifier, which leaves the others out.
	 */
#pragma unroll
	for (int i = 0; i < WORDS; i++) {
		if (i < config.words) {
			request->idle[i] = ((const u64 *)idle)[i];
			request->idle_core[i] = ((const u64 *)cores)[i];
			request->allowed[i] = ((const u64 *)allowed)[i];
		}
	}
	scx_bpf_put_idle_cpumask(idle);
	scx_bpf_put_idle_cpumask(cores);
}

static __inline void count_distance(struct stats *counts, u32 from, u32 to)
{
	struct cpu_facts *here = facts_of(from), *there = facts_of(to);

	if (from == to)
		counts->same_cpu++;
	else if (here->core == there->core && here->core != NONE)
		counts->same_core++;
	else if (here->cluster == there->cluster && here->cluster != NONE)
		counts->same_cluster++;
	else if (here->llc == there->llc && here->llc != NONE)
		counts->same_llc++;
	else
		counts->other_llc++;
}

SEC("struct_ops/fairlab_select_cpu")
s32 fairlab_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0], *waker;
	s32 prev = ctx[1];
	u64 flags = ctx[2];
	u32 zero = 0, this = bpf_get_smp_processor_id();
	struct decision *decision = bpf_map_lookup_elem(&scratch, &zero);
	struct task_state *task = state_of(p), *by = NULL;
	struct stats *counts = my_stats();
	struct cpu_state *cpu;
	struct request *request;
	struct answer *answer;

	if (!decision || !task || !counts)
		return prev;
	request = &decision->request;
	answer = &decision->answer;
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
	copy_masks(request, p);

	fairlab_place(&config, request, answer);

	counts->asked++;
	counts->reasons[answer->reason & (REASONS - 1)]++;
	count_distance(counts, prev, answer->cpu);
	if (answer->recent_cpu != NONE)
		task->recent_cpu = answer->recent_cpu;
	if (config.record_every && counts->asked % config.record_every == 0 &&
	    bpf_ringbuf_output(&decisions, decision, sizeof(*decision), BPF_RB_NO_WAKEUP))
		counts->unrecorded++;
	if (config.lost_thread && p->pid == config.lost_thread)
		return answer->cpu;
	if (answer->is_idle) {
		/* Another wakeup may have taken it. Then it queues, and whoever is free takes it. */
		if (scx_bpf_test_and_clear_cpu_idle(answer->cpu)) {
			counts->direct++;
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, config.slice_ns, 0);
		} else {
			counts->lost_races++;
		}
	}
	return answer->cpu;
}

/* Makes a CPU look at what was queued: an idle one, else the one at hand if its task is due later. */
static __inline void call_cpu(struct task_struct *p, struct task_state *task, u32 cpu, bool pinned)
{
	struct cpu_state *state;
	s32 idle = cpu;

	if (pinned) {
		if (!scx_bpf_test_and_clear_cpu_idle(cpu))
			idle = -1;
	} else {
		idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	}
	if (idle >= 0) {
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
		return;
	}
	state = cpu_of(cpu);
	if (state && (s64)(task->clock.deadline - state->deadline) < 0) {
		COUNT(preempted);
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

SEC("struct_ops/fairlab_enqueue")
int fairlab_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 flags = ctx[1];
	struct task_state *task = state_of(p);
	u32 cpu = scx_bpf_task_cpu(p);
	bool pinned = is_pinned(p);

	if (config.lost_thread && p->pid == config.lost_thread)
		return 0;
	if (!task) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, config.slice_ns, flags);
		return 0;
	}
	move(task, cpu);
	if (flags & SCX_ENQ_LAST) {
		/* It would go on here, beside a busy thread, while whole cores idle: it goes there. */
		s32 idle = pinned ? -1 : scx_bpf_pick_idle_cpu(p->cpus_ptr, SCX_PICK_IDLE_CORE);

		if (idle >= 0) {
			COUNT(spread);
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | idle, config.slice_ns, 0);
			scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
		} else {
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, config.slice_ns, 0);
		}
		return 0;
	}
	if (pinned && (p->flags & PF_KTHREAD)) {
		/* The kernel's own work on this CPU waits for nobody but what runs. */
		COUNT(kthreads);
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, config.slice_ns, flags);
		return 0;
	}
	if (pinned)
		COUNT(pinned);
	else
		COUNT(queued);
	scx_bpf_dsq_insert_vtime(p, pinned ? PINNED | cpu : task->queue, config.slice_ns,
				 task->clock.deadline, flags);
	call_cpu(p, task, cpu, pinned);
	return 0;
}

/* Is a whole core idle while another thread of this one is busy? */
static __inline bool is_crowded(u32 cpu)
{
	const struct cpumask *idle = scx_bpf_get_idle_smtmask();
	struct cpu_facts *facts = facts_of(cpu);
	bool crowded = false;

	if (!bpf_cpumask_empty(idle)) {
		scx_bpf_put_idle_cpumask(idle);
		idle = scx_bpf_get_idle_cpumask();
		for (int i = 0; i < 8; i++) {
			u32 thread = facts->threads[i];

			if (thread < config.cpus && thread != cpu)
				crowded |= !bpf_cpumask_test_cpu(thread, idle);
		}
	}
	scx_bpf_put_idle_cpumask(idle);
	return crowded;
}

SEC("struct_ops/fairlab_dispatch")
int fairlab_dispatch(u64 *ctx)
{
	s32 cpu = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *head;
	u32 queue = facts_of(cpu)->queue;
	u64 first = queue, second = PINNED | cpu, due = 0;
	bool has_head = false;

	head = scx_bpf_dsq_peek(first);
	if (head) {
		due = head->scx.dsq_vtime;
		has_head = true;
	}
	head = scx_bpf_dsq_peek(second);
	if (head && (!has_head || (s64)(head->scx.dsq_vtime - due) < 0)) {
		due = head->scx.dsq_vtime;
		has_head = true;
		first = second;
		second = queue;
	}
	if (has_head && prev && (prev->scx.flags & SCX_TASK_QUEUED)) {
		struct task_state *task = state_of(prev);

		if (task) {
			charge(task, bpf_ktime_get_ns());
			if ((s64)(task->clock.deadline - due) <= 0) {
				struct cpu_state *state = cpu_of(cpu);

				if (state)
					state->deadline = task->clock.deadline;
				COUNT(kept);
				scx_bpf_task_set_slice(prev, config.slice_ns);
				return 0;
			}
		}
	}
	if (scx_bpf_dsq_move_to_local(first) || scx_bpf_dsq_move_to_local(second))
		return 0;
	for (u32 i = 1; i < LLCS; i++) {
		if (i >= config.queues)
			break;
		if (++queue >= config.queues)
			queue = 0;
		if (scx_bpf_dsq_move_to_local(queue)) {
			COUNT(stolen);
			return 0;
		}
	}
	if (prev && (prev->scx.flags & SCX_TASK_QUEUED) && !(config.has_smt && is_crowded(cpu)))
		scx_bpf_task_set_slice(prev, config.slice_ns);
	return 0;
}

SEC("struct_ops/fairlab_runnable")
int fairlab_runnable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *task = state_of(p);
	struct queue_clock *queue;

	if (!task || task->is_counted)
		return 0;
	task->cpu = scx_bpf_task_cpu(p);
	task->queue = facts_of(task->cpu)->queue;
	queue = queue_of(task->queue);
	if (queue)
		fairlab_join(&task->clock, queue->vtime, config.slice_ns);
	count(task, true);
	task->woken_at = bpf_ktime_get_ns();
	return 0;
}

SEC("struct_ops/fairlab_running")
int fairlab_running(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *task = state_of(p);
	u32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *state = cpu_of(cpu);

	if (!task)
		return 0;
	move(task, cpu);
	task->started_at = bpf_ktime_get_ns();
	if (task->woken_at) {
		struct stats *counts = my_stats();
		u64 waited = task->started_at - task->woken_at;
		u32 bucket = 0;

#pragma unroll
		for (int shift = 16; shift; shift >>= 1) {
			if (waited >> shift) {
				waited >>= shift;
				bucket += shift;
			}
		}
		if (counts)
			counts->latencies[bucket & (LATENCIES - 1)]++;
		task->woken_at = 0;
	}
	if (state)
		state->deadline = task->clock.deadline;
	return 0;
}

SEC("struct_ops/fairlab_stopping")
int fairlab_stopping(u64 *ctx)
{
	struct task_state *task = state_of((void *)ctx[0]);

	if (task) {
		charge(task, bpf_ktime_get_ns());
		task->started_at = 0;
	}
	return 0;
}

SEC("struct_ops/fairlab_quiescent")
int fairlab_quiescent(u64 *ctx)
{
	struct task_state *task = state_of((void *)ctx[0]);
	struct queue_clock *queue;

	if (!task || !task->is_counted)
		return 0;
	queue = queue_of(task->queue);
	if (queue)
		fairlab_leave(&task->clock, queue->vtime, config.slice_ns);
	count(task, false);
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
	weigh(p, task);
	return 0;
}

SEC("struct_ops/fairlab_enable")
int fairlab_enable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *task = state_of(p);

	if (task)
		weigh(p, task);
	return 0;
}

SEC("struct_ops.s/fairlab_init")
s32 fairlab_init(u64 *ctx)
{
	s32 error;

	for (u32 i = 0; i < LLCS; i++) {
		if (i >= config.queues)
			break;
		error = scx_bpf_create_dsq(i, -1);
		if (error)
			return error;
	}
	for (u32 i = 0; i < CPUS; i++) {
		if (i >= config.cpus)
			break;
		error = scx_bpf_create_dsq(PINNED | i, -1);
		if (error)
			return error;
	}
	return 0;
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

struct sched_ext_ops fairlab SEC(".struct_ops.link") = {
	.select_cpu = (void *)fairlab_select_cpu,
	.enqueue = (void *)fairlab_enqueue,
	.dispatch = (void *)fairlab_dispatch,
	.runnable = (void *)fairlab_runnable,
	.running = (void *)fairlab_running,
	.stopping = (void *)fairlab_stopping,
	.quiescent = (void *)fairlab_quiescent,
	.set_weight = (void *)fairlab_set_weight,
	.init_task = (void *)fairlab_init_task,
	.enable = (void *)fairlab_enable,
	.init = (void *)fairlab_init,
	.exit = (void *)fairlab_exit,
	.flags = SCX_OPS_ENQ_LAST,
	.timeout_ms = 5000,
	.name = "fairlab",
};
