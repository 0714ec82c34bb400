/* SPDX-License-Identifier: MIT */
/* Events that this kernel opens in the way that is tried; not installed. */
#ifndef PM_SAMPLER_NEGOTIATE_H
#define PM_SAMPLER_NEGOTIATE_H

#include "watch.h"

/*
 * One call of perf_event_open(2) in the sampler's way, with the event's filter; by a broker when
 * this process is refused. Returns the descriptor or -errno.
 */
int pm_watch_open_event(struct pm_sampler *sampler, const struct watch_event *event,
			uint32_t tid, int cpu, int group);

/*
 * Whether an open was refused for the event on that CPU, whoever asks: it may be one of a PMU that
 * is of other CPUs.
 */
bool pm_watch_is_of_event(int err);

/* What the broker last refused with, in words; it did. */
const char *pm_watch_broker_says(const struct pm_sampler *sampler);

/*
 * Opens each event as it will be, with what the kernel takes of it, on a thread where the way is by
 * thread; closes them again. 0; -errno with the diagnosis.
 */
int pm_watch_negotiate(struct pm_sampler *sampler, uint32_t tid, struct pm_diag *diag);

#endif
