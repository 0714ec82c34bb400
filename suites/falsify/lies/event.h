/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this process has opened, as far as lies depend on it: calls_open.c.
 */
#ifndef EVENT_H
#define EVENT_H

#include <stdbool.h>

#include "../../../lib/pm_abi.h"

struct event {
	bool open;
	struct perf_event_attr attr;
	bool refreshed, filtered, paused, woken, swallowed;
	bool ended;			/* read at its end */
	int opener;			/* the process that opened it */
	unsigned int reads, wakeups;
	unsigned long late;		/* an ioctl that waits to be done */
	unsigned long late_argument;
	bool has_late;
	unsigned char last[512];	/* what was read before, and how much */
	long last_size;
};

/* NULL for what is no event, or was opened by another program. */
struct event *event_of(int fd);
/* The event of this process that was opened first, or last; -1 for none. */
int event_first(void);
int event_last(void);

#endif
