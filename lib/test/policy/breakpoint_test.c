/* SPDX-License-Identifier: MIT */
/* Sessions of breakpoints: each write to a variable, by old and new threads, is reported once. */
#define _GNU_SOURCE
#include "../test.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

#include "sessions.h"

#define WRITES 100

static volatile long watched, beside;
static sem_t begun, go;
static unsigned int told, elsewhere;

static struct pm_event_spec write_to(const volatile long *variable)
{
	return (struct pm_event_spec){
		.size = sizeof(struct pm_event_spec), .type = PERF_TYPE_BREAKPOINT,
		.config = HW_BREAKPOINT_W, .config1 = (uint64_t)(uintptr_t)variable,
		.config2 = sizeof(*variable), .period = 1, .tid = PM_ALL_THREADS,
		.want = PM_WANT_ADDRESS,
	};
}

static void on_write(void *context, const struct pm_observed *sample)
{
	(void)context;
	told++;
	elsewhere += sample->address != (uint64_t)(uintptr_t)&watched;
}

static void *write_often(void *context)
{
	sem_post(&begun);
	while (context != NULL && sem_wait(&go) != 0)
		;
	for (long i = 0; i < WRITES; i++) {
		watched = i;
		beside = i;
	}
	return NULL;
}

static void observe_writes(enum pm_strategy strategy)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_write };
	const struct pm_event_spec spec = write_to(&watched);
	struct pm_session_opts opts = { .size = sizeof(opts), .descriptors_percent = 100,
		.allow = PM_ALLOW_USER_ONLY };	/* what who has no rights gets */
	struct pm_diag diag = { .size = sizeof(diag) };
	pthread_t threads[3];
	struct pm_session *session;
	struct pm_plan *plan;

	opts.forbid = ~(1u << strategy);
	if (!breakpoints_fire())
		skip();
	assert_int_equal(pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan), 0);
	told = elsewhere = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_often, &begun), 0);
	sem_wait(&begun);
	sem_wait(&begun);
	session = pm_session_create(plan, &listener, NULL);
	assert_int_equal(pm_session_attach(session, &diag), strategy);
	assert_int_equal(pthread_create(&threads[2], NULL, write_often, NULL), 0);
	sem_wait(&begun);
	sem_post(&go);
	sem_post(&go);
	for (int i = 0; i < 3; i++)
		expect_null(threads[i]);
	pm_session_detach(session);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	assert_int_equal(told, 3 * WRITES);
	assert_int_equal(elsewhere, 0);
}

/* What a machine accepts and never delivers is refused, with the reason. */
static void what_never_fires_is_refused(void **state)
{
	const struct pm_event_spec spec = write_to(&watched);
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_W, .exclude_kernel = 1,
		.bp_addr = (uint64_t)(uintptr_t)&watched, .bp_len = sizeof(watched),
	};
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_diag diag = { .size = sizeof(diag) };
	const int fd = pm_open(&attr, 0, -1, -1, 0);
	struct pm_plan *plan = NULL;
	int err;

	(void)state;
	if (fd < 0)
		skip();
	close(fd);
	err = pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan);
	pm_plan_destroy(plan);
	assert_int_equal(err == -EIO, !breakpoints_fire());
	if (err == -EIO)
		assert_int_equal(diag.cause, PM_CAUSE_SILENCE);
}

static void each_write_to_a_variable(void **state)
{
	(void)state;
	observe_writes(PM_STRATEGY_PER_CPU);
}

static void each_write_into_own_rings(void **state)
{
	(void)state;
	observe_writes(PM_STRATEGY_OWN_RINGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_never_fires_is_refused),
		cmocka_unit_test(each_write_to_a_variable),
		cmocka_unit_test(each_write_into_own_rings),
	};

	sem_init(&begun, 0, 0);
	sem_init(&go, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
