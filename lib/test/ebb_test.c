/* SPDX-License-Identifier: MIT */
/* Event-based branches where there are none: each call is a refusal that says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "../perfmodes_ebb.h"

#ifdef PM_HAS_EBB
#define EXPECTED(err) ((err) != -EOPNOTSUPP)
#else
#define EXPECTED(err) ((err) == -EOPNOTSUPP)
#endif

static void test_refusals(void **state)
{
	const struct pm_ebb_counter counter = { sizeof(counter), 0x1001e, 1000 };
	struct pm_diag diag = { .size = sizeof(diag) };
	uint64_t code = 7;

	(void)state;
	assert_true(EXPECTED(pm_ebb_supported(&diag)));
	assert_true(EXPECTED(pm_ebb_code("cycles", &diag, &code)));
	assert_true(EXPECTED(pm_ebb_open_for(0, &counter, 0, &diag)));
#ifndef PM_HAS_EBB
	struct pm_ebb_opts opts = { .size = sizeof(opts), .counters = &counter, .count = 1 };
	struct pm_ebb_stats stats = { .size = sizeof(stats) };
	struct pm_ebb *ebb = NULL;

	assert_int_equal(code, 7);
	assert_int_equal(diag.error, EOPNOTSUPP);
	assert_int_equal(diag.cause, PM_CAUSE_UNSUPPORTED);
	assert_non_null(strstr(diag.text, "Power only"));
	assert_int_equal(pm_ebb_open(&opts, NULL, &ebb), -EOPNOTSUPP);
	assert_null(ebb);
	assert_int_equal(pm_ebb_start(ebb, NULL), -EOPNOTSUPP);
	assert_int_equal(pm_ebb_stop(ebb), -EOPNOTSUPP);
	assert_int_equal(pm_ebb_set_period(ebb, 0, 1), -EOPNOTSUPP);
	assert_int_equal(pm_ebb_stats(ebb, &stats), -EOPNOTSUPP);
	assert_int_equal(pm_ebb_tid(ebb), -EOPNOTSUPP);
	assert_int_equal(pm_ebb_state(ebb), PM_EBB_STOPPED);
	pm_ebb_request_stop(ebb);
	pm_ebb_destroy(ebb);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_refusals) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
