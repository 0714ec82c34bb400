/* SPDX-License-Identifier: MIT */
/* Which part of an attr is refused. */
#ifndef PART_H
#define PART_H

#include "../pm_sys.h"

/*
 * The part of the attr without which the event opens, where there is a single one; else NULL. It is
 * removed from *attr. `ask` returns 0 where an event of such an attr opens.
 */
const char *find_part(struct perf_event_attr *attr,
		      int (*ask)(const struct perf_event_attr *attr, const void *context),
		      const void *context);

#endif
