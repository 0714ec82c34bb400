/* SPDX-License-Identifier: MIT */
/* Whether a thread may have been created meanwhile, without a listing; not installed. */
#ifndef PM_THREAD_CREATION_H
#define PM_THREAD_CREATION_H

#include <stdbool.h>

struct thread_creation {
	int fd;				/* of /proc/loadavg; -1: it does not tell */
	long last;			/* number that was given last */
};

/* Watching begins. */
void pm_thread_creation_begin(struct thread_creation *creation);

/*
 * True when no thread of this process was created since, but for one that is `known` to have been.
 * False: another may have been, or a process was. Watching ends.
 */
bool pm_thread_creation_none(struct thread_creation *creation, bool known);

#endif
