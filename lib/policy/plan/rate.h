/* SPDX-License-Identifier: MIT */
/* How often an event samples; not installed. */
#ifndef PM_RATE_H
#define PM_RATE_H

#include "../spec/spec.h"

#define PM_CLOCK_PERIOD_LEAST 10000	/* ns: perf_swevent_start_hrtimer() of linux */

/*
 * Sets the frequency, or with 0 the period, of an attr that is else complete. Timers of a clock are
 * no faster than the kernel's, whose samples would say that they stand for less than they do; and
 * samples whose period pm_period_is_told() forbids do not tell it.
 */
void pm_rate_set(struct perf_event_attr *attr, uint64_t period, uint64_t frequency);

/* Says it where a clock is slower than the spec asks for. */
void pm_rate_say(const struct perf_event_attr *attr, const struct pm_event_spec *spec, char *why,
		 size_t size);

/*
 * After EINVAL: the kernel takes no frequency above kernel.perf_event_max_sample_rate, which it
 * lowers by itself where samples take long. True when it was that: as much as is left stands in
 * `frequency` then, and `why` says so.
 */
bool pm_rate_less(const struct pm_event_spec *spec, uint64_t *frequency, char *why, size_t size);

#endif
