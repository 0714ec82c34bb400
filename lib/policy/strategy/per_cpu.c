/* SPDX-License-Identifier: MIT */
/*
 * Strategy per_cpu: for each thread and CPU an inheriting event, all events of a CPU forwarded to
 * one ring, only its leader mapped and polled.
 *
 * Events are opened enabled, which saves a call for each: what comes before there is a ring was not
 * to be observed yet. Groups are not: a leader is enabled after its members.
 *
 * Never one ring for inheriting events of any CPU, though kernels take it: inherited copies on
 * several CPUs would write into it at once, and a ring is made for one writing CPU at a time.
 */
#include "../plan/cost.h"
#include "../proof/canary.h"
#include "../engine/on_cpus.h"
#include "shared.h"

void pm_cost_per_cpu(const struct pm_plan *plan, struct pm_cost *ret)
{
	pm_cost_hold(ret, pm_cost_targets(plan, ret->threads) * ret->cpus);
	ret->rings = ret->cpus;
}

static int attach_cpus(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag)
{
	session->events.enabled = !pm_plan_takes(session->plan, MODIFIER(GROUP));
	return pm_on_cpus_open_shared(session, cpus, diag);
}

const struct operations pm_operations_per_cpu = {
	.attach = pm_on_cpus_attach,
	.attach_cpus = attach_cpus,
	.prove = pm_canary_inherits,
};

#define NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("attach.self.one_cpu", false) \
	X("inherit.ring.thread", false) \
	X("output.same_cpu.other_thread", false) \
	X("strategy.per_cpu.every_sample_once", false) \
	X("strategy.per_cpu.old_and_new_threads", false)
PM_NEEDS(per_cpu, NEEDS);

const struct strategy pm_strategy_per_cpu = {
	.name = "per_cpu",
	.what = "inheriting events on each CPU, forwarded to one ring a CPU",
	.able = FOR_SELF | USES_PERF | CAN_SAMPLE | BY_CPU | INHERITS | USES_RINGS | GIVES_SUMS |
		GIVES_GROUPS,
	.needs = needs_per_cpu,
	.proof = "strategy.per_cpu.every_sample_once",
	.cost = pm_cost_per_cpu,
	.operations = &pm_operations_per_cpu,
};
