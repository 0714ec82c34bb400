/* SPDX-License-Identifier: MIT */
/* Counters against this kernel. */
#include "counter_test.h"
#include "sessions.h"

#define FAULTS 37
#define WRITES 11

static uint64_t watched;

static const struct pm_event_spec software[] = { SPEC(1, 5), SPEC(1, 1), SPEC(1, 9) };

/* Opens or skips, where this kernel, its policy or machine does not count. */
static void must_open(const struct pm_event_spec *specs, size_t count, unsigned int flags)
{
	int err = open_specs(specs, count, flags);

	if (err == -EACCES || err == -EPERM || err == -ENOSYS || err == -ENOENT || err == -ENOSPC)
		skip();
	assert_true(err >= 0);
}

static void write_watched(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		*(volatile uint64_t *)&watched = i;
}

static void *faults_in_thread(void *count)
{
	cause_faults(*(unsigned int *)count);
	return NULL;
}

static void run_thread(unsigned int count)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, faults_in_thread, &count), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static uint64_t system_calls(void)
{
	struct pm_counters_stats stats = { .size = sizeof(stats) };

	assert_int_equal(pm_counters_stats(counters, &stats), 0);
	return stats.system_calls;
}

static void faults_in_a_group(void **state)
{
	struct pm_value before[3] = { { .size = sizeof(before[0]) } };
	struct pm_value after[3] = { { .size = sizeof(after[0]) } };

	(void)state;
	must_open(software, 3, 0);
	assert_int_equal(counters->stats.groups, 1);
	cause_faults(FAULTS);	/* not started: not counted */
	assert_int_equal(pm_counters_read(counters, before, 3), 3);
	assert_true(before[0].value == 0 && before[0].enabled == 0);
	assert_int_equal(pm_counters_start(counters), 0);
	cause_faults(FAULTS);
	assert_int_equal(pm_counters_stop(counters), 0);
	assert_int_equal(system_calls(), 1);
	assert_int_equal(pm_counters_read(counters, after, 3), 3);
	assert_int_equal(system_calls(), 2);
	/* The sanitizer's own memory may fault, too, but not in every other page. */
	assert_in_range(after[0].value, FAULTS, FAULTS + FAULTS / 2);
	assert_true(after[1].value > 0 && after[1].value <= after[1].enabled);
	assert_int_equal(after[2].value, 0);
	assert_true(after[0].enabled == after[0].running && after[0].enabled > 0);
	cause_faults(FAULTS);	/* stopped */
	assert_int_equal(pm_counters_read(counters, before, 1), 1);
	assert_int_equal(before[0].value, after[0].value);
}

static void exact_writes(void **state)
{
	const struct pm_event_spec specs[] = {
		SPEC(1, 9),
		{ .size = sizeof(specs[0]), .type = 5, .config = HW_BREAKPOINT_W,
		  .config1 = (uintptr_t)&watched, .config2 = sizeof(watched),
		  .flags = PM_SPEC_USER_ONLY },
	};
	struct pm_value values[2] = { { .size = sizeof(values[0]) } };
	struct pm_value sums[2] = { { sizeof(sums[0]), 100, 0, 0 } };

	(void)state;
	if (!breakpoints_fire())
		skip();
	must_open(specs, 2, PM_COUNTERS_TOGETHER);
	assert_int_equal(pm_counters_start(counters), 0);
	write_watched(WRITES);
	assert_int_equal(pm_counters_read(counters, values, 2), 2);
	assert_int_equal(values[1].value, WRITES);
	assert_int_equal(pm_counters_accumulate(counters, sums, 2), 2);
	write_watched(2 * WRITES);
	assert_int_equal(pm_counters_read(counters, values, 2), 2);
	assert_int_equal(values[1].value, 2 * WRITES);
	assert_int_equal(pm_counters_accumulate(counters, sums, 2), 2);
	assert_int_equal(sums[1].value, 3 * WRITES);
	assert_int_equal(sums[0].value, 100);
	write_watched(1);
	assert_int_equal(pm_counters_reset(counters), 0);
	assert_int_equal(pm_counters_read(counters, values, 2), 2);
	assert_int_equal(values[1].value, 0);
	/* The time restarts as well, which IOC_RESET would not do. */
	assert_true(values[1].enabled < sums[1].enabled);
}

static void read_one_is_the_same(void **state)
{
	struct pm_value all[3] = { { .size = sizeof(all[0]) } }, one = all[0];

	(void)state;
	must_open(software, 3, 0);
	assert_int_equal(pm_counters_start(counters), 0);
	cause_faults(FAULTS);
	assert_int_equal(pm_counters_stop(counters), 0);
	assert_int_equal(pm_counters_read(counters, all, 3), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(pm_counters_read_one(counters, i, &one), 0);
		assert_true(one.value == all[i].value && one.enabled == all[i].enabled &&
			    one.running == all[i].running);
	}
	assert_int_equal(counters->stats.fallbacks, 3);
	assert_int_equal(counters->stats.user_reads, 0);
	assert_int_equal(pm_counters_read_one(counters, 3, &one), -EINVAL);
}

