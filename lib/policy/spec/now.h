/* SPDX-License-Identifier: MIT */
/* The time; not installed. */
#ifndef PM_NOW_H
#define PM_NOW_H

#include <time.h>

#include "../../pm_sys.h"

/* ns of CLOCK_MONOTONIC; 0 where a filter refuses it. */
static inline uint64_t pm_now(void)
{
	uint64_t now = 0;

	(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	return now;
}

#endif
