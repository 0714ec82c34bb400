/* SPDX-License-Identifier: MIT */
/* Events of CPUs, whatever runs there, and CPUs that come and go; not installed. */
#ifndef PM_SAMPLER_CPUS_H
#define PM_SAMPLER_CPUS_H

#include "watch.h"

/* Opens all events and a ring on each CPU that was asked for. 0 or -errno, with the diagnosis. */
int pm_watch_open_cpus(struct pm_sampler *sampler, struct pm_diag *diag);

/*
 * Lets go of events of CPUs that are offline, or were since the last look; opens what is missing on
 * those that are there, enabled. What cannot be opened is counted.
 */
void pm_watch_follow_cpus(struct pm_sampler *sampler);

#endif
