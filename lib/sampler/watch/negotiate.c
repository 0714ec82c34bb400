/* SPDX-License-Identifier: MIT */
/* The events of a sampler in the way that is tried: the plan finds out what the kernel takes. */
#include "negotiate.h"

#include <errno.h>

#include "../../policy/diagnosis/diag.h"
#include "../../policy/plan/modify.h"
#include "../../policy/plan/negotiate.h"

/*
 * Whether nobody is watched who is not named, so that no child process need inherit: a pattern, a
 * uid and a cgroup are those of the children, too.
 */
static bool are_named(const struct pm_sampler *sampler)
{
	return pm_targets_are_pids(&sampler->processes.rules.targets) &&
		!(sampler->opts.flags & PM_SAMPLER_CHILDREN);
}

/* Before v3.12 there is no dummy event: one that happens to hardly any program tells as much. */
static bool take_other_side(struct plan_event *side)
{
	if (side->error != -ENOENT || side->spec.config != PERF_COUNT_SW_DUMMY)
		return false;
	side->spec.config = PERF_COUNT_SW_EMULATION_FAULTS;
	return true;
}

int pm_watch_negotiate(struct pm_sampler *sampler, uint32_t tid, struct pm_diag *diag)
{
	static const int targets[WAYS] = { PM_CGROUP, PM_SYSTEM, PM_ALL_THREADS };
	struct pm_plan *plan = sampler->plan;

	plan->apart.cpus = &sampler->on;
	plan->apart.inherits = sampler->way == WAY_THREADS;
	plan->apart.children = !are_named(sampler);
	plan->apart.tid = (pid_t)tid;
	plan->apart.broker = &sampler->broker;
	plan->opts.cgroup = sampler->cgroup;
	for (size_t i = 0; i < plan->count; i++)
		plan->events[i].spec.tid = targets[sampler->way];
	do {
		pm_modify_begin(plan);
		pm_plan_negotiate(plan);
	} while (take_other_side(&plan->events[sampler->count]));
	pm_plan_let_go(plan);
	for (size_t i = 0; i < plan->count; i++)
		pm_format_of(&plan->events[i].attr, &sampler->formats[i]);
	sampler->open.plan = plan;
	sampler->open.output = -1;
	return plan->refusal.error == 0 ? 0 : pm_diag_say(diag, plan->refusal.error,
							  plan->refusal.cause, "%s",
							  plan->refusal.text);
}

const char *pm_watch_broker_says(const struct pm_sampler *sampler)
{
	return sampler->broker.gone ? "nothing that makes sense, or is gone" :
		pm_errno_name(-sampler->broker.error);
}
