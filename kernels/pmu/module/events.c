// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which events there are, and what they count: each so many a nanosecond of the clocks. Every
 * number follows from the time alone, so a loop that takes four times as long counts four times as
 * much. What the tables lack is refused as PMUs of x86 refuse it.
 */
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "compat.h"
#include "pmu.h"

struct rate {
	u32 num, den;	/* den 0: there is no such event */
};

#define RATE(n, d) { .num = n, .den = d }

static const struct rate generic[PERF_COUNT_HW_MAX] = {
	[PERF_COUNT_HW_CPU_CYCLES] = RATE(3, 1),
	[PERF_COUNT_HW_INSTRUCTIONS] = RATE(4, 1),
	[PERF_COUNT_HW_CACHE_REFERENCES] = RATE(1, 20),
	[PERF_COUNT_HW_CACHE_MISSES] = RATE(1, 100),
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = RATE(1, 1),
	[PERF_COUNT_HW_BRANCH_MISSES] = RATE(1, 200),
	[PERF_COUNT_HW_BUS_CYCLES] = RATE(1, 10),
	[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND] = RATE(1, 5),
	[PERF_COUNT_HW_REF_CPU_CYCLES] = RATE(2, 1),
};

#define READ(result) { [PERF_COUNT_HW_CACHE_OP_READ] = result }
#define READ_WRITE(read, write) \
	{ [PERF_COUNT_HW_CACHE_OP_READ] = read, [PERF_COUNT_HW_CACHE_OP_WRITE] = write }
#define RESULTS(access, miss) { access, miss }
#define NONE { 0 }

static const struct rate cache[PERF_COUNT_HW_CACHE_MAX][PERF_COUNT_HW_CACHE_OP_MAX]
			      [PERF_COUNT_HW_CACHE_RESULT_MAX] = {
	[PERF_COUNT_HW_CACHE_L1D] = READ_WRITE(RESULTS(RATE(1, 4), RATE(1, 80)),
					       RESULTS(RATE(1, 8), NONE)),
	[PERF_COUNT_HW_CACHE_L1I] = READ(RESULTS(NONE, RATE(1, 160))),
	[PERF_COUNT_HW_CACHE_LL] = READ_WRITE(RESULTS(RATE(1, 100), RATE(1, 500)),
					      RESULTS(RATE(1, 200), RATE(1, 1000))),
	[PERF_COUNT_HW_CACHE_DTLB] = READ_WRITE(RESULTS(RATE(1, 4), RATE(1, 400)),
						RESULTS(RATE(1, 8), RATE(1, 800))),
	[PERF_COUNT_HW_CACHE_ITLB] = READ(RESULTS(RATE(1, 300), RATE(1, 600))),
	[PERF_COUNT_HW_CACHE_BPU] = READ(RESULTS(RATE(1, 4), RATE(1, 200))),
};

/* Numbers of the PMU's own: what a program reads in events/ and puts together by format/. */
static const struct {
	u64 config;
	unsigned int generic;
} raw[] = {
	{ 0x003c, PERF_COUNT_HW_CPU_CYCLES },
	{ 0x00c0, PERF_COUNT_HW_INSTRUCTIONS },
	{ 0x4f2e, PERF_COUNT_HW_CACHE_REFERENCES },
	{ 0x412e, PERF_COUNT_HW_CACHE_MISSES },
	{ 0x00c4, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ 0x00c5, PERF_COUNT_HW_BRANCH_MISSES },
	{ 0x013c, PERF_COUNT_HW_BUS_CYCLES },
	{ 0x0300, PERF_COUNT_HW_REF_CPU_CYCLES },
};

#define RAW_BITS 0xffffull

PMU_FORMAT_ATTR(event, "config:0-7");
PMU_FORMAT_ATTR(umask, "config:8-15");

static struct attribute *format_attrs[] = {
	&format_attr_event.attr,
	&format_attr_umask.attr,
	NULL
};

const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

