/* SPDX-License-Identifier: MIT */
/* What an attr is made of. Which of it this kernel takes, negotiate.c and modify.c find out. */
#include "attrs.h"

#include <string.h>
#include <unistd.h>

#include "group.h"
#include "rate.h"
#include "task_clock.h"

#define CLOCK_PERIOD_LEAST 100000	/* ns: a clock that samples faster does nothing else */
#define STACK_BYTES 8192

enum on { ON_ALL, ON_SIDE, ON_SAMPLES };

/* What is asked for, and can be done without. */
static const struct {
	const char *name;
	unsigned int side, want;	/* options, wants that ask for it; neither: always */
	enum on on;			/* which events apart have it */
	uint64_t sample_type;
} modifiers[MODIFIERS] = {
	[MODIFIER_THREADS] = { "child processes left out of sums", 0, 0, ON_ALL, 0 },
	[MODIFIER_MAPS] = { "MMAP records", PM_SIDE_MMAP | PM_SIDE_MMAP_DATA | PM_SIDE_BUILD_ID, 0,
			    ON_SIDE, 0 },
	[MODIFIER_MAPS2] = { "MMAP2 records", PM_SIDE_MMAP | PM_SIDE_MMAP_DATA | PM_SIDE_BUILD_ID,
			     0, ON_SIDE, 0 },
	[MODIFIER_BUILD_IDS] = { "build ids in MMAP2 records", PM_SIDE_BUILD_ID, 0, ON_SIDE, 0 },
	[MODIFIER_EXECS] = { "the mark of an exec", PM_SIDE_EXEC, 0, ON_SIDE, 0 },
	[MODIFIER_SWITCHES] = { "SWITCH records", PM_SIDE_SWITCH, 0, ON_SIDE, 0 },
	[MODIFIER_CGROUPS] = { "CGROUP records", PM_SIDE_CGROUP, 0, ON_SIDE, 0 },
	[MODIFIER_KSYMBOLS] = { "KSYMBOL records", PM_SIDE_KSYMBOL, 0, ON_SIDE, 0 },
	[MODIFIER_DEFERRED_PARTS] = { "the user parts of deferred chains", 0, PM_WANT_DEFERRED,
				      ON_SIDE, 0 },
	[MODIFIER_GROUP] = { "group values", 0, PM_WANT_GROUP, ON_SAMPLES, 0 },
	[MODIFIER_CHAIN] = { "call chains", 0, PM_WANT_CALLCHAIN | PM_WANT_KERNEL_FRAMES,
			     ON_SAMPLES, PERF_SAMPLE_CALLCHAIN },
	[MODIFIER_FRAMES] = { "a number of frames", 0, PM_WANT_CALLCHAIN | PM_WANT_KERNEL_FRAMES,
			      ON_SAMPLES, 0 },
	[MODIFIER_DEFERRED] = { "deferred chains", 0, PM_WANT_DEFERRED, ON_SAMPLES, 0 },
	[MODIFIER_REGISTERS] = { "user registers", 0, PM_WANT_REGISTERS, ON_SAMPLES,
				 PERF_SAMPLE_REGS_USER },
	[MODIFIER_STACK] = { "the user stack", 0, PM_WANT_STACK, ON_SAMPLES,
			     PERF_SAMPLE_STACK_USER },
	[MODIFIER_BRANCHES] = { "branches", 0, PM_WANT_BRANCHES, ON_SAMPLES,
				PERF_SAMPLE_BRANCH_STACK },
	[MODIFIER_WEIGHT] = { "weights", 0, PM_WANT_WEIGHT, ON_SAMPLES, PERF_SAMPLE_WEIGHT },
	[MODIFIER_SOURCE] = { "data sources", 0, PM_WANT_SOURCE, ON_SAMPLES,
			      PERF_SAMPLE_DATA_SRC },
	[MODIFIER_CGROUP] = { "the cgroup of samples", 0, PM_WANT_CGROUP, ON_SAMPLES,
			      PERF_SAMPLE_CGROUP },
};

const char *pm_attr_name(enum modifier modifier)
{
	return modifiers[modifier].name;
}

bool pm_attr_asks(const struct pm_plan *plan, enum modifier modifier)
{
	const unsigned int side = modifiers[modifier].side, want = modifiers[modifier].want;

	if (modifier == MODIFIER_THREADS)
		return plan->apart.inherits && !plan->apart.children;
	if (modifier == MODIFIER_FRAMES && plan->apart.frames == 0)
		return false;
	return (!side && !want) || (side & plan->opts.side) || (want & plan->want);
}

