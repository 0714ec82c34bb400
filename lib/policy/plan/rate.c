/* SPDX-License-Identifier: MIT */
/* Periods and frequencies, within what the kernel takes. */
#include "rate.h"

#include "../diagnosis/words.h"

void pm_rate_set(struct perf_event_attr *attr, uint64_t period, uint64_t frequency)
{
	if (frequency != 0) {
		attr->freq = 1;
		attr->sample_freq = frequency;
	} else {
		attr->sample_period = pm_is_clock(attr) && period != 0 &&
			period < PM_CLOCK_PERIOD_LEAST ? PM_CLOCK_PERIOD_LEAST : period;
	}
	if (!pm_period_is_told(attr))
		attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
}

void pm_rate_say(const struct perf_event_attr *attr, const struct pm_event_spec *spec, char *why,
		 size_t size)
{
	if (!attr->freq && pm_is_clock(attr) && spec->period < PM_CLOCK_PERIOD_LEAST &&
	    attr->sample_period == PM_CLOCK_PERIOD_LEAST)
		pm_put_also(why, size, "every %u ns instead: the kernel's timers are no faster",
			    PM_CLOCK_PERIOD_LEAST);
}

bool pm_rate_less(const struct pm_event_spec *spec, uint64_t *frequency, char *why, size_t size)
{
	int64_t most;

	if (spec->frequency == 0 || (spec->flags & PM_SPEC_EXACT) ||
	    pm_read_number("/proc/sys/kernel/perf_event_max_sample_rate", &most) < 0 ||
	    most <= 0 || (uint64_t)most >= *frequency)
		return false;
	pm_put_also(why, size, "%lld samples a second instead of %llu: more than "
		    "kernel.perf_event_max_sample_rate are not taken (EINVAL)", (long long)most,
		    (unsigned long long)*frequency);
	*frequency = (uint64_t)most;
	return true;
}
