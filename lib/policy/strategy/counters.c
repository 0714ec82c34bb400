/* SPDX-License-Identifier: MIT */
/* Strategy counters: an inheriting counter for each thread, without rings. */
#include "../plan/cost.h"
#include "../proof/canary.h"
#include "../engine/on_cpus.h"
#include "shared.h"

void pm_cost_counters(const struct pm_plan *plan, struct pm_cost *ret)
{
	pm_cost_hold(ret, pm_cost_targets(plan, ret->threads));
}

static int attach(struct pm_session *session, struct pm_diag *diag)
{
	int any = -1;

	return pm_on_cpus_count(session, &(struct pm_cpus){ &any, 1 }, diag);
}

const struct operations pm_operations_counters = {
	.attach = attach,
	.prove = pm_canary_inherits,
};

#define NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("inherit.follow.thread.counts_alive", false) \
	X("inherit.follow.thread.counts_after_exit", false) \
	X("strategy.any_cpu.inherit_any_cpu_count", false)
PM_NEEDS(counters, NEEDS);

const struct strategy pm_strategy_counters = {
	.name = "counters",
	.what = "inheriting counters, read(2)",
	.able = FOR_SELF | USES_PERF | CAN_COUNT | INHERITS | GIVES_SUMS,
	.needs = needs_counters,
	.proof = "strategy.any_cpu.inherit_any_cpu_count",
	.cost = pm_cost_counters,
	.operations = &pm_operations_counters,
};
