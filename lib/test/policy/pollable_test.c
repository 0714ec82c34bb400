/* SPDX-License-Identifier: MIT */
/*
 * What wakes a session: its descriptor in an event loop, samples, the clock and the end; and how
 * seldom it wakes where nothing happens.
 */
#include "../test.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "../../policy/engine/engine.h"
#include "sessions.h"

#define PAGES 64
#define PATIENCE_MS 300000
#define QUIET_MS 700		/* after which it is taken to stay quiet */

static uint64_t samples;
static atomic_int awaited;	/* the thread whose sample is waited for; 0: it has come */

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	samples++;
	if ((int)sample->tid == awaited)
		awaited = 0;
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

/*
 * Ticks of the kernel look at CPU clocks. A thread that wakes just behind each of them and soon
 * waits again is never seen, so it computes for several of the longest (10 ms).
 */
static void compute(void)
{
	struct timespec now;
	int64_t from = 0, ns;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
		from = from == 0 ? ns : from;
	} while (ns - from < 50000000);
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
		compute();
		assert_int_equal(wait_on(fd, PATIENCE_MS), 1);
		assert_true(pm_session_poll(session, 0) >= 0);
	} while (samples == 0 && now.tv_sec < until.tv_sec);
	assert_true(samples > 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static const struct pm_event_spec counted = { .size = sizeof(counted), .type = PM_TYPE_SOFTWARE,
	.config = PM_SW_PAGE_FAULTS, .tid = PM_ALL_THREADS };

static void nothing_sampled_wakes_nobody(void **state)
{
	struct pm_plan *plan;
	struct pm_session *session = attach(&counted, PM_STRATEGY_COUNTERS, &plan);

	(void)state;
	if (session == NULL)
		skip();
	assert_true(pm_session_fd(session) > 0);
	assert_int_equal(pm_session_poll(session, 0), 0);
	assert_int_equal(wait_on(pm_session_fd(session), 1500), 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* Never on this machine; a sanitizer's malloc gives faults of this thread's own. */
static const struct pm_event_spec rare = { .size = sizeof(rare), .type = PM_TYPE_SOFTWARE,
	.config = PM_SW_EMULATION_FAULTS, .tid = PM_ALL_THREADS, .period = 1 };

static const struct pm_event_spec rare_clock = { .size = sizeof(rare_clock),
	.type = PM_TYPE_SOFTWARE, .config = PM_SW_CPU_CLOCK, .tid = PM_ALL_THREADS,
	.flags = PM_SPEC_USER_ONLY, .period = 3600000000000 };

/* Each without an address, which signals do not tell. */
static const struct pm_event_spec bare_faults = { .size = sizeof(bare_faults),
	.type = PM_TYPE_SOFTWARE, .config = PM_SW_PAGE_FAULTS, .tid = PM_ALL_THREADS,
	.flags = PM_SPEC_USER_ONLY, .period = 1 };

/* Waits of a poll that takes as long as that. */
static long waits_in(struct pm_session *session, int ms)
{
	struct rusage before, after;

	assert_true(pm_session_poll(session, 0) >= 0);
	assert_int_equal(getrusage(RUSAGE_THREAD, &before), 0);
	assert_true(pm_session_poll(session, ms) >= 0);
	assert_int_equal(getrusage(RUSAGE_THREAD, &after), 0);
	return after.ru_nvcsw - before.ru_nvcsw;
}

/* Of 1 s. Other programs may keep the CPU from this one while it calms down: not each time. */
static long fewest_waits(struct pm_session *session, long most)
{
	long waits = waits_in(session, 1000);

	for (int again = 0; waits > most && again < 20; again++)
		waits = waits_in(session, 1000);
	return waits;
}

/* A wait may be cut short by what is not counted here, so a few more are allowed. */
static void expect_few_waits(const struct pm_event_spec *spec, enum pm_strategy strategy, long most)
{
	struct pm_plan *plan;
	struct pm_session *session = attach(spec, strategy, &plan);

	if (session == NULL)
		return;
	assert_true(pm_session_poll(session, QUIET_MS) >= 0);
	assert_in_range(fewest_waits(session, most), 0, most);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void quiet_seldom_wakes(void **state)
{
	(void)state;
	expect_few_waits(&counted, PM_STRATEGY_COUNTERS_PER_CPU, 3);
	expect_few_waits(&rare, PM_STRATEGY_PER_CPU, 7);
	expect_few_waits(&rare, PM_STRATEGY_PER_THREAD, 7);
	/* Rings of 64 KiB that nobody but the clock tells of. */
	expect_few_waits(&rare, PM_STRATEGY_OWN_RINGS, 20);
	expect_few_waits(&rare, PM_STRATEGY_SIGNALS, 7);
	expect_few_waits(&rare_clock, PM_STRATEGY_TIMERS, 7);
}

static atomic_bool may_touch, may_end;

static void expect_touches(struct pm_session *session)
{
	samples = 0;
	may_touch = true;
	while (samples < PAGES)
		assert_true(pm_session_poll(session, -1) > 0);
}

static void *touch_in_between(void *unused)
{
	awaited = pm_gettid();
	for (; !may_end; usleep(1000))
		if (atomic_exchange(&may_touch, false))
			touch_pages();
	return unused;
}

/* Each sample wakes it, so nothing else has to, but for CPUs that may come. */
static void quiet_wakes_nobody_where_each_sample_does(void **state)
{
	const struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL,
		.wakeup = 1, .forbid = ~(1u << PM_STRATEGY_PER_CPU) };
	struct pm_event_spec spec = faults;
	struct pm_session *session;
	struct pm_plan *plan;
	pthread_t thread;

	(void)state;
	awaited = 0;
	may_end = false;
	assert_int_equal(pthread_create(&thread, NULL, touch_in_between, NULL), 0);
	while (awaited == 0)
		usleep(1000);
	spec.tid = awaited;
	if (pm_plan_make(&spec, 1, &opts, NULL, NULL, &plan) == 0) {
		session = pm_session_create(plan, &listener, NULL);
		assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PER_CPU);
		expect_touches(session);
		assert_in_range(fewest_waits(session, 3), 0, 3);
		expect_touches(session);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
	may_end = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *touch_until_seen(void *unused)
{
	awaited = pm_gettid();
	while (awaited != 0)
		touch_pages();
	return unused;
}

/* A thread that is born into the quiet is noticed, though nobody tells of it. */
static void a_birth_in_the_quiet_is_noticed(void **state)
{
	static const enum pm_strategy strategies[] = {
		PM_STRATEGY_PER_THREAD, PM_STRATEGY_SIGNALS, PM_STRATEGY_TIMERS,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
		struct pm_plan *plan;
		struct pm_session *session = attach(strategies[i] == PM_STRATEGY_TIMERS ?
						    &clock_of_all : &bare_faults, strategies[i],
						    &plan);
		pthread_t thread;

		if (session == NULL)
			continue;
		for (int rounds = 0; rounds < 3 && pm_session_poll(session, QUIET_MS) > 0; rounds++)
			;
		awaited = -1;
		assert_int_equal(pthread_create(&thread, NULL, touch_until_seen, NULL), 0);
		while (awaited != 0)
			assert_true(pm_session_poll(session, PATIENCE_MS) >= 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
}

/* Samples taken by signals wait in a ring, which tells when a quarter of it is full. */
static void a_quarter_of_signals_wakes_it(void **state)
{
	struct pm_plan *plan;
	struct pm_session *session = attach(&bare_faults, PM_STRATEGY_SIGNALS, &plan);
	struct pollfd polled;

	(void)state;
	if (session == NULL)
		skip();
	polled = (struct pollfd){ .fd = session->stop.fd, .events = POLLIN };
	for (int i = 0; i < 8; i++)
		touch_pages();
	assert_int_equal(poll(&polled, 1, 0), 0);
	for (int i = 0; i < 2048 / PAGES; i++)
		touch_pages();
	assert_int_equal(poll(&polled, 1, 0), 1);
	assert_true(pm_session_poll(session, 0) >= 2048);
	assert_int_equal(poll(&polled, 1, 0), 0);
	/* Nobody takes that for the word to stop, and that is not missed beside it. */
	for (int i = 0; i < 4096 / PAGES; i++)
		touch_pages();
	assert_true(pm_session_poll(session, 0) > 0);
	for (int i = 0; i < 4096 / PAGES; i++)
		touch_pages();
	(void)pm_session_interrupt(session);
	assert_int_equal(pm_session_poll(session, 0), -ECANCELED);
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
		cmocka_unit_test(nothing_sampled_wakes_nobody),
		cmocka_unit_test(quiet_seldom_wakes),
		cmocka_unit_test(quiet_wakes_nobody_where_each_sample_does),
		cmocka_unit_test(a_birth_in_the_quiet_is_noticed),
		cmocka_unit_test(a_quarter_of_signals_wakes_it),
		cmocka_unit_test(a_stop_wakes_it),
		cmocka_unit_test(an_ended_thread_does_not_spin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
