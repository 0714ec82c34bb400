/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What probes about the values of hardware counters share.
 * Included behind probe.h.
 */
#ifndef INSTRUCTIONS_H
#define INSTRUCTIONS_H

#include "core_pmu.h"

#define PASSES 100000

static volatile uint32_t sink;

static void loop(int times)
{
	for (int i = 0; i < times * PASSES; i++)
		sink += i;
}

static int open_hardware(uint64_t config)
{
	struct perf_event_attr attr = attr_core(config);

	must_have_counters();
	attr.pinned = 1;	/* a counter all the time, or an honest error */
	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

static uint64_t cost_of(int fd, int times)
{
	uint64_t before = must_count(fd);

	loop(times);
	return must_count(fd) - before;
}

#endif
