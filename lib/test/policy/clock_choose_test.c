/* SPDX-License-Identifier: MIT */
/* Which of the wanted clocks can stamp an event's records. */
#include "../test.h"
#include "../fake_kernel.h"

#include <time.h>

#include "../../perfmodes.h"

static void ladder_of_clocks(void **state)
{
	const struct pm_event_spec dummy = { .size = sizeof(dummy), .type = 1, .config = 9 };
	struct pm_profile *profile = pm_profile_create();
	const struct pm_fact fact = { .size = sizeof(fact), .key = "clock.clockid.realtime.stamps",
				      .verdict = PM_BROKEN, .rank = PM_RANK_BUILD };
	struct pm_diag diag = { .size = sizeof(diag) };
	int chosen = 77;

	(void)state;
	(void)fake_kernel_setup(NULL);
	assert_int_equal(pm_clock_choose(&dummy, CLOCK_REALTIME, profile, NULL, &chosen), 0);
	assert_int_equal(chosen, CLOCK_REALTIME);
	assert_int_equal(pm_profile_set(profile, &fact), 1);
	assert_int_equal(pm_clock_choose(&dummy, CLOCK_REALTIME, profile, NULL, &chosen), 0);
	assert_int_equal(chosen, CLOCK_MONOTONIC);
	fake_kernel.refuses_clockid = true;
	assert_int_equal(pm_clock_choose(&dummy, CLOCK_MONOTONIC, profile, NULL, &chosen), 0);
	assert_int_equal(chosen, PM_CLOCK_DEFAULT);
	fake_kernel.policy_errno = EACCES;
	chosen = 77;
	assert_int_equal(pm_clock_choose(&dummy, CLOCK_MONOTONIC, profile, &diag, &chosen),
			 -EACCES);
	assert_int_equal(chosen, 77);
	assert_int_equal(diag.error, EACCES);
	pm_profile_destroy(profile);
}

/* This kernel's own answer for an event that hits in an NMI. */
static void ladder_of_a_breakpoint(void **state)
{
	static uint64_t watched;
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = 5, .config = HW_BREAKPOINT_W,
		.config1 = (uintptr_t)&watched, .config2 = sizeof(watched),
		.flags = PM_SPEC_USER_ONLY,
	};
	int chosen;

	(void)state;
	fake_kernel.on = false;
	if (pm_clock_choose(&spec, CLOCK_REALTIME, NULL, NULL, &chosen) < 0)
		skip();
	assert_true(chosen == CLOCK_MONOTONIC || chosen == PM_CLOCK_DEFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ladder_of_clocks),
		cmocka_unit_test(ladder_of_a_breakpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
