/* SPDX-License-Identifier: MIT */
/* Opening the events of a sampler; not installed. */
#ifndef PM_SAMPLER_OPENING_H
#define PM_SAMPLER_OPENING_H

#include "watch.h"

/* Tries the ways in their order and opens everything in the first that works. 0 or -errno. */
int pm_watch_open(struct pm_sampler *sampler, struct pm_diag *diag);

/* "events on each CPU"... */
const char *pm_watch_way_name(enum way way);

/*
 * Opens for watched processes that have no events yet, and on CPUs that came; enabled. What a limit
 * leaves out is counted.
 */
void pm_watch_follow(struct pm_sampler *sampler);

/* The process is gone: closes events that nobody has inherited any more. */
void pm_watch_leave(struct pm_sampler *sampler, const struct process *process);

#endif