static void inherited(void **state)
{
	struct pm_value values[3] = { { .size = sizeof(values[0]) } };

	(void)state;
	must_open(software, 3, PM_COUNTERS_INHERIT);
	assert_int_equal(pm_counters_start(counters), 0);
	run_thread(20 * FAULTS);
	assert_int_equal(pm_counters_read(counters, values, 3), 3);
	assert_in_range(values[0].value, 20 * FAULTS, 40 * FAULTS);
	pm_counters_destroy(counters);
	/* The same without: what a thread of its own does is not ours. */
	must_open(software, 3, 0);
	assert_int_equal(pm_counters_start(counters), 0);
	run_thread(20 * FAULTS);
	assert_int_equal(pm_counters_read(counters, values, 3), 3);
	assert_in_range(values[0].value, 0, 10 * FAULTS);
}

static uint64_t unproven(void)
{
	struct pm_counters_stats stats = { .size = sizeof(stats) };

	assert_int_equal(pm_counters_stats(counters, &stats), 0);
	return stats.unproven;
}

/* What a start shows, and what it cannot: two of these can be caused on purpose. */
static void what_is_not_proven_is_told(void **state)
{
	(void)state;
	must_open(software, 3, PM_COUNTERS_INHERIT);
	assert_int_equal(unproven(), 3);
	assert_int_equal(system_calls(), 0);
	assert_int_equal(pm_counters_start(counters), 0);
	assert_int_equal(unproven(), 3);
	pm_counters_destroy(counters);
	counters = NULL;
	must_open(software, 3, 0);
	assert_int_equal(pm_counters_start(counters), 0);
	assert_int_equal(unproven(), 1);
}

static void *sleep_for_ever(void *unused)
{
	for (;;)
		(void)pause();
	return unused;
}

/* All threads means all: only where there is no other yet. */
static void all_threads(void **state)
{
	struct pm_event_spec spec = software[0];
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_value value = { .size = sizeof(value) };
	pthread_t thread;

	(void)state;
	spec.tid = PM_ALL_THREADS;
	must_open(&spec, 1, 0);
	assert_int_equal(pm_counters_start(counters), 0);
	run_thread(20 * FAULTS);
	assert_int_equal(pm_counters_read(counters, &value, 1), 1);
	assert_in_range(value.value, 20 * FAULTS, 40 * FAULTS);
	pm_counters_destroy(counters);
	counters = NULL;
	assert_int_equal(pthread_create(&thread, NULL, sleep_for_ever, NULL), 0);
	assert_int_equal(pm_counters_open(&spec, 1, 0, nothing, &diag, &counters), -EBUSY);
	assert_non_null(strstr(diag.text, "session"));
	assert_null(counters);
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void senseless_specs(void **state)
{
	struct pm_event_spec two[] = { software[0], software[1] };
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	assert_int_equal(open_specs(software, 0, 0), -EINVAL);
	assert_int_equal(open_specs(software, COUNTERS_MAX + 1, 0), -EINVAL);
	assert_int_equal(open_specs(software, 1, 1024), -EINVAL);
	two[1].tid = 1;
	assert_int_equal(open_specs(two, 2, 0), -EINVAL);
	two[1] = software[1];
	two[1].flags = PM_SPEC_PRECISE_2 << 1;	/* of a later release */
	assert_int_equal(open_specs(two, 2, 0), -EINVAL);
	two[1].flags = PM_SPEC_PRECISE;
	assert_int_equal(open_specs(two, 2, 0), -EINVAL);
	two[1] = software[1];
	two[1].period = 5;
	assert_int_equal(pm_counters_open(two, 2, 0, nothing, &diag, &counters), -EINVAL);
	assert_non_null(strstr(diag.text, "event 1"));
	two[0].size = offsetof(struct pm_event_spec, filter) - 1;
	assert_int_equal(open_specs(two, 1, 0), -EINVAL);
	assert_null(counters);
}

/* Two specs of an older release without the last field, and one with a field of a later one. */
static void sizes_of_callers(void **state)
{
	const size_t small = offsetof(struct pm_event_spec, filter);
	struct { struct pm_event_spec spec; uint64_t later; } newer = { software[0], 1 };
	struct pm_event_spec older = software[0];
	_Alignas(struct pm_event_spec) char stride[2 * sizeof(older)];

	(void)state;
	newer.spec.size = sizeof(newer);
	assert_int_equal(open_specs(&newer.spec, 1, 0), -EINVAL);
	older.size = small;
	memcpy(stride, &older, small);
	older.config = PERF_COUNT_SW_TASK_CLOCK;
	memcpy(stride + small, &older, small);
	must_open((const void *)stride, 2, 0);
	assert_int_equal(counters->specs[1].config, PERF_COUNT_SW_TASK_CLOCK);
	assert_null(counters->specs[1].filter);
	pm_counters_destroy(counters);
	counters = NULL;
	newer.later = 0;
	must_open(&newer.spec, 1, 0);
}

static void refusal_is_diagnosed(void **state)
{
	struct pm_event_spec spec = SPEC(1, 4711);
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	assert_true(pm_counters_open(&spec, 1, 0, nothing, &diag, &counters) < 0);
	assert_true(diag.error != 0 && diag.cause != PM_CAUSE_NONE);
	assert_non_null(strstr(diag.text, "perf_event_open"));
	assert_null(counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(faults_in_a_group), TEST(exact_writes), TEST(read_one_is_the_same),
		TEST(inherited), TEST(what_is_not_proven_is_told), TEST(all_threads),
		TEST(senseless_specs), TEST(sizes_of_callers), TEST(refusal_is_diagnosed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
