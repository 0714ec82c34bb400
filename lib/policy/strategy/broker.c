/* SPDX-License-Identifier: MIT */
/*
 * Strategy broker: a process that may open events opens them for this one and hands them over a
 * socket. From then on they are like any others: rings are mapped here and count as ours.
 */
#include "../engine/engine.h"
#include "shared.h"

static void cost(const struct pm_plan *plan, struct pm_cost *ret)
{
	if (plan->samples)
		pm_cost_per_cpu(plan, ret);
	else
		pm_cost_counters(plan, ret);
}

static int fits(const struct pm_plan *plan, struct candidate *candidate)
{
	if (plan->opts.broker < 0)
		return pm_rule_out(candidate, EINVAL, "there is no broker");
	if (plan->refusal.error == 0)
		return pm_rule_out(candidate, EINVAL, "the events open without it");
	if (plan->brokered)
		return 0;
	return pm_rule_out(candidate, EACCES, "%s", plan->broker_says[0] ? plan->broker_says :
			   "it serves this process's threads only, and no filters");
}

/* The session goes on by what another strategy does, with the broker behind each open. */
static int attach(struct pm_session *session, struct pm_diag *diag)
{
	session->plan->via_broker = true;
	session->operations = session->plan->samples ? &pm_operations_per_cpu :
		&pm_operations_counters;
	return session->operations->attach(session, diag);
}

static const struct operations operations = { .attach = attach };

#define NEEDS(X) \
	X("attach.descriptor_sent.counts", false)
PM_NEEDS(broker, NEEDS);

const struct strategy pm_strategy_broker = {
	.name = "broker",
	.what = "events opened by a privileged process, per CPU or as counters",
	.able = FOR_SELF | CAN_SAMPLE | CAN_COUNT | USES_RINGS | GIVES_SUMS | BY_OTHERS,
	.needs = needs_broker,
	.proof = "attach.descriptor_sent.counts",
	.fits = fits,
	.cost = cost,
	.operations = &operations,
};