uint32_t pm_attr_of_event(const struct pm_plan *plan, const struct plan_event *event)
{
	uint32_t bits = 0;

	for (int i = 0; i < MODIFIERS; i++) {
		const enum on on = modifiers[i].on;

		if (on == ON_ALL ||
		    (event->side ? on == ON_SIDE : on == ON_SAMPLES && event->sampled))
			bits |= UINT32_C(1) << i;
	}
	return bits & plan->modifiers;
}

/* -------------------------------------------------------------------------------- of one event */

/* Registers of 64-bit code by the kernel's numbers; segment registers cannot be had. */
static uint64_t default_registers(void)
{
#if defined(__x86_64__)
	return 0xff0fff;
#elif defined(__i386__)
	return 0xfff;
#elif defined(__aarch64__)
	return (1ull << 33) - 1;
#elif defined(__arm__)
	return (1ull << 16) - 1;
#elif defined(__powerpc__)
	return (1ull << 43) - 1;
#elif defined(__riscv) || defined(__loongarch__)
	return (1ull << 32) - 1;
#elif defined(__s390x__)
	return 0xffff | 3ull << 32;
#else
	return 0;
#endif
}

/*
 * Samples of all events of a session have one layout, because they share rings; but for their
 * periods, which pm_rate_set() leaves out where the event tells them: see drain.c. Those of events
 * apart begin alike, and all records end alike.
 */
static void set_layout(const struct pm_plan *plan, const struct plan_event *event,
		       struct perf_event_attr *attr)
{
	const uint32_t has = pm_plan_modifiers(plan, event);

	attr->sample_id_all = 1;
	attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IP |
		PERF_SAMPLE_PERIOD;
	attr->sample_type |= has & MODIFIER(IDENTIFIER) ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID;
	if (plan->apart.inherits)
		attr->sample_type |= PERF_SAMPLE_STREAM_ID;	/* whether it was inherited */
	if (plan->want & PM_WANT_ADDRESS)
		attr->sample_type |= PERF_SAMPLE_ADDR;
	if (plan->want & PM_WANT_RAW)
		attr->sample_type |= PERF_SAMPLE_RAW;
	for (int i = 0; i < MODIFIERS; i++)
		if (has & UINT32_C(1) << i)
			attr->sample_type |= modifiers[i].sample_type;
	if (has & MODIFIER(FRAMES))
		attr->sample_max_stack = (uint16_t)plan->apart.frames;
	if (has & MODIFIER(REGISTERS))
		attr->sample_regs_user = plan->apart.registers ? plan->apart.registers :
			default_registers();
	if (has & MODIFIER(STACK))
		attr->sample_stack_user = plan->apart.stack ? plan->apart.stack : STACK_BYTES;
	if (has & MODIFIER(BRANCHES))
		attr->branch_sample_type = plan->apart.branches ? plan->apart.branches :
			PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	/* A filter may refuse the ioctl(2) that tells the id; and it is as young as the bit. */
	if (plan->apart.cpus != NULL || !(has & MODIFIER(IDENTIFIER)))
		attr->read_format |= PERF_FORMAT_ID;
	if (has & MODIFIER(LOST))
		attr->read_format |= PERF_FORMAT_LOST;
}

/* Chains of one mode alone. A session has the kernel's frames beside those of user mode only. */
static void set_modes_of_chain(const struct pm_plan *plan, const struct plan_event *event,
			       struct perf_event_attr *attr)
{
	const uint32_t has = pm_plan_modifiers(plan, event);
	const bool user = event->spec.want & PM_WANT_CALLCHAIN;
	const bool kernel = event->spec.want & PM_WANT_KERNEL_FRAMES;

	if (!(has & MODIFIER(CALLCHAIN)))
		return;
	attr->exclude_callchain_kernel = user && !kernel;
	attr->exclude_callchain_user = plan->apart.cpus != NULL && kernel && !user &&
		!(has & MODIFIER(DEFERRED));
}

/* By default a ring wakes its reader when it is half full, which is too late for a busy one. */
static void set_wakeup(const struct pm_plan *plan, struct perf_event_attr *attr)
{
	if (plan->opts.wakeup != 0) {
		attr->wakeup_events = plan->opts.wakeup;
	} else if (pm_plan_takes(plan, MODIFIER(WATERMARK))) {
		attr->watermark = 1;
		attr->wakeup_watermark = plan->apart.wake_at ? plan->apart.wake_at :
			plan->opts.ring_pages * (uint32_t)sysconf(_SC_PAGESIZE) / 4;
	}
}

