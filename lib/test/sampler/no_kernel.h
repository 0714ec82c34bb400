/* SPDX-License-Identifier: MIT */
/* A sampler as pm_sampler_open leaves it, without a kernel behind it. */
#ifndef TEST_SAMPLER_NO_KERNEL_H
#define TEST_SAMPLER_NO_KERNEL_H

#include <stdlib.h>

#include "../../policy/plan/attrs.h"
#include "../../policy/plan/make.h"
#include "../../sampler/watch/watch.h"

#define MOST 32			/* processes */

/* One event by CPU, each occurrence a sample, and all of side-band. */
static inline void set_up(struct pm_sampler *sampler, unsigned int want)
{
	struct pm_plan *plan = pm_plan_blank();

	if (plan == NULL)
		abort();
	sampler->plan = plan;
	sampler->count = 1;
	sampler->way = WAY_CPUS;
	sampler->opts.want = want;
	sampler->opts.side = 2 * PM_SIDE_CHAIN - 1;
	sampler->opts.clock = 2;
	sampler->turn_began = 1ull << 40;
	plan->modifiers = MODIFIERS_OF_ALL;
	plan->opts.side = sampler->opts.side;
	plan->want = sampler->opts.want;
	plan->apart.cpus = &sampler->on;
	plan->count = 2;
	plan->events[0].spec.period = 1;
	plan->events[0].sampled = true;
	plan->events[1].side = true;
	for (int i = MODIFIERS_OF_FACTS; i < MODIFIERS; i++)
		plan->modifiers |= pm_attr_asks(plan, i) ? UINT32_C(1) << i : 0;
	for (uint32_t i = 0; i < 2; i++) {
		plan->events[i].led_by = i + 1;
		plan->events[i].modifiers = pm_attr_of_event(plan, &plan->events[i]);
		pm_attr_build(plan, &plan->events[i]);
		pm_format_of(&plan->events[i].attr, &sampler->formats[i]);
	}
	sampler->processes.clock = -1;
	(void)pm_processes_begin(&sampler->processes, MOST);
}

#endif
