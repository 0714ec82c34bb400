/* SPDX-License-Identifier: MIT */
/* From what is asked for to a perf_event_attr. */
#include "attrs.h"

#include <unistd.h>

#include "../../policy/plan/negotiate.h"
#include "../../policy/plan/rate.h"

#define STACK_BYTES 8192

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

/* -------------------------------------------------------------------------------------- extras */

static void set_clock(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	attr->use_clockid = sampler->clockid;
	attr->clockid = sampler->clockid ? pm_watch_clock(sampler) : 0;
}

static void set_lost(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	(void)sampler;
	attr->read_format |= PERF_FORMAT_LOST;
}

static void set_values(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	(void)sampler;
	attr->sample_type |= PERF_SAMPLE_READ;
	attr->read_format |= PERF_FORMAT_GROUP;
}

static void set_chain(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	(void)sampler;
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
}

static void set_half_chain(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	attr->exclude_callchain_kernel = !(sampler->opts.want & PM_WANT_KERNEL_FRAMES);
	attr->exclude_callchain_user = !(sampler->opts.want & PM_WANT_CALLCHAIN);
}

static void set_frames(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	attr->sample_max_stack = (uint16_t)sampler->opts.frames;
}

static void set_registers(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_REGS_USER;
	attr->sample_regs_user = sampler->opts.registers ? sampler->opts.registers :
		default_registers();
}

static void set_stack(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_STACK_USER;
	attr->sample_stack_user = sampler->opts.stack ? sampler->opts.stack : STACK_BYTES;
}

static void set_branches(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr->branch_sample_type = sampler->opts.branches ? sampler->opts.branches :
		PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
}

#define FLAG_SETTER(flag) \
static void set_##flag(const struct pm_sampler *sampler, struct perf_event_attr *attr) \
{ \
	(void)sampler; \
	attr->flag = 1; \
}
FLAG_SETTER(inherit_thread)
FLAG_SETTER(comm_exec)
FLAG_SETTER(mmap2)
FLAG_SETTER(build_id)
FLAG_SETTER(context_switch)
FLAG_SETTER(cgroup)
FLAG_SETTER(ksymbol)
FLAG_SETTER(defer_callchain)
FLAG_SETTER(defer_output)
FLAG_SETTER(pinned)
FLAG_SETTER(exclusive)

#define SAMPLE_SETTER(name, BIT) \
static void set_##name(const struct pm_sampler *sampler, struct perf_event_attr *attr) \
{ \
	(void)sampler; \
	attr->sample_type |= PERF_SAMPLE_##BIT; \
}
SAMPLE_SETTER(weight, WEIGHT)
SAMPLE_SETTER(source, DATA_SRC)
SAMPLE_SETTER(cgroup_of_sample, CGROUP)

enum on { ON_ALL, ON_SIDE, ON_SAMPLES, ON_LEADERS };

/* The order is that in which they are put back after a refusal. */
static const struct {
	const char *name;
	void (*set)(const struct pm_sampler *sampler, struct perf_event_attr *attr);
	enum on on;
	unsigned int want, side, flag;	/* any of these asks for it; all 0: always wanted */
} extras[EXTRAS] = {
	[EXTRA_CLOCK] = { "a chosen clock", set_clock, ON_ALL, 0, 0, 0 },
	[EXTRA_NO_CHILDREN] = { "child processes left out of sums", set_inherit_thread, ON_ALL,
				0, 0, 0 },
	[EXTRA_LOST] = { "PERF_FORMAT_LOST", set_lost, ON_ALL, 0, 0, 0 },
	[EXTRA_COMM_EXEC] = { "execs told apart", set_comm_exec, ON_SIDE, 0, 0, 0 },
	[EXTRA_MMAP2] = { "MMAP2", set_mmap2, ON_SIDE, 0, PM_SIDE_MMAP | PM_SIDE_MMAP_DATA, 0 },
	[EXTRA_BUILD_ID] = { "build ids", set_build_id, ON_SIDE, 0,
			     PM_SIDE_MMAP | PM_SIDE_MMAP_DATA, 0 },
	[EXTRA_SWITCH] = { "switches", set_context_switch, ON_SIDE, 0, PM_SIDE_SWITCH, 0 },
	[EXTRA_CGROUPS] = { "cgroups", set_cgroup, ON_SIDE, 0, PM_SIDE_CGROUP, 0 },
	[EXTRA_KSYMBOL] = { "kernel symbols", set_ksymbol, ON_SIDE, 0, PM_SIDE_KSYMBOL, 0 },
	[EXTRA_DEFER_OUTPUT] = { "what was deferred", set_defer_output, ON_SIDE,
				 PM_WANT_DEFERRED, 0, 0 },
	[EXTRA_VALUES] = { "values of the group", set_values, ON_SAMPLES, PM_WANT_GROUP, 0, 0 },
	[EXTRA_CHAIN] = { "call chains", set_chain, ON_SAMPLES,
			  PM_WANT_CALLCHAIN | PM_WANT_KERNEL_FRAMES, 0, 0 },
	[EXTRA_HALF_CHAIN] = { "chains of one mode alone", set_half_chain, ON_SAMPLES,
			       PM_WANT_CALLCHAIN | PM_WANT_KERNEL_FRAMES, 0, 0 },
	[EXTRA_FRAMES] = { "a number of frames", set_frames, ON_SAMPLES,
			   PM_WANT_CALLCHAIN | PM_WANT_KERNEL_FRAMES, 0, 0 },
	[EXTRA_DEFERRED] = { "deferred chains", set_defer_callchain, ON_SAMPLES,
			     PM_WANT_DEFERRED, 0, 0 },
	[EXTRA_REGISTERS] = { "user registers", set_registers, ON_SAMPLES, PM_WANT_REGISTERS,
			      0, 0 },
	[EXTRA_STACK] = { "the user stack", set_stack, ON_SAMPLES, PM_WANT_STACK, 0, 0 },
	[EXTRA_BRANCHES] = { "branches", set_branches, ON_SAMPLES, PM_WANT_BRANCHES, 0, 0 },
	[EXTRA_WEIGHT] = { "weights", set_weight, ON_SAMPLES, PM_WANT_WEIGHT, 0, 0 },
	[EXTRA_SOURCE] = { "data sources", set_source, ON_SAMPLES, PM_WANT_SOURCE, 0, 0 },
	[EXTRA_CGROUP] = { "the cgroup of samples", set_cgroup_of_sample, ON_SAMPLES,
			   PM_WANT_CGROUP, 0, 0 },
	[EXTRA_PINNED] = { "pinned", set_pinned, ON_LEADERS, 0, 0, PM_SPEC_PINNED },
	[EXTRA_EXCLUSIVE] = { "exclusive", set_exclusive, ON_LEADERS, 0, 0, PM_EVENT_EXCLUSIVE },
};

