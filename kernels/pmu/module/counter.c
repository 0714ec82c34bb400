// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters: a few on each CPU, each with one event at a time. Which event gets one, and when, is
 * decided by the core: here is only whether one is free.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "compat.h"
#include "pmu.h"

struct slots {
	DECLARE_BITMAP(taken, MAX_COUNTERS);
	struct perf_event *events[MAX_COUNTERS];
};

static DEFINE_PER_CPU(struct slots, slots);

/* ---------------------------------------------------------------- counting */

/* Nanoseconds to counts; what is less than one count is kept for the next time. */
static u64 counts_in(struct counter *counter, u64 spent)
{
	u64 parts = spent * counter->meaning.num + counter->rest;

	parts = div_u64_rem(parts, counter->meaning.den, &counter->rest);
	return parts;
}

/* What the event is told instead of the truth; interrupts still follow the truth. */
static u64 told(struct counter *counter, u64 counts)
{
	if (lies(LIE_FROZEN))
		return 0;
	if (lies(LIE_HALF_COUNT))
		return counts / 2;
	if (lies(LIE_DOUBLE_COUNT))
		return counts * 2;
	if (lies(LIE_NOISE))
		return counts + (get_random_u32() & 0xfffff);
	if (lies(LIE_BACKWARDS) && ++counter->reads % 16 == 0)
		return -(counts + 10000);
	return counts;
}

/* Count up to now. Interrupts are off, and this is the CPU that the event is on. */
void counter_update(struct perf_event *event)
{
	struct counter *counter = counter_of(event);
	u64 now, counts;

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	now = clock_read(counter->meaning.modes);
	counts = counts_in(counter, now - min(counter->since, now));
	counter->since = now;
	/* Nobody looks in time: a counting event has no interrupt that would tell of a wrap. */
	if (width < 64 && !is_sampling_event(event))
		counts &= (1ull << width) - 1;
	local64_add(told(counter, counts), &event->count);
	local64_sub(counts, &event->hw.period_left);
}

/* ---------------------------------------------------------------- start and stop */

static void start(struct perf_event *event, int flags)
{
	struct counter *counter = counter_of(event);
	struct hw_perf_event *hw = &event->hw;

	hw->state = 0;
	counter->since = clock_read(counter->meaning.modes);
	if (lies(LIE_RUNS_ASLEEP) && counter->stopped)
		counter->since -= min(local_clock() - counter->stopped, counter->since);
	if (is_sampling_event(event)) {
		/* 0: the core has set a new period. Below: an overflow is due. */
		if (!local64_read(&hw->period_left))
			local64_set(&hw->period_left, hw->sample_period);
		if (!counter->in_overflow)
			hrtimer_start(&counter->timer, ns_to_ktime(overflow_delay(event)),
				      HRTIMER_MODE_REL_PINNED_HARD);
	}
	perf_event_update_userpage(event);
}

