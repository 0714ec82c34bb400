/* SPDX-License-Identifier: MIT */
/* The descriptor of a session in an event loop wakes for samples, by the clock, and at the end. */
#include "../test.h"

#include <sys/epoll.h>
#include <time.h>

#include "sessions.h"

#define PAGES 64
#define PATIENCE_MS 20000

static uint64_t samples;

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	(void)sample;
	samples++;
}

static const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };

static void touch_pages(void)
{
	const size_t size = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	volatile char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);

	(void)madvise((void *)(uintptr_t)at, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += (size_t)sysconf(_SC_PAGESIZE))
		at[i] = 1;
	munmap((void *)(uintptr_t)at, size);
}

static struct pm_session *attach(const struct pm_event_spec *spec, enum pm_strategy strategy,
				 struct pm_plan **ret_plan)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;

	samples = 0;
	*ret_plan = plan_of(spec, 1, strategy, NULL);
	if (*ret_plan == NULL)
		return NULL;
	session = pm_session_create(*ret_plan, &listener, NULL);
	assert_int_equal(pm_session_fd(session), -ENOTCONN);
	if (pm_session_attach(session, &diag) < 0)
		fail_msg("%s", diag.text);
	return session;
}

static int wait_on(int fd, int ms)
{
	struct epoll_event woken;
	int outer = epoll_create1(EPOLL_CLOEXEC), count;
	struct epoll_event wanted = { .events = EPOLLIN };

	assert_true(outer >= 0);
	assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, fd, &wanted), 0);
	count = epoll_wait(outer, &woken, 1, ms);
	close(outer);
	return count;
}

/* One descriptor, the same each time, delivers everything within an event loop. */
static void samples_come_by_the_descriptor(enum pm_strategy strategy)
{
	struct pm_plan *plan;
	struct pm_session *session = attach(&faults, strategy, &plan);
	const int before = count_descriptors();
	int fd;

	if (session == NULL)
		skip();
	fd = pm_session_fd(session);
	assert_true(fd > 0);
	assert_int_equal(pm_session_fd(session), fd);
	for (int i = 0; i < 4; i++) {
		const uint64_t wanted = samples + PAGES;

		touch_pages();
		while (samples < wanted) {
			assert_int_equal(wait_on(fd, PATIENCE_MS), 1);
			assert_true(pm_session_poll(session, 0) >= 0);
		}
	}
	assert_int_equal(pm_session_detach(session), 0);
	assert_int_equal(pm_session_fd(session), -ENOTCONN);
	assert_true(count_descriptors() <= before);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void by_rings(void **state)
{
	(void)state;
	samples_come_by_the_descriptor(PM_STRATEGY_PER_CPU);
	samples_come_by_the_descriptor(PM_STRATEGY_PER_THREAD);
}

/* Timers wake nobody: the descriptor does, by the clock. */
static void by_the_clock(void **state)
{
	struct timespec until, now;
	struct pm_plan *plan;
	struct pm_session *session = attach(&clock_of_all, PM_STRATEGY_TIMERS, &plan);
	int fd;

	(void)state;
	if (session == NULL)
		skip();
	fd = pm_session_fd(session);
	assert_true(fd > 0);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_MS / 1000;
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		assert_int_equal(wait_on(fd, PATIENCE_MS), 1);
		assert_true(pm_session_poll(session, 0) >= 0);
		touch_pages();
	} while (samples == 0 && now.tv_sec < until.tv_sec);
	assert_true(samples > 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void nothing_sampled_seldom_wakes(void **state)
{
	const struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_SOFTWARE,
		.config = PM_SW_PAGE_FAULTS, .tid = PM_ALL_THREADS };
	uint64_t begin, end;
	struct pm_plan *plan;
	struct pm_session *session = attach(&spec, PM_STRATEGY_COUNTERS, &plan);

	(void)state;
	if (session == NULL)
		skip();
	assert_true(pm_session_fd(session) > 0);
	(void)pm_clock_ns(CLOCK_MONOTONIC, &begin);
	assert_int_equal(pm_session_poll(session, 0), 0);
	assert_int_equal(wait_on(pm_session_fd(session), PATIENCE_MS), 1);
	(void)pm_clock_ns(CLOCK_MONOTONIC, &end);
	assert_true(end - begin >= 900000000);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void a_stop_wakes_it(void **state)
{
	struct pm_plan *plan;
	struct pm_session *session = attach(&faults, PM_STRATEGY_PER_CPU, &plan);
	int err;

	(void)state;
	if (session == NULL)
		skip();
	assert_true(pm_session_fd(session) > 0);
	(void)pm_session_interrupt(session);
	do {
		assert_int_equal(wait_on(pm_session_fd(session), PATIENCE_MS), 1);
		err = pm_session_poll(session, 0);
	} while (err >= 0);
	assert_int_equal(err, -ECANCELED);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void *end_at_once(void *unused)
{
	(void)unused;
	touch_pages();
	return NULL;
}

/* A thread that has ended makes its ring's leader readable for ever; not the descriptor. */
static void an_ended_thread_does_not_spin(void **state)
{
	struct pm_plan *plan;
	struct pm_session *session = attach(&faults, PM_STRATEGY_PER_THREAD, &plan);
	struct timespec from, now;
	unsigned int wakes = 0;
	pthread_t thread;
	int64_t ms;

	(void)state;
	if (session == NULL)
		skip();
	assert_true(pm_session_fd(session) > 0);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(pthread_create(&thread, NULL, end_at_once, NULL), 0);
		(void)pm_session_poll(session, 20);
		pthread_join(thread, NULL);
		(void)pm_session_poll(session, 20);
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		wakes += wait_on(pm_session_fd(session), 200) == 1;
		assert_true(pm_session_poll(session, 0) >= 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
		ms = (now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000;
	} while (ms < 400);
	assert_true(wakes <= ms / 20 + 40);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_rings),
		cmocka_unit_test(by_the_clock),
		cmocka_unit_test(nothing_sampled_seldom_wakes),
		cmocka_unit_test(a_stop_wakes_it),
		cmocka_unit_test(an_ended_thread_does_not_spin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