/* Two events of different kinds of cores are never on one CPU, and a record is of one. */
static bool are_apart(const struct plan_event *one, const struct plan_event *other)
{
	return one->pmu[0] && other->pmu[0] && strcmp(one->pmu, other->pmu) != 0;
}

/* One event of a thread reports its name, creation and end; each of them would repeat that. */
static bool is_first_of_target(const struct pm_plan *plan, const struct plan_event *event)
{
	for (const struct plan_event *other = plan->events; other < event; other++)
		if (other->spec.tid == event->spec.tid && !are_apart(other, event))
			return false;
	return true;
}

/* Records beside the samples, by one event of a target as its name and creation are. */
static void set_side(const struct pm_plan *plan, const struct plan_event *event,
		     struct perf_event_attr *attr)
{
	const uint32_t has = pm_plan_modifiers(plan, event);

	attr->comm = attr->task = 1;
	attr->mmap = !!(has & MODIFIER(MAPS));
	attr->mmap_data = attr->mmap && (plan->opts.side & PM_SIDE_MMAP_DATA);
	attr->mmap2 = !!(has & MODIFIER(MAPS2));
	attr->build_id = !!(has & MODIFIER(BUILD_IDS));
	attr->comm_exec = !!(has & MODIFIER(EXECS));
	attr->context_switch = !!(has & MODIFIER(SWITCHES));
	attr->cgroup = !!(has & MODIFIER(CGROUPS));
	attr->ksymbol = !!(has & MODIFIER(KSYMBOLS));
	attr->defer_output = !!(has & MODIFIER(DEFERRED_PARTS));
}

void pm_plan_no_side(struct perf_event_attr *attr)
{
	attr->comm = attr->task = attr->mmap = attr->mmap2 = attr->mmap_data = attr->build_id = 0;
	attr->comm_exec = attr->context_switch = attr->cgroup = attr->ksymbol = 0;
	attr->defer_output = 0;
}

/* Cycles become ns, which is about right at a few GHz and never too fast. */
static uint64_t period_of(const struct plan_event *event)
{
	return event->substituted && event->spec.period < CLOCK_PERIOD_LEAST ? CLOCK_PERIOD_LEAST :
		event->spec.period;
}

static void substitute(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->config1 = attr->config2 = 0;
}

bool pm_takes_task_clock(const struct pm_plan *plan, const struct pm_event_spec *spec)
{
	return !(spec->flags & PM_SPEC_EXACT) && pm_needs_task_clock(plan->profile, spec);
}

void pm_attr_build(const struct pm_plan *plan, struct plan_event *event)
{
	const struct pm_event_spec *spec = &event->spec;
	struct perf_event_attr *attr = &event->attr;
	const bool apart = plan->apart.cpus != NULL;

	*attr = pm_spec_attr(spec, event->user_only);
	attr->disabled = 1;
	set_layout(plan, event, attr);
	set_modes_of_chain(plan, event, attr);
	if (apart ? event->side : is_first_of_target(plan, event))
		set_side(plan, event, attr);
	attr->defer_callchain = !!(pm_plan_modifiers(plan, event) & MODIFIER(DEFERRED));
	attr->pinned = !!(spec->flags & PM_SPEC_PINNED);
	attr->exclusive = event->exclusive;
	attr->precise_ip = event->precise & 3;
	if (pm_plan_takes(plan, MODIFIER(CLOCK))) {
		attr->use_clockid = 1;
		attr->clockid = plan->clocks[plan->clock];
	}
	pm_group_set(plan, event, attr);
	if (event->substituted)
		substitute(attr);
	if (pm_takes_task_clock(plan, spec))
		attr->config = PERF_COUNT_SW_TASK_CLOCK;
	pm_rate_set(attr, period_of(event), event->frequency);
	if (apart || attr->sample_period != 0)
		set_wakeup(plan, attr);
}

void pm_plan_as_counters(struct pm_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct perf_event_attr *attr = &plan->events[i].attr;

		attr->sample_period = attr->sample_type = 0;
		attr->read_format &= ~(uint64_t)(PERF_FORMAT_GROUP | PERF_FORMAT_ID);
		attr->freq = attr->sample_id_all = attr->precise_ip = 0;
		attr->branch_sample_type = 0;
		pm_plan_no_side(attr);
		attr->watermark = attr->wakeup_events = 0;
	}
}
