/* SPDX-License-Identifier: MIT */
/*
 * Sessions on the running kernel: threads that cause exactly known numbers of page faults, seen by
 * each strategy. Where perf is refused, what needs it is skipped and the timers are still tested.
 */
#include "../test.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "census.h"
#include "running.h"

#ifdef __SANITIZE_THREAD__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static void census_per_cpu(void **state)
{
	(void)state;
	tasks_born = tasks_ended = 0;
	census(PM_STRATEGY_PER_CPU);
	assert_true(tasks_born >= THREADS / 2);
	assert_true(tasks_ended >= THREADS / 2);
}

static void census_per_thread(void **state)
{
	(void)state;
	census(PM_STRATEGY_PER_THREAD);
}

static void two_events_keep_apart(void **state)
{
	const struct pm_event_spec specs[] = { clock_of_all, faults };
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_plan *plan = plan_of(specs, 2, PM_STRATEGY_PER_CPU, NULL);
	struct pm_session *session;
	struct pm_value values[2] = { { .size = sizeof(values[0]) } };

	(void)state;
	if (plan == NULL)
		skip();
	session = attached(plan, PM_STRATEGY_PER_CPU);
	for (int i = 0; i < THREADS; i++)
		start_worker(&workers[i]);
	for (int i = 0; i < THREADS; i++)
		let_work(&workers[i]);
	poll_a_while(session);
	assert_int_equal(pm_session_read(session, values, 2), 2);
	assert_true(values[1].value >= THREADS * PAGES && values[0].value > values[1].value);
	pm_session_detach(session);
	pm_session_stats(session, &stats);
	check_seen(&stats);
	for (int i = 0; i < THREADS; i++)
		end_worker(&workers[i]);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* Threads that do nothing but be born and end while the session attaches. */
static _Atomic int churning;

static void *nothing(void *context)
{
	return context;
}

static void *churn(void *context)
{
	pthread_t thread;

	while (churning)
		if (pthread_create(&thread, NULL, nothing, NULL) == 0)
			pthread_join(thread, NULL);
	return context;
}

/* Nobody reads while the attach is under way, so a churn may fill rings: what they lost is told. */
static void check_told(const struct pm_stats *stats)
{
	uint64_t missing = 0;

	assert_int_equal(stats->corrupt, 0);
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < PAGES; k++) {
			assert_in_range(workers[i].seen[k], 0, 1);
			missing += workers[i].seen[k] == 0;
		}
	assert_true(missing <= stats->lost);
}

static void attach_while_threads_come_and_go(void **state)
{
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_diag diag = { .size = sizeof(diag) };
	pthread_t churner;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CPU, NULL);
		struct pm_session *session;
		int err;

		if (plan == NULL)
			skip();
		session = pm_session_create(plan, &listener, workers);
		for (int i = 0; i < THREADS; i++)
			start_worker(&workers[i]);
		churning = 1;
		assert_int_equal(pthread_create(&churner, NULL, churn, NULL), 0);
		err = pm_session_attach(session, &diag);
		churning = 0;
		pthread_join(churner, NULL);
		if (err < 0 && err != -EAGAIN)
			fail_msg("%s", diag.text);
		for (int i = 0; i < THREADS; i++)
			let_work(&workers[i]);
		if (err >= 0) {
			pm_session_detach(session);
			pm_session_stats(session, &stats);
			check_told(&stats);
		}
		for (int i = 0; i < THREADS; i++)
			end_worker(&workers[i]);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
}

static void counts_are_exact(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_COUNTERS, NULL);
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct pm_session *session;

	(void)state;
	if (plan == NULL)
		skip();
	for (int i = 0; i < THREADS; i++)
		start_worker(&workers[i]);
	session = attached(plan, PM_STRATEGY_COUNTERS);
	assert_int_equal(pm_session_read(session, &before, 1), 1);
	for (int i = 0; i < THREADS; i++)
		let_work(&workers[i]);
	assert_int_equal(pm_session_read(session, &after, 1), 1);
	/* The workers' stacks and the allocator may fault a little as well, sanitizers a lot. */
	assert_in_range(after.value - before.value, THREADS * PAGES,
			THREADS * PAGES * (SANITIZED ? 8 : 3) / 2);
	for (int i = 0; i < THREADS; i++)
		end_worker(&workers[i]);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* -------------------------------------------------------------------------------------- timers */

static unsigned int ticks_of[2];
static int spinner_tid;
static bool spun;
static bool spun_enough;	/* the test has what it waits for */

static uint64_t earliest, latest;

static void on_time(void *context, const struct pm_observed *sample)
{
	(void)context;
	earliest = sample->time < earliest ? sample->time : earliest;
	latest = sample->time > latest ? sample->time : latest;
}

