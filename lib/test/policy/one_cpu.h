/* SPDX-License-Identifier: MIT */
/* Shared by tests whose work has to be on one CPU. Needs _GNU_SOURCE. */
#ifndef ONE_CPU_H
#define ONE_CPU_H

#include <sched.h>

/* The calling thread stays where it is, so that one CPU's events have all of what it does. */
static inline void on_one_cpu(cpu_set_t *before)
{
	cpu_set_t one;

	assert_int_equal(sched_getaffinity(0, sizeof(*before), before), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

#endif
