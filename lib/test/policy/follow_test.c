/* SPDX-License-Identifier: MIT */
/* A session with a ring for each thread, while threads come and go and limits are short. */
#include "../test.h"

#include <sys/resource.h>

#include "../../policy/engine/engine.h"
#include "sessions.h"

static int gate[2];

static void *wait_at_gate(void *context)
{
	char byte;

	if (read(gate[0], &byte, 1) == 1)
		cause_faults(20);
	return context;
}

static void let_through(pthread_t *threads, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(write(gate[1], "x", 1), 1);
	for (size_t i = 0; i < count; i++)
		expect_null(threads[i]);
}

static struct pm_session *follow(struct pm_plan *plan)
{
	struct pm_session *session = pm_session_create(plan, NULL, NULL);

	assert_int_equal(pipe(gate), 0);
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PER_THREAD);
	return session;
}

static void end_follow(struct pm_session *session, struct pm_plan *plan)
{
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	close(gate[0]);
	close(gate[1]);
}

static void poll_twice(struct pm_session *session)
{
	for (int i = 0; i < 2; i++)
		assert_true(pm_session_poll(session, 1) >= 0);
}

static void what_ended_does_not_pile_up(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_THREAD, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	pthread_t thread;
	char text[2000];

	(void)state;
	if (plan == NULL)
		skip();
	session = follow(plan);
	for (unsigned int i = 0; i < 10 * rounds(); i++) {
		assert_int_equal(pthread_create(&thread, NULL, wait_at_gate, NULL), 0);
		poll_twice(session);
		let_through(&thread, 1);
		poll_twice(session);
		assert_true(session->rings.count < 64 && session->events.count < 64);
	}
	assert_true(session->threads.room <= 512);
	pm_session_stats(session, &stats);
	/* A poll may return before the listing; most are seen. */
	assert_true(stats.late_threads >= 5 * rounds() && stats.unwatched_threads == 0);
	assert_true(pm_plan_explain(plan, text, sizeof(text)) > 0);
	assert_non_null(strstr(text, "late_threads"));
	assert_true(stats.samples >= 5 * 20 * rounds());
	end_follow(session, plan);
}

/* No descriptor is left for new threads: that is told, nothing leaks, and later they are seen. */
static void who_cannot_be_attached_is_told(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_THREAD, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	struct rlimit limit, low;
	pthread_t threads[8];
	uint64_t seen;

	(void)state;
	if (plan == NULL)
		skip();
	session = follow(plan);
	plan->opts.allow &= ~(unsigned int)PM_ALLOW_RAISE_NOFILE;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)dup(0) + 2;	/* the listing takes one */
	close((int)low.rlim_cur - 2);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_at_gate, NULL), 0);
	for (int i = 0; i < 20; i++)
		poll_twice(session);
	pm_session_stats(session, &stats);
	assert_in_range(stats.unwatched_threads, 6, 8);
	seen = stats.samples;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < 10; i++)
		assert_true(pm_session_poll(session, 10) >= 0);
	let_through(threads, ARRAY_SIZE(threads));
	poll_twice(session);
	pm_session_stats(session, &stats);
	assert_true(stats.samples - seen >= 8 * 20);
	end_follow(session, plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_ended_does_not_pile_up),
		cmocka_unit_test(who_cannot_be_attached_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
