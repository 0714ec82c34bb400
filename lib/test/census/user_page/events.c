/* SPDX-License-Identifier: MIT */
/* Counters of cycles, and what this PMU counts at all. See events.h. */
#define _GNU_SOURCE
#include "events.h"

#include <string.h>
#include <unistd.h>

#include "../../../pm_sys.h"

struct pm_counters *open_events(size_t count, uint64_t other, unsigned int flags,
				struct pm_diag *diag)
{
	struct pm_event_spec specs[MOST];
	struct pm_profile *nothing = pm_profile_create();
	struct pm_counters *counters = NULL;

	memset(specs, 0, sizeof(specs));
	for (size_t i = 0; i < count; i++) {
		specs[i].size = sizeof(specs[i]);
		specs[i].config = i % 2 ? other : PERF_COUNT_HW_CPU_CYCLES;
	}
	if (pm_counters_open(specs, count, flags | PM_COUNTERS_MAY_USER_ONLY, nothing, diag,
			     &counters) < 0 || pm_counters_start(counters) < 0) {
		pm_counters_destroy(counters);
		counters = NULL;
	}
	pm_profile_destroy(nothing);
	return counters;
}

struct pm_counters *open_cycles(size_t count, unsigned int flags, struct pm_diag *diag)
{
	return open_events(count, PERF_COUNT_HW_CPU_CYCLES, flags, diag);
}

static int open_bare(uint64_t config)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = config;
	attr.exclude_kernel = 1;
	return pm_open(&attr, 0, -1, -1, 0);
}

bool counts_twice(void)
{
	const int first = open_bare(PERF_COUNT_HW_CPU_CYCLES);
	const int second = open_bare(PERF_COUNT_HW_CPU_CYCLES);
	uint64_t one = 0, other = 0;

	for (volatile unsigned int i = 0; i < 100000; i++)
		;
	(void)pm_read_count(first, &one);
	(void)pm_read_count(second, &other);
	(void)close(first);
	(void)close(second);
	return one > 0 && other > 0;
}

uint64_t other_event(void)
{
	const int fd = open_bare(PERF_COUNT_HW_INSTRUCTIONS);

	if (fd < 0)
		return PERF_COUNT_HW_CPU_CYCLES;
	(void)close(fd);
	return PERF_COUNT_HW_INSTRUCTIONS;
}
