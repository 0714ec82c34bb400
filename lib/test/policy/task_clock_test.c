/* SPDX-License-Identifier: MIT */
/*
 * Counting CPU time on a kernel whose cpu-clock loses what it has counted: next to nothing is left,
 * as its events count page faults here.
 */
#include "../test.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../perfmodes.h"
#include "between.h"

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	if (attr != NULL && attr->type == PERF_TYPE_SOFTWARE &&
	    attr->config == PERF_COUNT_SW_CPU_CLOCK && attr->sample_period == 0)
		attr->config = PERF_COUNT_SW_PAGE_FAULTS;
	return open_really(real, args);
}

#define WORK_NS 3000000

static struct pm_profile *profile;
static char said[4096];

static int setup(void **state)
{
	(void)state;
	profile = pm_profile_create();
	return profile == NULL;
}

static int teardown(void **state)
{
	(void)state;
	pm_profile_destroy(profile);
	return 0;
}

static void say(enum pm_verdict verdict)
{
	const struct pm_fact fact = { .size = sizeof(fact), .key = "sw.clocks.cpu_switched",
				      .verdict = verdict, .rank = PM_RANK_RELEASE };

	assert_true(pm_profile_set(profile, &fact) >= 0);
}

static void work(void)
{
	struct timespec now, begin;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000ll + now.tv_nsec - begin.tv_nsec < WORK_NS);
}

/* What a session counts of this process's CPU time; what its plan says is in `said`. */
static uint64_t count(unsigned int flags)
{
	const struct pm_event_spec clock = {
		.size = sizeof(clock), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK, .tid = PM_ALL_THREADS,
		.flags = PM_SPEC_USER_ONLY | flags,
	};
	const struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_value value = { .size = sizeof(value) };
	struct pm_plan *plan;
	struct pm_session *session;

	if (pm_plan_make(&clock, 1, &opts, profile, NULL, &plan) < 0)
		skip();
	pm_plan_explain(plan, said, sizeof(said));
	session = pm_session_create(plan, NULL, NULL);
	assert_non_null(session);
	assert_true(pm_session_attach(session, NULL) >= 0);
	work();
	assert_true(pm_session_read(session, &value, 1) >= 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	return value.value;
}

static void cpu_clock_is_what_was_asked_for(void **state)
{
	(void)state;
	say(PM_YES);
	assert_true(count(0) < WORK_NS / 3);
	assert_null(strstr(said, "task-clock"));
}

static void task_clock_counts_in_its_place(void **state)
{
	(void)state;
	say(PM_BROKEN);
	assert_true(count(0) > WORK_NS / 3);
	assert_non_null(strstr(said, "event 0, cpu-clock:u: task-clock instead: cpu-clock loses "
			       "counts here (sw.clocks.cpu_switched"));
}

static void who_wants_this_very_event_is_told(void **state)
{
	(void)state;
	say(PM_BROKEN);
	assert_true(count(PM_SPEC_EXACT) < WORK_NS / 3);
	assert_non_null(strstr(said, "it loses what it counted when its thread is switched out"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cpu_clock_is_what_was_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(task_clock_counts_in_its_place, setup, teardown),
		cmocka_unit_test_setup_teardown(who_wants_this_very_event_is_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
