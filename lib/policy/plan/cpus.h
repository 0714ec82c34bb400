/* SPDX-License-Identifier: MIT */
/* The CPUs that are to be observed; not installed. */
#ifndef PM_CPUS_H
#define PM_CPUS_H

#include "../../perfmodes.h"

struct pm_cpus {
	int *list;
	size_t count;
};

/*
 * The online CPUs of the set `only`, as "0-3,8"; "": all of them. The list is to be freed; there
 * is none on failure. -ENOMEM, -ENODEV when none is online, -EINVAL for a bad set; the diagnosis
 * may be NULL.
 */
int pm_cpus_list(const char *only, struct pm_diag *diag, struct pm_cpus *ret);

/* Whether that CPU is one of them. */
bool pm_cpus_hold(const struct pm_cpus *cpus, int cpu);

#endif
