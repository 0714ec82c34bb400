/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two cells and a breakpoint that is to move from one to the other: what probes of changed
 * breakpoints share. Included behind probe.h.
 */
#ifndef BP_MODIFY_H
#define BP_MODIFY_H

#include "breakpoint.h"

static volatile int32_t cells[4] __attribute__((aligned(64)));

static int open_first(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cells[0], 4);

	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

static struct perf_event_attr second(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cells[2], 4);

	attr.disabled = 0;
	return attr;
}

static void write_cell(int index, int times)
{
	for (int i = 0; i < times; i++)
		cells[index] = i;
}

#endif
