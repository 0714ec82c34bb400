/* SPDX-License-Identifier: MIT */
/* Patterns of tracepoints; not installed. */
#ifndef PM_TRACEPOINTS_H
#define PM_TRACEPOINTS_H

#include "../../perfmodes.h"

/* "sched:*", "syscalls:sys_enter_[rw]*:u": a colon, and a special character of fnmatch(3). */
bool pm_tracepoints_is_pattern(const char *name);

/*
 * Each tracepoint that matches, in the order of their names, with what stands behind the pattern.
 * Returns what `each` returns when that is not 0, -ENOENT when none matches, -EACCES, -ENOMEM.
 */
int pm_tracepoints_each(const char *pattern, struct pm_diag *diag,
			int (*each)(const char *name, void *context), void *context);

#endif
