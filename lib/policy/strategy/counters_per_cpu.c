/* SPDX-License-Identifier: MIT */
/*
 * Strategy counters_per_cpu: for each thread and CPU a counter, so that the kernel itself tells on
 * which CPU a thread did what. Asking where a thread is after reading its one counter is a guess
 * that a migration makes wrong.
 */
#include "../plan/cost.h"
#include "../proof/canary.h"
#include "../engine/on_cpus.h"

static void cost(const struct pm_plan *plan, struct pm_cost *ret)
{
	pm_cost_hold(ret, pm_cost_targets(plan, ret->threads) * ret->cpus);
}

static const struct operations operations = {
	.attach = pm_on_cpus_attach,
	.attach_cpus = pm_on_cpus_count,
	.prove = pm_canary_inherits,
};

#define NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("attach.self.one_cpu", false) \
	X("attach.self.back_on_cpu", false) \
	X("inherit.follow.thread.counts_alive", false) \
	X("inherit.follow.thread.counts_after_exit", false)
PM_NEEDS(counters_per_cpu, NEEDS);

const struct strategy pm_strategy_counters_per_cpu = {
	.name = "counters_per_cpu",
	.what = "inheriting counters of each thread on each CPU, read(2)",
	.able = FOR_SELF | USES_PERF | CAN_COUNT | BY_CPU | INHERITS | GIVES_SUMS,
	.needs = needs_counters_per_cpu,
	.proof = "attach.self.one_cpu",
	.cost = cost,
	.operations = &operations,
};
