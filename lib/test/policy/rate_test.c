/* SPDX-License-Identifier: MIT */
/* Frequencies above kernel.perf_event_max_sample_rate, which this test leaves as it is. */
#include "../test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../perfmodes.h"
#include "../../pm_sys.h"

#define LIMIT "/proc/sys/kernel/perf_event_max_sample_rate"

static struct pm_event_spec clock_at(int64_t frequency)
{
	return (struct pm_event_spec){
		.size = sizeof(struct pm_event_spec), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK, .frequency = (uint64_t)frequency,
		.tid = PM_ALL_THREADS, .flags = PM_SPEC_USER_ONLY,
	};
}

/* The limit, and that the kernel takes it and no more. */
static int64_t limit_in_force(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .freq = 1,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	int64_t most;
	int fd;

	if (pm_read_number(LIMIT, &most) < 0)
		skip();
	attr.sample_freq = (uint64_t)most;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		skip();
	close(fd);
	attr.sample_freq++;
	assert_int_equal(pm_open(&attr, 0, -1, -1, 0), -EINVAL);
	return most;
}

static void more_than_the_kernel_takes(void **state)
{
	static const struct pm_session_opts any = { .size = sizeof(any), .allow = PM_ALLOW_ALL };
	static const struct pm_session_opts none = { .size = sizeof(none) };
	const int64_t most = limit_in_force();
	const struct pm_event_spec spec = clock_at(most + 1);
	char said[8000], wanted[160];
	struct pm_plan *plan;

	(void)state;
	snprintf(wanted, sizeof(wanted), "%lld samples a second instead of %lld: more than "
		 "kernel.perf_event_max_sample_rate are not taken (EINVAL)", (long long)most,
		 (long long)most + 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pm_plan_make(&spec, 1, i ? &any : &none, NULL, NULL, &plan), 0);
		assert_int_equal(pm_plan_strategy(plan), PM_STRATEGY_PER_CPU);
		(void)pm_plan_explain(plan, said, sizeof(said));
		assert_non_null(strstr(said, wanted));
		assert_null(strstr(said, "does not know a field"));
		pm_plan_destroy(plan);
	}
}

static void as_many_as_it_takes(void **state)
{
	static const struct pm_session_opts none = { .size = sizeof(none) };
	const struct pm_event_spec spec = clock_at(limit_in_force());
	struct pm_plan *plan;
	char said[8000];

	(void)state;
	assert_int_equal(pm_plan_make(&spec, 1, &none, NULL, NULL, &plan), 0);
	(void)pm_plan_explain(plan, said, sizeof(said));
	assert_null(strstr(said, "samples a second"));
	pm_plan_destroy(plan);
}

/* Not fewer, where it is to be exactly this. */
static void exactly_that_or_nothing(void **state)
{
	static const struct pm_session_opts none = { .size = sizeof(none) };
	const int64_t most = limit_in_force();
	struct pm_event_spec spec = clock_at(most + 1);
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;
	char wanted[80];

	(void)state;
	spec.flags |= PM_SPEC_EXACT;
	assert_true(pm_plan_make(&spec, 1, &none, NULL, &diag, &plan) < 0);
	snprintf(wanted, sizeof(wanted), "kernel.perf_event_max_sample_rate=%lld", (long long)most);
	assert_non_null(strstr(diag.text, wanted));
	assert_null(strstr(diag.text, "does not know a field"));
	snprintf(wanted, sizeof(wanted), "ask for %lld samples a second", (long long)most);
	assert_non_null(strstr(diag.text, wanted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_the_kernel_takes),
		cmocka_unit_test(as_many_as_it_takes),
		cmocka_unit_test(exactly_that_or_nothing),
	};

	return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
