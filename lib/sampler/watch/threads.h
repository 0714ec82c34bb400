/* SPDX-License-Identifier: MIT */
/* Events of threads, which what they create inherits; not installed. */
#ifndef PM_SAMPLER_THREADS_H
#define PM_SAMPLER_THREADS_H

#include "watch.h"

/* Negotiates, maps a ring on each CPU, and opens for all watched processes. 0 or -errno. */
int pm_watch_open_threads(struct pm_sampler *sampler, struct pm_diag *diag);

/* Opens for watched processes that have no events yet, and enables those. */
void pm_watch_follow_threads(struct pm_sampler *sampler);

#endif
