/* SPDX-License-Identifier: MIT */
/* What the strategies have in common that take timers of CPU time for a clock; not installed. */
#ifndef PM_CPU_TIMER_H
#define PM_CPU_TIMER_H

#include "../plan/plan.h"

/* strategy.fits: one sampled clock or cycles, where timers are allowed. */
int pm_cpu_timer_fits(const struct pm_plan *plan, struct candidate *candidate);

/* strategy.cost: the stop channel only. */
void pm_cpu_timer_cost(const struct pm_plan *plan, struct pm_cost *ret);

/* ns between two signals; not below 1 ms, because CPU timers go by the scheduler's tick anyway. */
uint64_t pm_cpu_timer_period(const struct pm_event_spec *spec);

#endif
