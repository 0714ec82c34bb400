// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clocks that counters follow: for each CPU the nanoseconds it spent in user mode, in the
 * kernel and idle. System calls, interrupts, softirqs and switches of task are told by tracepoints.
 * A task that an interrupt or a fault took off the CPU goes on in user mode; a fault itself counts
 * for what it interrupted.
 *
 * Under -icount the kernel's clock is a count of instructions, and all this repeats.
 */
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task_stack.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "pmu.h"

struct cpu_clock {
	u64 spent[MODES];
	u64 last;
	enum mode mode, interrupted;
	unsigned int depth;	/* of interrupts and softirqs */
	unsigned int held;
};

static DEFINE_PER_CPU(struct cpu_clock, clocks);

/* Interrupts are off. */
static void advance(struct cpu_clock *clock)
{
	u64 now = local_clock();

	/* A CPU's first reading only sets the start. */
	if (clock->last && now > clock->last)
		clock->spent[clock->mode] += now - clock->last;
	clock->last = now;
}

/* What a task does from here on. It is never in an interrupt then. */
static void enter_mode(enum mode mode)
{
	struct cpu_clock *clock;
	unsigned long flags;

	local_irq_save(flags);
	clock = this_cpu_ptr(&clocks);
	advance(clock);
	clock->mode = mode;
	clock->depth = 0;
	local_irq_restore(flags);
}

static void on_sys_enter(void *data, struct pt_regs *regs, long id)
{
	enter_mode(MODE_KERNEL);
}

static void on_sys_exit(void *data, struct pt_regs *regs, long ret)
{
	enter_mode(MODE_USER);
}

static void enter_interrupt(void)
{
	struct cpu_clock *clock;
	unsigned long flags;

	local_irq_save(flags);
	clock = this_cpu_ptr(&clocks);
	advance(clock);
	if (!clock->depth++) {
		clock->interrupted = clock->mode;
		clock->mode = MODE_KERNEL;
	}
	local_irq_restore(flags);
}

/* The hooks go in one by one: an exit may be seen whose entry was not. */
static void exit_interrupt(void)
{
	struct cpu_clock *clock;
	unsigned long flags;

	local_irq_save(flags);
	clock = this_cpu_ptr(&clocks);
	advance(clock);
	if (clock->depth && !--clock->depth)
		clock->mode = clock->interrupted;
	local_irq_restore(flags);
}

static void on_vector_entry(void *data, int vector)
{
	enter_interrupt();
}

static void on_vector_exit(void *data, int vector)
{
	exit_interrupt();
}

static void on_softirq_entry(void *data, unsigned int number)
{
	enter_interrupt();
}

static void on_softirq_exit(void *data, unsigned int number)
{
	exit_interrupt();
}

/* The number of the system call is -1 where an interrupt or a fault led into the kernel. */
static enum mode mode_of(struct task_struct *task)
{
	if (is_idle_task(task))
		return MODE_IDLE;
	if (!task->mm || task->flags & PF_KTHREAD)
		return MODE_KERNEL;
	return (long)task_pt_regs(task)->orig_ax == -1 ? MODE_USER : MODE_KERNEL;
}

/* Newer kernels pass a fourth argument, which is left alone. */
static void on_sched_switch(void *data, bool preempt, struct task_struct *prev,
			    struct task_struct *next)
{
	enter_mode(mode_of(next));
}

static struct hook {
	const char *name;
	void *function;
	struct tracepoint *found;
} hooks[] = {
	{ "local_timer_exit", on_vector_exit },
	{ "local_timer_entry", on_vector_entry },
	{ "reschedule_exit", on_vector_exit },
	{ "reschedule_entry", on_vector_entry },
	{ "call_function_exit", on_vector_exit },
	{ "call_function_entry", on_vector_entry },
	{ "call_function_single_exit", on_vector_exit },
	{ "call_function_single_entry", on_vector_entry },
	{ "irq_work_exit", on_vector_exit },
	{ "irq_work_entry", on_vector_entry },
	{ "softirq_exit", on_softirq_exit },
	{ "softirq_entry", on_softirq_entry },
	{ "sys_enter", on_sys_enter },
	{ "sys_exit", on_sys_exit },
	{ "sched_switch", on_sched_switch },
};

static void find_hook(struct tracepoint *tracepoint, void *unused)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!strcmp(tracepoint->name, hooks[i].name))
			hooks[i].found = tracepoint;
}

int clock_start(void)
{
	int error = 0;

	for_each_kernel_tracepoint(find_hook, NULL);
	for (unsigned int i = 0; i < ARRAY_SIZE(hooks) && !error; i++)
		error = hooks[i].found ? tracepoint_probe_register(hooks[i].found,
								   hooks[i].function, NULL) :
					 -ENOENT;
	return error;
}

/* The sum of this CPU's clocks for some modes, in nanoseconds. Interrupts are off. */
u64 clock_read(unsigned int modes)
{
	struct cpu_clock *clock = this_cpu_ptr(&clocks);
	u64 sum = 0;

	if (!clock->held)
		advance(clock);
	for (unsigned int mode = 0; mode < MODES; mode++)
		if (modes & MODE_BIT(mode))
			sum += clock->spent[mode];
	return sum;
}

/*
 * While it is held, all counters of this CPU see one moment: members of a group start, stop and are
 * read at once, as those of hardware are. No time is lost.
 */
void clock_hold(void)
{
	struct cpu_clock *clock = this_cpu_ptr(&clocks);

	if (!clock->held++)
		advance(clock);
}

void clock_release(void)
{
	this_cpu_ptr(&clocks)->held--;
}
