/* SPDX-License-Identifier: MIT */
/*
 * Sessions begun and ended: from several threads, over forks, a thousand times, in a flood, and
 * after the thread that led them has gone. PM_ROUNDS says how often to attach (50), PM_TEST which
 * test to run.
 */
#include "../test.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>

#include "running.h"
#include "sessions.h"

#define MS 1000000ull

static uint64_t clock_ns(int clock)
{
	uint64_t now = 0;

	assert_int_equal(pm_clock_ns(clock, &now), 0);
	return now;
}

static void *run(void *context)
{
	return (void *)(intptr_t)pm_session_run(context);
}

static void *stop(void *context)
{
	return (void *)(intptr_t)pm_session_interrupt(context);
}

/* ------------------------------------------------------------------------- again and again */

static void nothing_stays_behind(void **state)
{
	static const enum pm_strategy kinds[] = {
		PM_STRATEGY_PER_CPU, PM_STRATEGY_PER_THREAD, PM_STRATEGY_COUNTERS,
	};
	int before = count_descriptors();

	(void)state;
	for (unsigned int i = 0; i < rounds(); i++) {
		struct pm_plan *plan = plan_of(&faults, 1, kinds[i % ARRAY_SIZE(kinds)], NULL);
		struct pm_session *session;

		if (plan == NULL)
			skip();
		session = pm_session_create(plan, NULL, NULL);
		for (int again = 0; again < 2; again++) {
			assert_true(pm_session_attach(session, NULL) >= 0);
			assert_true(count_descriptors() > before);
			assert_true(pm_session_poll(session, 0) >= 0);
			assert_int_equal(pm_session_detach(session), 0);
			assert_int_equal(count_descriptors(), before);
		}
		assert_int_equal(count_maps(NULL), 0);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
}

static void anybody_stops_it(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CPU, NULL);
	struct pm_session *session;

	(void)state;
	if (plan == NULL)
		skip();
	session = pm_session_create(plan, NULL, NULL);
	for (unsigned int i = 0; i < rounds() / 2; i++) {
		pthread_t runner, stoppers[3];

		assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PER_CPU);
		assert_int_equal(pthread_create(&runner, NULL, run, session), 0);
		for (size_t k = 0; k < ARRAY_SIZE(stoppers); k++)
			assert_int_equal(pthread_create(&stoppers[k], NULL, stop, session), 0);
		cause_faults(8);
		expect_null(runner);
		/* Others may still be on their way while it is taken down. */
		if (i % 2)
			assert_int_equal(pm_session_detach(session), 0);
		for (size_t k = 0; k < ARRAY_SIZE(stoppers); k++)
			expect_null(stoppers[k]);
		if (!(i % 2))
			assert_int_equal(pm_session_detach(session), 0);
	}
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* Each sees its own thread only, with a profile of its own; the clock's is substituted for. */
static void *live_alone(void *context)
{
	const struct pm_listener quiet = { .size = sizeof(quiet) };
	struct pm_event_spec spec = faults;
	atomic_uint *seen = context;

	spec.tid = 0;
	for (unsigned int i = 0; i < rounds() / 5; i++) {
		struct pm_plan *plan = plan_of(&spec, 1, PM_STRATEGY_PER_CPU, NULL);
		struct pm_session *session = pm_session_create(plan, &quiet, NULL);
		struct pm_stats stats = { .size = sizeof(stats) };

		assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PER_CPU);
		cause_faults(100);
		pm_session_detach(session);
		pm_session_stats(session, &stats);
		assert_true(stats.samples + stats.lost >= 100);
		atomic_fetch_add(seen, 1);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
	return NULL;
}

static void two_sessions_in_two_threads(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CPU, NULL);
	atomic_uint seen = 0;
	pthread_t threads[2];

	(void)state;
	if (plan == NULL)
		skip();
	pm_plan_destroy(plan);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, live_alone, &seen), 0);
	for (size_t i = 0; i < 2; i++)
		expect_null(threads[i]);
	assert_int_equal(seen, 2 * (rounds() / 5));
}

/* --------------------------------------------------------------------------------------- fork */

