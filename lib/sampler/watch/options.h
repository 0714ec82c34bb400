/* SPDX-License-Identifier: MIT */
/* What a caller asks for, taken over; not installed. */
#ifndef PM_SAMPLER_OPTIONS_H
#define PM_SAMPLER_OPTIONS_H

#include "watch.h"

/* Copies options, events and listener, with their defaults. -EINVAL with the diagnosis. */
int pm_watch_take_opts(struct pm_sampler *sampler, const struct pm_sampler_opts *opts,
		       struct pm_diag *diag);
int pm_watch_take_events(struct pm_sampler *sampler, const struct pm_sampler_event *events,
			 size_t count, struct pm_diag *diag);
int pm_watch_take_listener(struct pm_sampler *sampler, const struct pm_sampler_listener *listener,
			   void *context, struct pm_diag *diag);

/* Targets and the rules beside them; after the options. -EINVAL, -ENOMEM. */
int pm_watch_take_targets(struct pm_sampler *sampler, const struct pm_target *targets,
			  size_t count, struct pm_diag *diag);

#endif
