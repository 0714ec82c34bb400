/* SPDX-License-Identifier: MIT */
/* What a spec asks for, whoever is to do it. */
#include "spec.h"

#define FLAGS_ALL ((unsigned int)(PM_SPEC_USER_ONLY | PM_SPEC_EXACT))
#define WANTS_ALL ((unsigned int)(PM_WANT_ADDRESS | PM_WANT_CALLCHAIN | PM_WANT_CPU | PM_WANT_RAW))

bool pm_spec_is_known(const struct pm_event_spec *spec)
{
	return !(spec->flags & ~FLAGS_ALL) && !(spec->want & ~WANTS_ALL);
}

bool pm_is_time(const struct pm_event_spec *spec)
{
	if (spec->type == PERF_TYPE_SOFTWARE)
		return spec->config == PERF_COUNT_SW_CPU_CLOCK ||
			spec->config == PERF_COUNT_SW_TASK_CLOCK;
	return spec->type == PERF_TYPE_HARDWARE && spec->config == PERF_COUNT_HW_CPU_CYCLES;
}

bool pm_is_hardware(const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_HARDWARE || spec->type == PERF_TYPE_HW_CACHE ||
		spec->type == PERF_TYPE_RAW;
}

bool pm_happens_in_kernel(const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_TRACEPOINT ||
		(spec->type == PERF_TYPE_SOFTWARE &&
		 (spec->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		  spec->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		  spec->config == PERF_COUNT_SW_CGROUP_SWITCHES));
}

struct perf_event_attr pm_spec_attr(const struct pm_event_spec *spec, bool user_only)
{
	struct perf_event_attr attr = {
		.type = spec->type, .config = spec->config, .config1 = spec->config1,
		.config2 = spec->config2,
	};

	attr.exclude_kernel = attr.exclude_hv = user_only || (spec->flags & PM_SPEC_USER_ONLY);
	if (spec->type == PERF_TYPE_BREAKPOINT) {
		attr.config = 0;
		attr.bp_type = (uint32_t)spec->config;
	}
	return attr;
}
