/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this process has opened, as far as lies depend on it: calls_open.c.
 */
#ifndef EVENT_H
#define EVENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "../../../lib/pm_abi.h"

struct event {
	bool open;
	struct perf_event_attr attr;
	bool enabled, disabled;		/* was so once by an ioctl */
	bool refreshed, filtered, paused, woken, swallowed;
	bool ended;			/* read at its end */
	int number;			/* so many were open, and this one */
	int opener;			/* the process that opened it */
	int thread;			/* and the thread */
	int leader;			/* its descriptor, -1 for none */
	int task;			/* whose event it is; 0 the opener's, -1 everybody's */
	uint64_t opened;		/* ns of CLOCK_MONOTONIC */
	bool off;			/* was disabled by an ioctl, and not enabled since */
	bool async;			/* O_ASYNC is set */
	uint64_t enabled_at, running_at;	/* its times, as of the last RESET */
	uint64_t frozen[2];		/* its times when it was read first */
	unsigned int counted;		/* reads, for every seventh */
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
/* What was read of a file that is no event, made false in its place; how long it is. texts.c */
ssize_t lies_in_text(int fd, void *buffer, size_t room, ssize_t size);
/* The times of the event from now on count from what they are. counts.c */
void lies_keep_times(struct event *event, int fd);
/* The event's user page has been mapped writable. */
void lies_map_page(struct event *event, void *page);
/* The event of this process that was opened first, or last; -1 for none. */
int event_first(void);
int event_last(void);
/* The sibling of this leader that was opened last; -1 for none. */
int event_last_sibling(int leader);

#endif
