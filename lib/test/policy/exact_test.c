/* SPDX-License-Identifier: MIT */
/*
 * Page faults counted to the last one: what is sampled is what is counted, the values of a group
 * agree, and nothing of the library's own work is in them. Built without sanitizers, whose own
 * memory faults, too, in whatever is called between two readings.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <signal.h>

#include "sessions.h"

#define FAULTS 2000
#define GROUP 4
/* The first time the code itself is new to the memory of this process. */
#define ROUNDS 3

static unsigned int samples;

static void count_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	samples += sample->tid == (uint32_t)getpid();
}

static const struct pm_listener each = { .size = sizeof(each), .sample = count_sample };

static struct pm_session *attached(struct pm_plan *plan, enum pm_strategy strategy)
{
	struct pm_session *session = pm_session_create(plan, &each, NULL);

	assert_int_equal(pm_session_attach(session, NULL), (int)strategy);
	return session;
}

static void finish(struct pm_session *session, struct pm_plan *plan)
{
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* ------------------------------------------------------------------------------------- signals */

/* Returns how many samples came beyond what was counted. */
static int beyond_the_count(void)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct pm_event_spec spec = faults;
	struct pm_session *session;
	struct pm_plan *plan;

	spec.want = 0;
	plan = plan_of(&spec, 1, PM_STRATEGY_SIGNALS, NULL);
	if (plan == NULL)
		skip();
	session = attached(plan, PM_STRATEGY_SIGNALS);
	assert_int_equal(count_maps(NULL), 0);
	while (pm_session_poll(session, 0) > 0)
		;
	samples = 0;
	assert_int_equal(pm_session_read(session, &before, 1), 1);
	cause_faults(FAULTS);
	assert_int_equal(pm_session_read(session, &after, 1), 1);
	assert_int_equal(pm_session_detach(session), 0);
	assert_in_range(after.value - before.value, FAULTS, FAULTS + 500);
	finish(session, plan);
	return (int)samples - (int)(after.value - before.value);
}

static bool may_be_taken(int number)
{
	return number == SIGURG || number == SIGWINCH || number == SIGIO || number == SIGPROF ||
		number >= SIGRTMIN;
}

static void signals_tell_every_sample(void **state)
{
	struct sigaction action;
	int beyond = 0;

	(void)state;
	for (int i = 0; i < ROUNDS; i++)
		beyond = beyond_the_count();
	assert_int_equal(beyond, 0);
	for (int number = 1; number <= SIGRTMAX; number++)
		if (may_be_taken(number) && sigaction(number, NULL, &action) == 0)
			assert_true(action.sa_handler == SIG_DFL);
}

/* --------------------------------------------------------------------------------------- group */

static struct pm_plan *group_plan(enum pm_strategy strategy)
{
	static const uint64_t configs[GROUP] = {
		PM_SW_PAGE_FAULTS, PM_SW_MINOR_FAULTS, PM_SW_TASK_CLOCK, PM_SW_MAJOR_FAULTS,
	};
	struct pm_event_spec specs[GROUP];

	for (size_t i = 0; i < GROUP; i++)
		specs[i] = (struct pm_event_spec){
			.size = sizeof(specs[0]), .type = PM_TYPE_SOFTWARE, .config = configs[i],
			.want = PM_WANT_GROUP, .period = i == 0,
		};
	return plan_of(specs, GROUP, strategy, NULL);
}

/* Returns by how many the faults of either kind exceed all faults. */
static int64_t beyond_all_faults(enum pm_strategy strategy)
{
	struct pm_value before[GROUP] = { { .size = sizeof(before[0]) } };
	struct pm_value after[GROUP] = { { .size = sizeof(after[0]) } };
	struct pm_plan *plan = group_plan(strategy);
	struct pm_session *session;
	int64_t grown[GROUP];

	if (plan == NULL)
		skip();
	session = attached(plan, strategy);
	assert_int_equal(pm_session_read(session, before, GROUP), GROUP);
	cause_faults(FAULTS);
	assert_int_equal(pm_session_read(session, after, GROUP), GROUP);
	for (size_t i = 0; i < GROUP; i++)
		grown[i] = (int64_t)(after[i].value - before[i].value);
	assert_in_range(grown[0], FAULTS, FAULTS + 500);
	assert_true(grown[2] > 0);
	finish(session, plan);
	return grown[1] + grown[3] - grown[0];
}

static void values_of_a_group_agree(void **state)
{
	static const enum pm_strategy strategies[] = {
		PM_STRATEGY_PER_THREAD, PM_STRATEGY_PER_CPU,
	};
	int64_t beyond = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(strategies); i++) {
		for (int round = 0; round < ROUNDS; round++)
			beyond = beyond_all_faults(strategies[i]);
		assert_int_equal(beyond, 0);
	}
}

/* ---------------------------------------------------------------------------- only the program */

/* What is counted right after the attach. */
static uint64_t counted_at_once(enum pm_strategy strategy, bool sampled)
{
	struct pm_value value = { .size = sizeof(value) };
	struct pm_event_spec spec = faults;

	spec.want = 0;
	spec.period = sampled;
	for (int i = 0; i < ROUNDS; i++) {
		struct pm_plan *plan = plan_of(&spec, 1, strategy, NULL);
		struct pm_session *session;

		if (plan == NULL)
			skip();
		session = attached(plan, strategy);
		assert_int_equal(pm_session_read(session, &value, 1), 1);
		finish(session, plan);
	}
	return value.value;
}

/* Reading looks at the CPUs that are online, which may fault; the canary does 17 at least. */
static void counts_are_of_the_program_alone(void **state)
{
	(void)state;
	assert_in_range(counted_at_once(PM_STRATEGY_COUNTERS, false), 0, 1);
	assert_in_range(counted_at_once(PM_STRATEGY_COUNTERS_PER_CPU, false), 0, 8);
	assert_in_range(counted_at_once(PM_STRATEGY_PER_CPU, true), 0, 8);
	assert_in_range(counted_at_once(PM_STRATEGY_SIGNALS, true), 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_tell_every_sample),
		cmocka_unit_test(values_of_a_group_agree),
		cmocka_unit_test(counts_are_of_the_program_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
