/* SPDX-License-Identifier: MIT */
/* Whether a thread may have been born meanwhile, without a listing of them; not installed. */
#ifndef PM_BIRTHS_H
#define PM_BIRTHS_H

#include <stdbool.h>

struct births {
	int fd;				/* of /proc/loadavg; -1: it does not tell */
	long last;			/* number that was given last */
};

/* Watching begins. */
void pm_births_begin(struct births *births);

/*
 * True when no thread of this process was born since, but for one that is `known` to have been.
 * False: another may have been, or another process was. Watching ends.
 */
bool pm_births_none(struct births *births, bool known);

#endif
