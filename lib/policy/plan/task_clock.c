/* SPDX-License-Identifier: MIT */
/* Counting CPU time where cpu-clock cannot be trusted. */
#include "task_clock.h"

#include "../profile/deny.h"
#include "../profile/facts.h"

PM_FACT(cpu_clock_is_kept, "sw.clocks.cpu_switched");

/* A sampled cpu-clock ticks as it should; only its count is wrong. */
bool pm_needs_task_clock(const struct pm_profile *profile, const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_SOFTWARE && spec->config == PERF_COUNT_SW_CPU_CLOCK &&
		spec->tid >= PM_ALL_THREADS && spec->period == 0 && spec->frequency == 0 &&
		pm_denies(profile, cpu_clock_is_kept);
}

void pm_task_clock_why(const struct pm_profile *profile, char *ret, size_t size)
{
	struct pm_fact fact = { .size = sizeof(fact) };

	if (size > 0)
		ret[0] = '\0';
	if (profile != NULL && pm_profile_lookup(profile, cpu_clock_is_kept, &fact) == 0)
		pm_fact_text(cpu_clock_is_kept, &fact, ret, size);
}
