// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts of counters: a timer for each counter, set to when its period will have passed if the
 * CPU stays in a mode that counts. What comes late is made up for: several periods that passed
 * before one tick are as many overflows, and what is left over belongs to the next.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <asm/irq_regs.h>

#include "compat.h"
#include "pmu.h"

#define BURST 64	/* overflows in one tick; what is more waits for the next one */
#define TRIES 100	/* ticks that an overflow waits for a mode its event is for */
#define BRANCHES 4
#define FLAGS_EXACT (1ul << 3)	/* what x86 tells the core that the address is exact by */

/* Nanoseconds until the period has passed, at the earliest. */
u64 overflow_delay(struct perf_event *event)
{
	const struct meaning *meaning = &counter_of(event)->meaning;
	s64 left = local64_read(&event->hw.period_left);
	u64 delay;

	if (left <= 0)
		return NSEC_MIN;
	if (!meaning->num || !meaning->modes)
		return NSEC_PER_SEC;
	if (left > (s64)(1ull << 40))
		left = 1ull << 40;	/* a quarter of an hour is long enough to look again */
	delay = div_u64((u64)left * meaning->den, meaning->num) + 1;
	return max_t(u64, delay, NSEC_MIN) + (event->attr.precise_ip ? 0 : skid);
}

/*
 * Registers for the sample, or NULL where they would be of a mode that the event leaves out: the
 * clock has passed the period, and a system call began or ended right before the tick.
 */
static struct pt_regs *registers_for(struct perf_event *event)
{
	struct pt_regs *regs = get_irq_regs();

	if (!regs)
		return NULL;
	if (event->attr.exclude_kernel && !user_mode(regs))
		return current->mm && !(current->flags & PF_KTHREAD) ? task_pt_regs(current) : NULL;
	if (event->attr.exclude_user && user_mode(regs))
		return NULL;
	return regs;
}

/* As many interrupts as this overflow is told with. */
static unsigned int interrupts_for(struct counter *counter)
{
	const unsigned int nth = counter->overflows++;

	if (lies(LIE_NO_INTERRUPT))
		return 0;
	if (lies(LIE_LOST_INTERRUPTS))
		return nth & 1;
	if (lies(LIE_ONE_INTERRUPT))
		return nth == 0;
	if (lies(LIE_LATE_INTERRUPTS))
		return nth % 10 == 9 ? 10 : 0;
	return lies(LIE_EXTRA_INTERRUPTS) ? 2 : 1;
}

struct branch_room {
	u8 bytes[sizeof(struct perf_branch_stack) + BRANCHES * sizeof(struct perf_branch_entry)]
		__aligned(8);
};

static DEFINE_PER_CPU(struct branch_room, branch_rooms);

/* Invented branches that end at the sample's address: there is nothing to learn them from. */
static void branch_stack(struct perf_sample_data *data, struct perf_event *event,
			 struct pt_regs *regs)
{
	struct perf_branch_stack *stack = (void *)this_cpu_ptr(&branch_rooms)->bytes;

	stack->nr = BRANCHES;
	stack->hw_idx = -1ULL;
	memset(stack->entries, 0, BRANCHES * sizeof(stack->entries[0]));
	for (int i = 0; i < BRANCHES; i++) {
		stack->entries[i].from = instruction_pointer(regs) - 16 * i - 2;
		stack->entries[i].to = instruction_pointer(regs) - 16 * i;
		stack->entries[i].predicted = 1;
	}
	save_branches(data, event, stack);
}

/* One overflow, through the core. Returns whether the event is to stop. */
static bool deliver(struct perf_event *event, struct pt_regs *regs)
{
	struct perf_sample_data data;
	struct pt_regs copy = *regs;
	u64 period = event->hw.last_period;

	if (lies(LIE_PERIOD))
		period *= 2;
	perf_sample_data_init(&data, 0, period);
	if (lies(LIE_IP))
		instruction_pointer_set(&copy, instruction_pointer(regs) + 0x1000);
	if (event->attr.precise_ip)
		copy.flags |= FLAGS_EXACT;
	if (lies(LIE_IP) || event->attr.precise_ip)
		regs = &copy;
	if (has_branch_stack(event))
		branch_stack(&data, event, regs);
	return core_overflow(event, &data, regs);
}

/*
 * All periods that have passed. Returns whether the timer is to go on: no longer where the event
 * was stopped, by the core or for it.
 */
static bool deliver_all(struct perf_event *event, struct pt_regs *regs)
{
	struct hw_perf_event *hw = &event->hw;
	struct counter *counter = counter_of(event);
	bool stop = false;

	for (int burst = 0; burst < BURST && local64_read(&hw->period_left) <= 0; burst++) {
		unsigned int times = interrupts_for(counter);

		hw->last_period = hw->sample_period;
		local64_add(hw->sample_period, &hw->period_left);
		while (times-- && !stop)
			stop = deliver(event, regs);
		if (stop)
			counter_stop(event, 0);
		if (hw->state & PERF_HES_STOPPED) {
			/* Throttled: what has piled up by then is not to be delivered later. */
			if (local64_read(&hw->period_left) < 0)
				local64_set(&hw->period_left, hw->sample_period);
			return false;
		}
	}
	return true;
}

enum hrtimer_restart overflow_expired(struct hrtimer *timer)
{
	struct counter *counter = container_of(timer, struct counter, timer);
	struct perf_event *event = counter->event;
	struct pt_regs *regs;
	bool go_on = true;

	if (event->hw.state & PERF_HES_STOPPED)
		return HRTIMER_NORESTART;
	counter_update(event);
	if (local64_read(&event->hw.period_left) <= 0) {
		regs = registers_for(event);
		if (!regs && ++counter->tries > TRIES)
			regs = get_irq_regs();
		if (regs) {
			counter->tries = 0;
			counter->in_overflow = true;
			go_on = deliver_all(event, regs);
			counter->in_overflow = false;
		}
	}
	if (!go_on)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(overflow_delay(event)));
	return HRTIMER_RESTART;
}
