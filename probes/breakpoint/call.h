/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A breakpoint on a function. Included behind probe.h.
 */
#ifndef CALL_H
#define CALL_H

#include "breakpoint.h"

/*
 * The length is a word on x86, the kernel's word and not the program's; on arm the instruction's,
 * which the lowest bit of the address tells. The rest takes a word.
 */
static inline struct perf_event_attr attr_call(void (*function)(void))
{
	uintptr_t address = (uintptr_t)function;
	struct perf_event_attr attr;
	int fd;

#ifdef __arm__
	attr = attr_access(HW_BREAKPOINT_X, (void *)(address & ~1ul), address & 1 ? 2 : 4);
#else
	attr = attr_access(HW_BREAKPOINT_X, (void *)address, sizeof(long));
#endif
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd == -EINVAL && attr.bp_len == 4)
		attr.bp_len = 8;
	if (fd >= 0)
		close(fd);
	return attr;
}

#endif
