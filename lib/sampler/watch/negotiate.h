/* SPDX-License-Identifier: MIT */
/* What this kernel takes of each event in the way that is tried; not installed. */
#ifndef PM_SAMPLER_NEGOTIATE_H
#define PM_SAMPLER_NEGOTIATE_H

#include "watch.h"

/* What the broker last refused with, in words; it did. */
const char *pm_watch_broker_says(const struct pm_sampler *sampler);

/*
 * Finds out what the kernel takes of each event in the way that is set, on a thread where it is by
 * thread. 0; -errno with the diagnosis.
 */
int pm_watch_negotiate(struct pm_sampler *sampler, uint32_t tid, struct pm_diag *diag);

#endif
