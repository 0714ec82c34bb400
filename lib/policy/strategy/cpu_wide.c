/* SPDX-License-Identifier: MIT */
/*
 * Strategy cpu_wide: one event and one ring a CPU, whatever runs there. drain.c drops what was not
 * asked for. It takes a privilege, and few descriptors however many threads there are.
 *
 * When the CPU goes offline its events die, and stay dead when it comes back: late_cpus.c.
 */
#include "../diagnosis/diag.h"
#include "../plan/cost.h"
#include "../plan/hybrid.h"
#include "../plan/open.h"
#include "../proof/canary.h"
#include "../engine/on_cpus.h"
#include "shared.h"

void pm_cost_cpu_wide(const struct pm_plan *plan, struct pm_cost *ret)
{
	pm_cost_hold(ret, plan->count * ret->cpus);
	ret->rings = plan->samples ? ret->cpus : 0;
}

static int fits_event(const struct pm_plan *plan, size_t i, struct candidate *candidate)
{
	const struct plan_event *event = &plan->events[i];
	const int cpu = event->pmu[0] ? pm_hybrid_first(plan, event) : plan->now.first_cpu;
	struct pm_diag diag = { .size = sizeof(diag) };
	struct perf_event_attr attr = event->attr;
	struct pm_event_spec spec = event->spec;
	int fd;

	if (spec.tid != PM_SYSTEM && !event->sampled)
		return pm_rule_out(candidate, EINVAL, "what it counts of event %zu would be of all "
				   "processes", i);
	fd = pm_plan_open(plan, event, &attr, -1, cpu);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	spec.tid = PM_SYSTEM;
	candidate->cause = pm_diag_open(&diag, &spec, cpu, fd);
	return pm_rule_out(candidate, -fd, "%s", diag.text);
}

/* A process that may observe itself may not observe a CPU, so that is tried separately. */
static int fits(const struct pm_plan *plan, struct candidate *candidate)
{
	int err = plan->now.first_cpu < 0 ? plan->now.first_cpu : 0;

	if (err < 0)
		return pm_rule_out(candidate, -err, "no CPU of %.100s is online", plan->cpus);
	for (size_t i = 0; err == 0 && i < plan->count; i++)
		err = fits_event(plan, i, candidate);
	return err;
}

/* -------------------------------------------------------------------------------------- attach */

static int open_on_cpu(struct event_list *events, int cpu, uint32_t *ret_spec)
{
	struct session_event wanted = { .tid = -1, .cpu = cpu };

	for (; wanted.spec < events->plan->count; wanted.spec++) {
		int at;

		if (!pm_plan_is_on(&events->plan->events[wanted.spec], cpu))
			continue;
		at = pm_events_open(events, &wanted, false);

		*ret_spec = wanted.spec;
		if (at < 0)
			return at;
	}
	return 0;
}

/* A CPU that goes offline meanwhile (ENODEV) has nothing to tell, and is left out. */
static int open_all(struct event_list *events, struct pm_cpus *cpus, struct pm_diag *diag)
{
	size_t kept = 0;

	for (size_t i = 0; i < cpus->count; i++) {
		uint32_t spec = 0;
		int err = open_on_cpu(events, cpus->list[i], &spec);

		if (err == -ENODEV && spec == 0)
			continue;
		if (err < 0)
			return pm_events_refused(events, spec, cpus->list[i], err, diag);
		cpus->list[kept++] = cpus->list[i];
	}
	cpus->count = kept;
	return kept > 0 ? 0 : pm_diag_say(diag, ENODEV, PM_CAUSE_NO_TARGET, "attach: no CPU is "
					  "online");
}

static int attach_cpus(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag)
{
	const size_t first = session->events.count;
	int err = open_all(&session->events, cpus, diag);

	if (err < 0)
		return err;
	return session->plan->samples ? pm_on_cpus_connect(session, cpus, first, diag) :
		pm_events_enable(&session->events, diag);
}

const struct operations pm_operations_cpu_wide = {
	.attach = pm_on_cpus_attach,
	.attach_cpus = attach_cpus,
	.prove = pm_canary_inherits,
};

#define NEEDS(X) \
	X("attach.cpu_wide.sees_other_tasks", false) \
	X("attach.cpu_wide.sees_opener", false) \
	X("output.same_cpu.cpu_wide", false) \
	X("strategy.cpu_wide_filter.cpu_wide_filter", false)
PM_NEEDS(cpu_wide, NEEDS);

const struct strategy pm_strategy_cpu_wide = {
	.name = "cpu_wide",
	.what = "everything on each CPU, what was not asked for dropped",
	.able = FOR_SELF | FOR_SYSTEM | USES_PERF | CAN_SAMPLE | CAN_COUNT | BY_CPU | USES_RINGS |
		GIVES_SUMS | GIVES_GROUPS | OWNED_BY_CPU,
	.needs = needs_cpu_wide,
	.proof = "attach.cpu_wide.sees_opener",
	.fits = fits,
	.cost = pm_cost_cpu_wide,
	.operations = &pm_operations_cpu_wide,
};
