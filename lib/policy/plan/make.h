/* SPDX-License-Identifier: MIT */
/* Making a plan; not installed. */
#ifndef PM_MAKE_H
#define PM_MAKE_H

#include "plan.h"

/* One without events, for pm_plan_destroy. NULL: no memory. */
struct pm_plan *pm_plan_blank(void);

/* Takes over the spec that is in the event, its texts as well. -EINVAL. */
int pm_plan_take_spec(struct pm_plan *plan, struct plan_event *event);

/* Takes over a list of CPUs, to which `cpus` points then; NULL: all. -EINVAL. */
int pm_plan_take_cpus(struct pm_plan *plan, const char **cpus);

/*
 * pm_plan_make, with the strategies that there are, in the order of preference. The array is
 * STRATEGIES long.
 */
int pm_plan_make_of(const struct ranked *strategies, const struct pm_event_spec *specs,
		    size_t count, const struct pm_session_opts *opts, struct pm_profile *profile,
		    struct pm_diag *diag, struct pm_plan **ret);

#endif
