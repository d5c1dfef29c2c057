/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of the kernel's interface that the shim uses: fields that it reads (relocated when the
 * program is loaded, so that only names count), functions that it calls, helpers by number.
 */
#ifndef FAIRLAB_KERNEL_H
#define FAIRLAB_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef signed int s32;
typedef unsigned int u32;
typedef signed long long s64;
typedef unsigned long long u64;
typedef _Bool bool;
enum { false, true };

#define SEC(name) __attribute__((section(name), used))
#define __weak __attribute__((weak))
#define __ksym __attribute__((section(".ksyms")))
#define __inline inline __attribute__((always_inline))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define NULL ((void *)0)

enum {
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_STRUCT_OPS = 26,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_F_NO_PREALLOC = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1, BPF_RB_NO_WAKEUP = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct cpumask {
	unsigned long bits[1];
};
typedef struct cpumask cpumask_t;
struct sched_ext_entity {
	u32 flags;
	u32 weight;
	u64 slice;
	u64 dsq_vtime;
};
struct sched_avg {
	u64 last_update_time, load_sum, runnable_sum;
	u32 util_sum, period_contrib;
	unsigned long load_avg, runnable_avg, util_avg;
	unsigned int util_est;
};
struct load_weight {
	unsigned long weight;
};
struct sched_entity {
	struct load_weight load;
	unsigned char on_rq, sched_delayed;
	u64 sum_exec_runtime;
	int depth;
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq;
	struct sched_avg avg;
};
struct thread_info {
	u32 cpu;
};
struct mm_struct {
	/* The kernel's is never looked into. */
	unsigned long unused;
};
struct task_struct {
	struct thread_info thread_info;
	int pid, tgid;
	unsigned int flags;
	int on_cpu, on_rq, prio, static_prio;
	unsigned int policy;
	int nr_cpus_allowed;
	unsigned short migration_disabled;
	const cpumask_t *cpus_ptr;
	struct sched_ext_entity scx;
	struct sched_entity se;
	unsigned int wakee_flips;
	unsigned long wakee_flip_decay_ts;
	struct task_struct *last_wakee;
	int recent_used_cpu, wake_cpu, numa_preferred_nid, preferred_llc;
	struct mm_struct *mm;
	char comm[16];
};
enum scx_exit_kind { SCX_EXIT_NONE };
struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
};
struct pcpu_hot {
	int preempt_count;
};
struct scx_init_task_args {
	bool fork;
};
#pragma clang attribute pop

/* Members are matched by name; those that a kernel does not know must be zero. */
struct sched_ext_ops {
	/* First, where the loader finds them. */
	u64 flags, hotplug_seq;
	u32 timeout_ms;
	s32 (*select_cpu)(struct task_struct *, s32, u64);
	void (*enqueue)(struct task_struct *, u64);
	void (*dispatch)(s32, struct task_struct *);
	void (*running)(struct task_struct *);
	void (*tick)(struct task_struct *);
	void (*stopping)(struct task_struct *, bool);
	void (*set_weight)(struct task_struct *, u32);
	s32 (*init_task)(struct task_struct *, struct scx_init_task_args *);
	void (*enable)(struct task_struct *);
	void (*disable)(struct task_struct *);
	void (*cpu_online)(s32);
	void (*cpu_offline)(s32);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *);
	char name[128];
};

enum { PF_EXITING = 0x4, PF_KTHREAD = 0x200000, SCHED_IDLE = 5 };
enum { WF_TTWU = 8, WF_SYNC = 16 };
enum { SCX_TASK_QUEUED = 1, SCX_WAKE_TTWU = 8, SCX_WAKE_SYNC = 16, SCX_ENQ_WAKEUP = 1 };
#define SCX_ENQ_LAST (1ULL << 41)
enum { SCX_OPS_ENQ_LAST = 2, SCX_OPS_SWITCH_PARTIAL = 8 };
#define SCX_DSQ_LOCAL_ON ((1ULL << 63) | (1ULL << 62))
/* A program that ends the scheduler so asks for a new start. */
#define SCX_ECODE_ACT_RESTART (1LL << 48)
enum { SCX_KICK_IDLE = 1, SCX_KICK_PREEMPT = 2 };
#define SCX_DSQ_LOCAL ((1ULL << 63) | 2)

/* Weak: programs that only watch the kernel load without sched_ext. */
s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym __weak;
void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
			      u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym __weak;
struct task_struct *scx_bpf_dsq_peek(u64 dsq_id) __ksym __weak;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym __weak;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym __weak;
const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym __weak;
void scx_bpf_put_idle_cpumask(const struct cpumask *idle_mask) __ksym __weak;
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym __weak;
s32 scx_bpf_pick_idle_cpu(const cpumask_t *cpus_allowed, u64 flags) __ksym __weak;
void scx_bpf_exit_bstr(s64 code, char *fmt, unsigned long long *data, u32 size) __ksym __weak;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym __weak;
u64 scx_bpf_now(void) __ksym __weak;
bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) __ksym __weak;

/* Where x86 counts in which contexts a CPU is: on its own, or from 6.2 to 6.14 beside what else is used often. */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static u64 (*const bpf_jiffies64)(void) = (void *)118;
static long (*const bpf_ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *task, void *value,
					   u64 flags) = (void *)156;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;

static void *(*const bpf_per_cpu_ptr)(const void *ptr, u32 cpu) = (void *)153;
static void *(*const bpf_this_cpu_ptr)(const void *ptr) = (void *)154;

/* The time, ns: the runqueue's clock where the kernel gives it, since reading a clock costs more. */
static __inline u64 now(void)
{
	return scx_bpf_now ? scx_bpf_now() : bpf_ktime_get_ns();
}

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym __weak;
int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym __weak;
void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym __weak;

struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));

int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym __weak;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym __weak;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym __weak;
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
		      u64 enq_flags) __ksym __weak;

/* Does the running kernel know this field? */
#define has_field(field) __builtin_preserve_field_info(field, 2)

/* A loop whose turns the verifier does not count. */
#define each_of(i, count)                                                                          \
	struct bpf_iter_num it __attribute__((aligned(8), cleanup(bpf_iter_num_destroy))),         \
		*started __attribute__((unused)) = (bpf_iter_num_new(&it, 0, count), &it);         \
	for (int *next, i; (next = bpf_iter_num_next(&it)) && (i = *next, true);)

/* In which contexts this CPU is, as the kernel counts them; less than 0 where that cannot be told. */
static __inline s64 preempt_count(void)
{
	if (&__preempt_count)
		return *(const u32 *)bpf_this_cpu_ptr(&__preempt_count);
	if (&pcpu_hot)
		return (u32)((const struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	return -1;
}

/* Is this an interrupt, hard or soft, and not the task? No, where that cannot be told. */
static __inline bool in_interrupt(void)
{
	s64 count = preempt_count();

	return count >= 0 && count & 0x00ff0100;
}

#endif