/* What the child has at the address of the parent's ring is its own. */
static int child_with_memory_there(struct pm_session *session, char *ring)
{
	char *mine = mmap(ring, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (mine != ring)
		return 2;
	memset(mine, 7, 4096);
	pm_session_destroy(session);
	return mine[4095] == 7 ? 0 : 3;
}

static int result_of(pid_t child)
{
	int status = -1;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void a_child_keeps_its_memory(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CPU, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	void *ring = NULL;
	pid_t child;

	(void)state;
	if (plan == NULL)
		skip();
	session = pm_session_create(plan, NULL, NULL);
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PER_CPU);
	assert_true(count_maps(&ring) > 0);
	child = fork();
	if (child == 0)
		_exit(child_with_memory_there(session, ring));
	assert_int_equal(result_of(child), 0);
	/* and the parent's goes on */
	cause_faults(100);
	pm_session_detach(session);
	pm_session_stats(session, &stats);
	assert_true(stats.samples >= 100);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* In the child: its own timer lives on, and timers can be attached there. */
static int child_with_a_timer(struct pm_session *session)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	struct pm_session *own;
	struct pm_plan *plan;
	struct itimerspec left;
	timer_t timer;
	int err;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		return 2;
	plan = plan_of(&clock_of_all, 1, PM_STRATEGY_TIMERS, NULL);
	own = pm_session_create(plan, NULL, NULL);
	err = pm_session_attach(own, NULL);
	if (err != PM_STRATEGY_TIMERS)
		return 3;
	pm_session_destroy(session);
	if (timer_gettime(timer, &left) != 0)
		return 4;
	err = pm_session_detach(own);
	pm_session_destroy(own);
	pm_plan_destroy(plan);
	return err < 0 ? 5 : 0;
}

static void a_child_keeps_its_timers(void **state)
{
	struct pm_plan *plan = plan_of(&clock_of_all, 1, PM_STRATEGY_TIMERS, NULL);
	struct pm_session *session = pm_session_create(plan, NULL, NULL);
	pid_t child;

	(void)state;
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_TIMERS);
	child = fork();
	if (child == 0)
		_exit(child_with_a_timer(session));
	assert_int_equal(result_of(child), 0);
	assert_int_equal(pm_session_detach(session), 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* ------------------------------------------------------------------------------- stop latency */

static atomic_bool flooding;

static void *flood(void *context)
{
	while (flooding)
		cause_faults(64);
	return context;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t median_latency(struct pm_session *session)
{
	uint64_t took[5];

	for (size_t i = 0; i < ARRAY_SIZE(took); i++) {
		pthread_t runner;

		assert_int_equal(pthread_create(&runner, NULL, run, session), 0);
		wait_for_run(session);
		took[i] = clock_ns(CLOCK_MONOTONIC);
		assert_int_equal(pm_session_interrupt(session), 0);
		took[i] = clock_ns(CLOCK_MONOTONIC) - took[i];
		expect_null(runner);
	}
	qsort(took, ARRAY_SIZE(took), sizeof(took[0]), by_size);
	return took[ARRAY_SIZE(took) / 2];
}

/* Other programs may keep the CPU from the thread that is to stop: a slow stop is so each time. */
static uint64_t stop_latency(struct pm_session *session)
{
	uint64_t took = median_latency(session);

	for (int again = 0; took >= 100 * MS && again < 50; again++)
		took = median_latency(session);
	return took;
}

static void it_stops_in_a_flood(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CPU, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	uint64_t idle, flooded = 0;
	pthread_t threads[2];

	(void)state;
	if (plan == NULL)
		skip();
	session = pm_session_create(plan, NULL, NULL);
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PER_CPU);
	idle = stop_latency(session);
	flooding = true;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, flood, NULL), 0);
	/* On a slow machine few samples come in five runs. */
	for (int i = 0; i < 1000 && flooded < 100 * MS && stats.samples <= 1000; i++) {
		const uint64_t took = stop_latency(session);

		flooded = took > flooded ? took : flooded;
		pm_session_stats(session, &stats);
	}
	flooding = false;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		expect_null(threads[i]);
	pm_session_detach(session);
	pm_session_stats(session, &stats);
	print_message("stop: %.2f ms idle, %.2f ms flooded by %llu samples\n", (double)idle / 1e6,
		      (double)flooded / 1e6, (unsigned long long)stats.samples);
	assert_true(idle < 100 * MS && flooded < 100 * MS);
	assert_true(stats.samples > 1000);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* Nobody reads while two threads flood: what was dropped is told to the last record. */
static void losses_are_told_exactly(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CPU, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct pm_session *session;
	struct pm_stats early = { .size = sizeof(early) };

	(void)state;
	if (plan == NULL)
		skip();
	session = pm_session_create(plan, NULL, NULL);
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PER_CPU);
	pm_session_poll(session, 0);
	pm_session_stats(session, &early);
	assert_int_equal(pm_session_read(session, &before, 1), 1);
	for (int i = 0; i < 60; i++)
		cause_faults(1000);
	assert_int_equal(pm_session_read(session, &after, 1), 1);
	pm_session_detach(session);
	pm_session_stats(session, &stats);
	print_message("%llu faults, %llu samples, lost %llu, by counters %llu\n",
		      (unsigned long long)(after.value - before.value),
		      (unsigned long long)(stats.samples - early.samples),
		      (unsigned long long)stats.lost, (unsigned long long)stats.lost_counted);
	assert_true(after.value - before.value >= 60000 && stats.lost > 0);
	/* Some faults of this very test, or of a sanitizer's, happen around the two readings. */
	assert_in_range(stats.samples - early.samples + stats.lost, after.value - before.value,
			after.value - before.value + 300 + (after.value - before.value) / 50);
	if (stats.lost_counted > 0)
		assert_int_equal(stats.lost_counted, stats.lost);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* ------------------------------------------------------------------------------ leader's end */

static atomic_int led_tid;
static atomic_bool led_may_go;

static void *lead(void *context)
{
	led_tid = pm_gettid();
	while (!led_may_go)
		usleep(1000);
	return context;
}

struct effort {
	double share;		/* of the CPU, in a wall time of 300 ms */
	unsigned long wakes;
};

static struct effort measure(int (*wait)(void *context), void *context)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), used = clock_ns(CLOCK_THREAD_CPUTIME_ID), wall;
	struct effort effort = { 0, 0 };

	do {
		assert_true(wait(context) >= 0);
		effort.wakes++;
		wall = clock_ns(CLOCK_MONOTONIC) - begin;
	} while (wall < 300 * MS);
	effort.share = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - used) / (double)wall;
	return effort;
}

