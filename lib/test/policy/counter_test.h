/* SPDX-License-Identifier: MIT */
/* Shared by both tests of counters. */
#ifndef COUNTER_TEST_H
#define COUNTER_TEST_H

#include "../test.h"
#include "../fake_kernel.h"

#include "../../policy/count/counter.h"

#define SPEC(t, c) { .size = sizeof(struct pm_event_spec), .type = (t), .config = (c) }
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static struct pm_profile *nothing;	/* a profile without facts */
static struct pm_counters *counters;
static const struct pm_registers *registers = &pm_registers;

static inline int setup(void **state)
{
	(void)state;
	(void)fake_kernel_setup(NULL);
	fake_kernel.on = false;
	counters = NULL;
	registers = &pm_registers;
	nothing = pm_profile_create();
	return nothing == NULL;
}

static inline int teardown(void **state)
{
	(void)state;
	pm_counters_destroy(counters);
	pm_profile_destroy(nothing);
	return 0;
}

static inline int open_specs(const struct pm_event_spec *specs, size_t count, unsigned int flags)
{
	return pm_counters_open_on(registers, specs, count, flags, nothing, NULL, &counters);
}

#endif
