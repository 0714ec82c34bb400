/* SPDX-License-Identifier: MIT */
/*
 * That the events of a sampler deliver; not installed. Where a system call is emulated or filtered,
 * all of it may be accepted and nothing be enabled: then a sampler would tell nothing, for ever.
 */
#ifndef PM_SAMPLER_PROVE_H
#define PM_SAMPLER_PROVE_H

#include "watch.h"

/*
 * Everything is open, nothing enabled. An event of the calling thread on each CPU shares the rings
 * and is enabled as the others will be: its time must go on, and its record arrive. 0, also where
 * the caller may have no such event; -EIO with the diagnosis.
 */
int pm_watch_prove_opened(struct pm_sampler *sampler, struct pm_diag *diag);

/*
 * Everything has been enabled: the events of CPUs must go on, -EIO with the diagnosis. Threads have
 * to show when they run: they are noted. -ENOMEM.
 */
int pm_watch_prove_started(struct pm_sampler *sampler, struct pm_diag *diag);

/* Looks at the threads that have run meanwhile; events are enabled yet. */
void pm_watch_prove_threads(struct pm_sampler *sampler);

#endif