static int wait_naively(void *context)
{
	struct pollfd polled = { .fd = *(int *)context, .events = POLLIN };

	return poll(&polled, 1, 100);
}

static int wait_with_session(void *context)
{
	return pm_session_poll(context, 100);
}

static bool sleeps(const struct effort *ours)
{
	return ours->share < 0.05 && ours->wakes < 40;
}

static bool spins_beside(const struct effort *naive, const struct effort *ours)
{
	return naive->wakes > 1000 && naive->share > 4 * ours->share;
}

/* The same event twice: polled as it comes, and by a session. */
static void a_leader_that_ends_does_not_spin(void **state)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .sample_period = 1,
					.config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1 };
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_event_spec spec = faults;
	struct effort naive = { 0, 0 }, ours = { 1, 0 };
	struct pm_session *session = NULL;
	struct pm_plan *plan;
	struct pm_ring ring;
	pthread_t leader;
	int fd;

	(void)state;
	led_tid = 0;
	led_may_go = false;
	assert_int_equal(pthread_create(&leader, NULL, lead, NULL), 0);
	while (led_tid == 0)
		usleep(1000);
	spec.tid = led_tid;
	plan = plan_of(&spec, 1, PM_STRATEGY_PER_CPU, NULL);
	if (plan != NULL) {
		session = pm_session_create(plan, NULL, NULL);
		assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PER_CPU);
		fd = pm_open(&attr, led_tid, 0, -1, 0);
		assert_int_equal(pm_ring_open(fd, 1, PROT_READ | PROT_WRITE, &ring), 0);
	}
	led_may_go = true;
	expect_null(leader);
	if (plan == NULL)
		skip();
	/* Other programs may leave either next to nothing of the CPU, and not each time. */
	for (int i = 0; i < 50 && !(sleeps(&ours) && spins_beside(&naive, &ours)); i++) {
		ours = measure(wait_with_session, session);
		naive = measure(wait_naively, &fd);
	}
	pm_session_stats(session, &stats);
	print_message("after the leader's end: %.1f %% of a CPU, %lu wakes; polled on: %.1f %%, "
		      "%lu\n", ours.share * 100, ours.wakes, naive.share * 100, naive.wakes);
	assert_true(stats.leaders_gone > 0);
	assert_true(sleeps(&ours));
	assert_true(spins_beside(&naive, &ours));
	pm_ring_close(&ring);
	close(fd);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_stays_behind),
		cmocka_unit_test(anybody_stops_it),
		cmocka_unit_test(two_sessions_in_two_threads),
		cmocka_unit_test(a_child_keeps_its_memory),
		cmocka_unit_test(a_child_keeps_its_timers),
		cmocka_unit_test(it_stops_in_a_flood),
		cmocka_unit_test(losses_are_told_exactly),
		cmocka_unit_test(a_leader_that_ends_does_not_spin),
	};

	cmocka_set_test_filter(getenv("PM_TEST"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
