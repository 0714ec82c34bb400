/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All the write breakpoints that a task can still have. Included behind probe.h.
 */
#ifndef WRITE_SLOTS_H
#define WRITE_SLOTS_H

#include "breakpoint.h"

/* All the write breakpoints that a task can still have, counting, each on a word of its own. */
#define SLOTS_MOST 64
struct slots {
	int count, error;		/* the errno that ended it, 0 when SLOTS_MOST fit */
	int fds[SLOTS_MOST];
	volatile int64_t words[SLOTS_MOST];
};

static inline void slots_fill(struct slots *slots, pid_t tid)
{
	slots->count = slots->error = 0;
	while (slots->count < SLOTS_MOST) {
		struct perf_event_attr attr =
			attr_access(HW_BREAKPOINT_W, &slots->words[slots->count], 4);
		int fd;

		attr.disabled = 0;
		fd = pm_open(&attr, tid, -1, -1, 0);
		if (fd < 0) {
			slots->error = -fd;
			return;
		}
		slots->fds[slots->count++] = fd;
	}
}

static inline void slots_close(struct slots *slots)
{
	while (slots->count > 0)
		close(slots->fds[--slots->count]);
}

#endif
