/* SPDX-License-Identifier: MIT */
/* Operations that rows other than their own use as well; not installed. */
#ifndef PM_SHARED_OPERATIONS_H
#define PM_SHARED_OPERATIONS_H

#include "../plan/strategy.h"

extern const struct operations pm_operations_per_cpu;	/* also of broker, for samples */
extern const struct operations pm_operations_counters;	/* also of broker, for counts */
extern const struct operations pm_operations_cpu_wide;	/* also of cgroup */

/* Their costs. */
void pm_cost_per_cpu(const struct pm_plan *plan, struct pm_cost *ret);
void pm_cost_counters(const struct pm_plan *plan, struct pm_cost *ret);
void pm_cost_cpu_wide(const struct pm_plan *plan, struct pm_cost *ret);

#endif
