/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What probes of Power's event-based branches (EBB) share: the event that keeps all rules, and the
 * registers that it gives to user mode. Included behind probe.h.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#ifndef EBB_H
#define EBB_H

#include <sys/auxv.h>

#include "spr.h"

#define EBB (1ull << 63)
#define BHRB (1ull << 62)
#define CYCLES_1 0x1001e
#define CYCLES_2 0x2001e

#define BESCR_GE (unsigned long)0x8000000000000000ull	/* branches are on ... */
#define BESCR_PME (unsigned long)0x0000000100000000ull	/* ... for the performance monitor ... */
#define BESCR_PMEO 1ul					/* ... which asks for one */
#define BESCR_ON (BESCR_GE | BESCR_PME)
#define MMCR0_FC 0x80000000ul				/* counters stand still */
#define MMCR0_PMAE 0x04000000ul				/* an overflow may branch ... */
#define MMCR0_PMAO 0x00000080ul				/* ... and one has happened */

static inline struct perf_event_attr attr_ebb(uint64_t code)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, code | EBB);

	attr.pinned = 1;
	attr.exclusive = 1;
	attr.exclude_idle = 1;
	return attr;
}

/* A PMU without the facility ignores bit 63: it accepts an event code without a counter. */
static inline void require_ebb(void)
{
	struct perf_event_attr wrong = attr_ebb(0x1e);

#ifdef __powerpc64__
	if (!(getauxval(AT_HWCAP2) & 0x10000000))
		say_absent("this CPU or its PMU driver has no event-based branches");
#else
	say_absent("not a 64-bit Power machine");
#endif
	require(REQUIRE_CPU_PMU);
	if (pm_open(&wrong, 0, -1, -1, 0) >= 0)
		say_absent("this PMU ignores bit 63");
}

static inline int must_lead(void)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);

	require_ebb();
	return must_open(&attr, 0, -1, -1, 0);
}

static inline void refuse(const struct perf_event_attr *attr, int group, const char *what)
{
	expect_refused(pm_open(attr, 0, -1, group, 0), EINVAL, BROKEN, what);
}

/* The event, enabled and on its counter. */
static inline int must_schedule(void)
{
	uint64_t value;
	int fd = must_lead();

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (read(fd, &value, 8) != 8)
		say_unknown("the event is not scheduled: another has the counters");
	return fd;
}

/* CPU time of this thread, in nanoseconds. */
static inline uint64_t used_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

#endif
