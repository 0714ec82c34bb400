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
	bool enabled, disabled;		/* was so once by an ioctl */
	bool refreshed, filtered, paused, woken, swallowed;
	bool ended;			/* read at its end */
	int number;			/* so many were open, and this one */
	int opener;			/* the process that opened it */
	int page;			/* of page.c; 0: none */
	unsigned int reads, wakeups, ids;
	unsigned long late;		/* an ioctl that waits to be done */
	unsigned long late_argument;
	bool has_late;
	unsigned char last[512];	/* what was read before, and how much */
	long last_size;
};

/* NULL for what is no event, or was opened by another program. */
struct event *event_of(int fd);
/* What the kernel wrote into the event's user page is made false once more. page.c */
void lies_in_page(const struct event *event);
/* The event's user page has been mapped writable. */
void lies_map_page(struct event *event, void *page);
/* The event of this process that was opened first, or last; -1 for none. */
int event_first(void);
int event_last(void);

#endif
