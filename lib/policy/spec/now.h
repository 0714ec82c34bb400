/* SPDX-License-Identifier: MIT */
/* The time, and timers; not installed. */
#ifndef PM_NOW_H
#define PM_NOW_H

#include <time.h>

#include "../../pm_sys.h"

/* ns of a clock; 0 where a filter refuses it. */
static inline uint64_t pm_now_by(int clock)
{
	uint64_t now = 0;

	(void)pm_clock_ns(clock, &now);
	return now;
}

static inline uint64_t pm_now(void)
{
	return pm_now_by(CLOCK_MONOTONIC);
}

/* First after so many ns, and then again and again. */
static inline struct itimerspec pm_each(uint64_t ns)
{
	const struct timespec each = {
		.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000),
	};

	return (struct itimerspec){ each, each };
}

#endif
