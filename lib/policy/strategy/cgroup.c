/* SPDX-License-Identifier: MIT */
/*
 * Strategy cgroup: as cpu_wide, and the kernel itself leaves out what is not of the cgroup. open.c
 * hands the cgroup's descriptor over in place of a process.
 */
#include "shared.h"

#define NEEDS(X) \
	X("attach.cgroup.counts", false) \
	X("attach.cgroup_scope.member", false) \
	X("attach.cgroup_scope.below", false) \
	X("output.same_cpu.cpu_wide", false)
PM_NEEDS(cgroup, NEEDS);

const struct strategy pm_strategy_cgroup = {
	.name = "cgroup",
	.what = "everything of a cgroup on each CPU",
	.able = FOR_CGROUP | USES_PERF | CAN_SAMPLE | CAN_COUNT | BY_CPU | USES_RINGS |
		GIVES_SUMS | GIVES_GROUPS | OWNED_BY_CPU,
	.needs = needs_cgroup,
	.proof = "attach.cgroup.counts",
	.cost = pm_cost_cpu_wide,
	.operations = &pm_operations_cpu_wide,
};