const char *pm_watch_extra_name(enum extra extra)
{
	return extras[extra].name;
}

static bool suits(const struct pm_sampler *sampler, const struct watch_event *event, enum on on)
{
	switch (on) {
	case ON_SIDE:
		return event->side;
	case ON_SAMPLES:
		return !event->side && pm_watch_samples(event);
	case ON_LEADERS:
		return !event->side && &sampler->events[event->leader] == event;
	default:
		return true;
	}
}

/*
 * Whether nobody is watched who is not named, so that no child process need inherit: a pattern, a
 * uid and a cgroup are those of the children, too.
 */
static bool are_named(const struct pm_sampler *sampler)
{
	const struct targets *targets = &sampler->processes.rules.targets;

	for (size_t i = 0; i < targets->count; i++)
		if (!targets->list[i].target.exclude && targets->list[i].target.by != PM_BY_PID)
			return false;
	return targets->includes && !(sampler->opts.flags & PM_SAMPLER_CHILDREN);
}

void pm_watch_want(const struct pm_sampler *sampler, struct watch_event *event)
{
	event->wanted = 0;
	for (int i = 0; i < EXTRAS; i++) {
		const bool asked = (extras[i].want & sampler->opts.want) ||
			(extras[i].side & sampler->opts.side) || (extras[i].flag & event->flags);
		const bool always = !extras[i].want && !extras[i].side && !extras[i].flag;

		if ((asked || always) && suits(sampler, event, extras[i].on))
			event->wanted |= 1u << i;
	}
	if (sampler->opts.frames == 0)
		event->wanted &= ~(1u << EXTRA_FRAMES);
	if ((sampler->opts.want & PM_WANT_CALLCHAIN) &&
	    (sampler->opts.want & PM_WANT_KERNEL_FRAMES))
		event->wanted &= ~(1u << EXTRA_HALF_CHAIN);
	if (sampler->way != WAY_THREADS || !are_named(sampler))
		event->wanted &= ~(1u << EXTRA_NO_CHILDREN);
	if (!sampler->clockid)
		event->wanted &= ~(1u << EXTRA_CLOCK);
}

/* ------------------------------------------------------------------------------------ the attr */

static void set_side(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	attr->comm = attr->task = 1;
	attr->mmap = !!(sampler->opts.side & (PM_SIDE_MMAP | PM_SIDE_MMAP_DATA));
	attr->mmap_data = !!(sampler->opts.side & PM_SIDE_MMAP_DATA);
}

/* What the ring's owner says decides when its reader is woken. */
static void set_wakeup(const struct pm_sampler *sampler, struct perf_event_attr *attr)
{
	const uint32_t bytes = sampler->pages * (uint32_t)sysconf(_SC_PAGESIZE);

	attr->watermark = 1;
	attr->wakeup_watermark = sampler->opts.flags & PM_SAMPLER_NO_WAKEUP ? bytes : bytes / 4;
}

void pm_watch_build(const struct pm_sampler *sampler, struct watch_event *event)
{
	struct perf_event_attr *attr = &event->attr;

	*attr = pm_spec_attr(&event->spec, event->user_only);
	/* All records end, and samples begin, alike: they share a ring. Each id tells the rest. */
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	attr->sample_id_all = 1;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
		PERF_FORMAT_ID;
	attr->disabled = &sampler->events[event->leader] == event;
	attr->inherit = sampler->way == WAY_THREADS;
	attr->precise_ip = event->precise_left & 3;
	pm_rate_set(attr, event->spec.period, event->spec.frequency);
	set_wakeup(sampler, attr);
	if (event->side)
		set_side(sampler, attr);
	if (sampler->opts.want & PM_WANT_ADDRESS)
		attr->sample_type |= PERF_SAMPLE_ADDR;
	if (sampler->opts.want & PM_WANT_RAW)
		attr->sample_type |= PERF_SAMPLE_RAW;
	for (int i = 0; i < EXTRAS; i++)
		if (event->extras & 1u << i)
			extras[i].set(sampler, attr);
	if (event->extras & 1u << EXTRA_DEFERRED)
		attr->exclude_callchain_user = 0;
	pm_format_of(attr, &event->format);
}

void pm_watch_no_side(const struct pm_sampler *sampler, struct perf_event_attr *ret)
{
	*ret = sampler->events[sampler->count].attr;
	pm_plan_no_side(ret);
	ret->inherit = ret->inherit_thread = 0;
}
