/* SPDX-License-Identifier: MIT */
/* Attrs of a sampler's events; not installed. */
#ifndef PM_SAMPLER_ATTRS_H
#define PM_SAMPLER_ATTRS_H

#include "watch.h"

/* What the options ask of an event: fills its `wanted`. */
void pm_watch_want(const struct pm_sampler *sampler, struct watch_event *event);

/* Builds the attr from what is left of it. */
void pm_watch_build(const struct pm_sampler *sampler, struct watch_event *event);

/* That of side-band, which tells nothing: for an event that lends its ring, or proves it. */
void pm_watch_no_side(const struct pm_sampler *sampler, struct perf_event_attr *ret);

const char *pm_watch_extra_name(enum extra extra);

#endif
