/* SPDX-License-Identifier: MIT */
/* Timers of CPU time in place of a clock. */
#include "cpu_timer.h"

#include <errno.h>

#define PERIOD_LEAST 1000000	/* ns */

int pm_cpu_timer_fits(const struct pm_plan *plan, struct candidate *candidate)
{
	const struct pm_event_spec *spec = &plan->events[0].spec;

	if (!(plan->opts.allow & PM_ALLOW_TIMERS))
		return pm_rule_out(candidate, EINVAL, "timers are not allowed");
	if (plan->count != 1 || !pm_is_time(spec) || !plan->samples ||
	    (spec->flags & PM_SPEC_EXACT))
		return pm_rule_out(candidate, EINVAL, "a timer stands in for one sampled clock or "
				   "cycles only");
	return 0;
}

void pm_cpu_timer_cost(const struct pm_plan *plan, struct pm_cost *ret)
{
	(void)plan;
	ret->descriptors = 1;
}

uint64_t pm_cpu_timer_period(const struct pm_event_spec *spec)
{
	uint64_t period = spec->frequency ? 1000000000 / spec->frequency : spec->period;

	return period < PERIOD_LEAST ? PERIOD_LEAST : period;
}