/* Another program samples the same page faults by CLOCK_REALTIME: see probe clock.shared_hit. */
static void another_program_has_another_clock(void **state)
{
	const struct pm_listener times = { .size = sizeof(times), .sample = on_time };
	struct perf_event_attr other = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1, .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.use_clockid = 1, .clockid = CLOCK_REALTIME,
	};
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CPU, NULL);
	struct pm_session *session;
	uint64_t before, after;
	char text[8192];
	int fd;

	(void)state;
	if (plan == NULL)
		skip();
	(void)pm_plan_explain(plan, text, sizeof(text));
	session = pm_session_create(plan, &times, NULL);
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PER_CPU);
	fd = pm_open(&other, 0, -1, -1, 0);
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &before), 0);
	(void)pm_session_poll(session, 0);
	earliest = UINT64_MAX;
	latest = 0;
	for (int i = 0; i < 64; i++) {
		void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		*(volatile char *)page = 1;
		munmap(page, 4096);
	}
	assert_int_equal(pm_session_detach(session), 0);
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &after), 0);
	if (fd >= 0)
		close(fd);
	if (strstr(text, "clock: CLOCK_MONOTONIC\n") != NULL && latest != 0)
		assert_true(earliest >= before - 1000000000 && latest <= after + 1000000000);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void *spin(void *context)
{
	uint64_t now = 0;

	__atomic_store_n(&spinner_tid, pm_gettid(), __ATOMIC_RELEASE);
	while (pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now) == 0 && now < 10000000000 &&
	       !__atomic_load_n(&spun_enough, __ATOMIC_ACQUIRE))
		;
	__atomic_store_n(&spun, true, __ATOMIC_RELEASE);
	return context;
}

static void on_tick(void *context, const struct pm_observed *sample)
{
	(void)context;
	assert_true(sample->time != 0 && sample->period >= 1000000);
	ticks_of[(int)sample->tid == __atomic_load_n(&spinner_tid, __ATOMIC_ACQUIRE)]++;
}

static void timers_see_a_busy_thread(void **state)
{
	const struct pm_listener ticks = { .size = sizeof(ticks), .sample = on_tick };
	struct pm_plan *plan = plan_of(&clock_of_all, 1, PM_STRATEGY_TIMERS, NULL);
	struct pm_session *session = pm_session_create(plan, &ticks, NULL);
	struct sigaction action;
	struct pm_value value = { .size = sizeof(value) };
	pthread_t thread;

	(void)state;
	assert_non_null(plan);
	memset(ticks_of, 0, sizeof(ticks_of));
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_TIMERS);
	assert_int_equal(pm_session_read(session, &value, 1), -ENOTSUP);
	assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
	while (ticks_of[1] < 5 && !__atomic_load_n(&spun, __ATOMIC_ACQUIRE))
		assert_true(pm_session_poll(session, 10) >= 0);
	__atomic_store_n(&spun_enough, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	while (pm_session_poll(session, 0) > 0)
		;
	assert_int_equal(pm_session_detach(session), 0);
	/* A tick is 1 ms at least, and the thread has used 10 s at most. */
	assert_in_range(ticks_of[1], 5, 10000);
	assert_int_equal(sigaction(SIGPROF, NULL, &action), 0);
	assert_true(action.sa_handler == SIG_DFL);
	/* and again */
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_TIMERS);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void timers_respect_another_profiler(void **state)
{
	struct pm_plan *plan = plan_of(&clock_of_all, 1, PM_STRATEGY_TIMERS, NULL);
	struct pm_session *session = pm_session_create(plan, NULL, NULL);
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	signal(SIGPROF, SIG_IGN);
	assert_int_equal(pm_session_attach(session, &diag), -EBUSY);
	assert_non_null(strstr(diag.text, "already in use"));
	signal(SIGPROF, SIG_DFL);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* ----------------------------------------------------------------------------- stop, fork, exit */

static void *run(void *context)
{
	return (void *)(intptr_t)pm_session_run(context);
}

static uint64_t now_ns(void)
{
	uint64_t now = 0;

	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &now), 0);
	return now;
}

/* How long the word to stop takes, in ns. */
static uint64_t stop_one(struct pm_session *session)
{
	pthread_t thread;
	uint64_t took;

	assert_int_equal(pthread_create(&thread, NULL, run, session), 0);
	wait_for_run(session);
	took = now_ns();
	assert_int_equal(pm_session_interrupt(session), 0);
	took = now_ns() - took;
	expect_null(thread);
	return took;
}

static void stops_at_once(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CPU, NULL);
	uint64_t took = UINT64_MAX;
	struct pm_session *session;

	(void)state;
	if (plan == NULL)
		skip();
	session = attached(plan, PM_STRATEGY_PER_CPU);
	/* Other programs may keep the CPU from either thread once, and not each time. */
	for (int i = 0; took >= 100000000 && i < 50; i++)
		took = stop_one(session);
	assert_true(took < 100000000);
	/* A stop that comes first is not lost. */
	pm_session_interrupt(session);
	assert_int_equal(pm_session_run(session), 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void a_forked_child_delivers_nothing(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CPU, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	int status;
	pid_t child;

	(void)state;
	if (plan == NULL)
		skip();
	session = attached(plan, PM_STRATEGY_PER_CPU);
	child = fork();
	if (child == 0) {
		int polled = pm_session_poll(session, 0);

		pm_session_destroy(session);
		_exit(polled == -ECHILD ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(pm_session_poll(session, 0) >= 0);
	pm_session_detach(session);
	pm_session_stats(session, &stats);
	/* It inherits nothing, unless the kernel lets it in any case. */
	assert_true((stats.foreign > 0) == (stats.children_counted > 0));
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}
static int setup(void **state)
{
	(void)state;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(census_per_cpu),
		cmocka_unit_test(census_per_thread),
		cmocka_unit_test(two_events_keep_apart),
		cmocka_unit_test(attach_while_threads_come_and_go),
		cmocka_unit_test(counts_are_exact),
		cmocka_unit_test(another_program_has_another_clock),
		cmocka_unit_test(timers_see_a_busy_thread),
		cmocka_unit_test(timers_respect_another_profiler),
		cmocka_unit_test(stops_at_once),
		cmocka_unit_test(a_forked_child_delivers_nothing),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
