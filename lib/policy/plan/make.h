/* SPDX-License-Identifier: MIT */
/* Making a plan; not installed. */
#ifndef PM_MAKE_H
#define PM_MAKE_H

#include "plan.h"

/*
 * pm_plan_make, with the strategies that there are, in the order of preference. The array is
 * STRATEGIES long.
 */
int pm_plan_make_of(const struct ranked *strategies, const struct pm_event_spec *specs,
		    size_t count, const struct pm_session_opts *opts, struct pm_profile *profile,
		    struct pm_diag *diag, struct pm_plan **ret);

#endif