void counter_stop(struct perf_event *event, int flags)
{
	struct counter *counter = counter_of(event);

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	counter_update(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	counter->stopped = local_clock();
	/* From its own function it cannot be cancelled; that looks at the state. */
	if (is_sampling_event(event))
		hrtimer_try_to_cancel(&counter->timer);
}

static bool is_same(const struct perf_event *one, const struct perf_event *other)
{
	return one->attr.type == other->attr.type && one->attr.config == other->attr.config;
}

/* A lie: this event gets no counter, here or at all. */
static bool denied(const struct perf_event *event)
{
	if (lies(LIE_DEAD_CPU) && smp_processor_id() == dead_cpu)
		return true;
	return lies(LIE_PINNED) && event->attr.pinned;
}

/* Of a PMU that can count the same event once, whether this CPU does so already. */
static bool is_counted(const struct slots *here, const struct perf_event *event)
{
	for (unsigned int slot = 0; once && slot < counters; slot++)
		if (here->events[slot] && is_same(here->events[slot], event))
			return true;
	return false;
}

static int add(struct perf_event *event, int flags)
{
	struct slots *here = this_cpu_ptr(&slots);
	unsigned int slot = find_next_zero_bit(here->taken, counters, taken);

	if (slot >= counters || denied(event) || is_counted(here, event))
		return -EAGAIN;
	__set_bit(slot, here->taken);
	here->events[slot] = event;
	counter_of(event)->slot = slot;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		start(event, PERF_EF_RELOAD);
	else
		perf_event_update_userpage(event);
	return 0;
}

static void del(struct perf_event *event, int flags)
{
	counter_stop(event, PERF_EF_UPDATE);
	__clear_bit(counter_of(event)->slot, this_cpu_ptr(&slots)->taken);
	this_cpu_ptr(&slots)->events[counter_of(event)->slot] = NULL;
	perf_event_update_userpage(event);
}

/* ---------------------------------------------------------------- all counters of a CPU at once */

static void disable(struct pmu *pmu)
{
	clock_hold();
}

static void enable(struct pmu *pmu)
{
	clock_release();
}

static void start_txn(struct pmu *pmu, unsigned int flags)
{
	clock_hold();
}

static int commit_txn(struct pmu *pmu)
{
	clock_release();
	return 0;
}

static void cancel_txn(struct pmu *pmu)
{
	clock_release();
}

/* ---------------------------------------------------------------- opening */

static void forget(struct perf_event *event)
{
	struct counter *counter = counter_of(event);

	hrtimer_cancel(&counter->timer);
	kfree(counter);
	event->pmu_private = NULL;
}

/* Is the event of this PMU at all? Where there are two, the core may ask both. */
static bool is_ours(const struct core_pmu *core, const struct perf_event *event)
{
	const u64 named = event->attr.config >> PERF_PMU_TYPE_SHIFT;

	if (event->cpu >= 0 && !cpumask_test_cpu(event->cpu, &core->cpus))
		return false;
	if (!generic_events && event->attr.type != core->pmu.type)
		return false;
	switch (event->attr.type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
		return !named || named == core->pmu.type;
	default:
		return event->attr.type == core->pmu.type;
	}
}

static int event_init(struct perf_event *event);

/* How many counters another member of the group takes; too many if it is of the other core PMU. */
static unsigned int taken_by(const struct perf_event *member, const struct perf_event *event)
{
	if (member == event || member->pmu->event_init != event_init)
		return 0;
	return member->pmu != event->pmu || (once && is_same(member, event)) ? MAX_COUNTERS : 1;
}

/* A group has to fit on the counters of one CPU, or it would never run. */
static bool group_fits(struct perf_event *event)
{
	struct perf_event *sibling, *leader = event->group_leader;
	unsigned int needed = 1 + taken_by(leader, event);

	if (lies(LIE_CROWD))
		return true;
	for_each_sibling_event(sibling, leader)
		needed += taken_by(sibling, event);
	return needed <= counters;
}

/* Whether it can leave out what it is told to, and is told to leave out what it has to. */
static bool can_exclude(const struct perf_event_attr *attr)
{
	if (needs_exclude_guest && !attr->exclude_guest)
		return false;
	return excludes || !(attr->exclude_user || attr->exclude_kernel || attr->exclude_hv ||
			     attr->exclude_idle || attr->exclude_host);
}

static int check(const struct core_pmu *core, struct perf_event *event)
{
	if (!is_ours(core, event))
		return -ENOENT;
	if (!can_exclude(&event->attr))
		return -(int)exclude_error;
	if (is_sampling_event(event) && sampling_error)
		return -(int)sampling_error;
	if (is_sampling_event(event) && !event->attr.freq &&
	    event->attr.sample_period % granularity)
		return -EINVAL;
	if (has_branch_stack(event) && !branches)
		return -EOPNOTSUPP;
	if (event->attr.precise_ip > max_precise)
		return -EOPNOTSUPP;
	return group_fits(event) ? 0 : -EINVAL;
}

static int event_init(struct perf_event *event)
{
	struct counter *counter;
	struct meaning meaning;
	int error = check(to_core(event->pmu), event);

	if (!error)
		error = meaning_of(event, &meaning);
	if (error)
		return error;
	cause_trouble();
	counter = kzalloc(sizeof(*counter), GFP_KERNEL);
	if (!counter)
		return -ENOMEM;
	counter->event = event;
	counter->meaning = meaning;
	timer_setup_hard(&counter->timer, overflow_expired);
	event->pmu_private = counter;
	event->destroy = forget;
	return 0;
}

/* ---------------------------------------------------------------- which CPUs */

#if FILTER_BY_EVENT
static int runs_here(struct perf_event *event)
{
	return lies(LIE_ALL_CPUS) ||
	       cpumask_test_cpu(smp_processor_id(), &to_core(event->pmu)->cpus);
}
#else
static bool left_out(struct pmu *pmu, int cpu)
{
	return !lies(LIE_ALL_CPUS) && !cpumask_test_cpu(cpu, &to_core(pmu)->cpus);
}
#endif

void core_pmu_setup(struct core_pmu *core)
{
	struct pmu *pmu = &core->pmu;

	pmu->task_ctx_nr = perf_hw_context;
	pmu->event_init = event_init;
	pmu->add = add;
	pmu->del = del;
	pmu->start = start;
	pmu->stop = counter_stop;
	pmu->read = counter_update;
	pmu->pmu_disable = disable;
	pmu->pmu_enable = enable;
	pmu->start_txn = start_txn;
	pmu->commit_txn = commit_txn;
	pmu->cancel_txn = cancel_txn;
	if (!interrupts)
		pmu->capabilities |= PERF_PMU_CAP_NO_INTERRUPT;
	if (!hybrid && only_cpu < 0)
		return;
	pmu->capabilities |= CAP_MIXED_CORES | PERF_PMU_CAP_EXTENDED_HW_TYPE;
#if FILTER_BY_EVENT
	pmu->filter_match = runs_here;
#else
	pmu->filter = left_out;
#endif
}