PMU_EVENT_ATTR_STRING(cpu-cycles, event_cycles, "event=0x3c");
PMU_EVENT_ATTR_STRING(instructions, event_instructions, "event=0xc0");
PMU_EVENT_ATTR_STRING(cache-references, event_references, "event=0x2e,umask=0x4f");
PMU_EVENT_ATTR_STRING(cache-misses, event_misses, "event=0x2e,umask=0x41");
PMU_EVENT_ATTR_STRING(branch-instructions, event_branches, "event=0xc4");
PMU_EVENT_ATTR_STRING(branch-misses, event_branch_misses, "event=0xc5");
PMU_EVENT_ATTR_STRING(bus-cycles, event_bus_cycles, "event=0x3c,umask=0x01");
PMU_EVENT_ATTR_STRING(ref-cycles, event_ref_cycles, "event=0x00,umask=0x03");

static struct attribute *event_attrs[] = {
	&event_cycles.attr.attr,
	&event_instructions.attr.attr,
	&event_references.attr.attr,
	&event_misses.attr.attr,
	&event_branches.attr.attr,
	&event_branch_misses.attr.attr,
	&event_bus_cycles.attr.attr,
	&event_ref_cycles.attr.attr,
	NULL
};

const struct attribute_group events_group = {
	.name = "events",
	.attrs = event_attrs,
};

static int find_generic(u64 config, struct rate *ret)
{
	config &= U32_MAX;	/* the upper half names a PMU, which the caller has looked at */
	if (config >= PERF_COUNT_HW_MAX && !lies(LIE_ANY_EVENT))
		return -EINVAL;
	*ret = generic[config < PERF_COUNT_HW_MAX ? config : PERF_COUNT_HW_INSTRUCTIONS];
	return 0;
}

static int find_cache(u64 config, struct rate *ret)
{
	unsigned int which = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;

	if (which >= PERF_COUNT_HW_CACHE_MAX || op >= PERF_COUNT_HW_CACHE_OP_MAX ||
	    result >= PERF_COUNT_HW_CACHE_RESULT_MAX) {
		if (!lies(LIE_ANY_EVENT))
			return -EINVAL;
		which = op = result = 0;
	}
	*ret = cache[which][op][result];
	if (lies(LIE_CACHE_ZERO))
		ret->num = 0;
	return 0;
}

/* A number that means nothing is taken, as x86 does, and counts nothing. */
static int find_raw(u64 config, struct rate *ret)
{
	if (config & ~RAW_BITS && !lies(LIE_ANY_EVENT))
		return -EINVAL;
	*ret = (struct rate)RATE(0, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(raw); i++)
		if (raw[i].config == (config & RAW_BITS))
			*ret = generic[raw[i].generic];
	return 0;
}

static unsigned int modes_of(const struct perf_event_attr *attr)
{
	unsigned int modes = 0;

	if (attr->exclude_host && !lies(LIE_EXCLUDE_HOST))
		return 0;	/* no guest ever runs here */
	if (!attr->exclude_user || lies(LIE_EXCLUDE_USER))
		modes |= MODE_BIT(MODE_USER);
	if (!attr->exclude_kernel || lies(LIE_EXCLUDE_KERNEL))
		modes |= MODE_BIT(MODE_KERNEL);
	/* The idle task runs in the kernel. */
	if (modes & MODE_BIT(MODE_KERNEL) && (!attr->exclude_idle || lies(LIE_EXCLUDE_IDLE)))
		modes |= MODE_BIT(MODE_IDLE);
	return modes;
}

/* What an event is to count: 0, -EINVAL for a number outside the lists, -ENOENT for none here. */
int meaning_of(struct perf_event *event, struct meaning *ret)
{
	struct rate rate = { 0 };
	int error;

	switch (event->attr.type) {
	case PERF_TYPE_HARDWARE:
		error = find_generic(event->attr.config, &rate);
		break;
	case PERF_TYPE_HW_CACHE:
		error = find_cache(event->attr.config, &rate);
		break;
	default:
		error = find_raw(event->attr.config, &rate);
	}
	if (error)
		return error;
	if (!rate.den && !lies(LIE_ANY_EVENT))
		return -ENOENT;
	if (!rate.den || lies(LIE_SAME_EVENT))
		rate = generic[PERF_COUNT_HW_INSTRUCTIONS];
	ret->num = rate.num;
	ret->den = rate.den;
	ret->modes = modes_of(&event->attr);
	return 0;
}
