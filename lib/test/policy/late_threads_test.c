/* SPDX-License-Identifier: MIT */
/*
 * Threads that come late: who ends just when he is found, for whom limits leave nothing, and who is
 * born while a session attaches. What the kernel answers at such a moment is said here.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "../../policy/session/attach.h"
#include "between.h"
#include "sessions.h"

#define FAULTS 50

struct worker {
	pthread_t thread;
	_Atomic pid_t tid;
	int gate[2], done[2];
};

static struct {
	pid_t tid;			/* whose events are refused, */
	int error;			/* with this, */
	unsigned int times;		/* so often */
} refusal;

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	(void)attr;
	if (refusal.times > 0 && args[1] == refusal.tid) {
		refusal.times--;
		return refuse_with(refusal.error);
	}
	return open_really(real, args);
}

/* --------------------------------------------------------------------------------------- threads */

static struct worker worker;
static unsigned int told;		/* samples of its thread */

static void *work(void *context)
{
	struct worker *self = context;
	char byte;

	self->tid = pm_gettid();
	if (read(self->gate[0], &byte, 1) == 1)
		cause_faults(FAULTS);
	/* Ends after what it did has been looked at. */
	if (write(self->done[1], "x", 1) != 1 || read(self->gate[0], &byte, 1) != 1)
		return context;
	return NULL;
}

static void start_worker(void)
{
	memset(&worker, 0, sizeof(worker));
	assert_true(pipe(worker.gate) == 0 && pipe(worker.done) == 0);
	assert_int_equal(pthread_create(&worker.thread, NULL, work, &worker), 0);
	while (worker.tid == 0)
		usleep(200);
}

static void let_work(void)
{
	char byte;

	assert_int_equal(write(worker.gate[1], "x", 1), 1);
	assert_int_equal(read(worker.done[0], &byte, 1), 1);
}

static void end_worker(void)
{
	assert_int_equal(write(worker.gate[1], "x", 1), 1);
	expect_null(worker.thread);
	for (int i = 0; i < 2; i++) {
		close(worker.gate[i]);
		close(worker.done[i]);
	}
}

/* ------------------------------------------------------------------------- found while polling */

static struct pm_plan *plan;
static struct pm_session *session;

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	told += (pid_t)sample->tid == worker.tid;
}

static const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };

static bool begin(const struct pm_event_spec *event, enum pm_strategy strategy)
{
	struct pm_event_spec spec = *event;

	spec.want = 0;
	told = 0;
	refusal.times = 0;
	plan = plan_of(&spec, 1, strategy, NULL);
	if (plan == NULL)
		return false;
	session = pm_session_create(plan, &listener, NULL);
	assert_int_equal(pm_session_attach(session, NULL), strategy);
	return true;
}

static void poll_listings(unsigned int count)
{
	/* The library lists threads each 50 ms. */
	for (unsigned int i = 0; i < 6 * count; i++)
		assert_true(pm_session_poll(session, 10) >= 0);
}

static struct pm_stats stats_now(void)
{
	struct pm_stats stats = { .size = sizeof(stats) };

	assert_int_equal(pm_session_stats(session, &stats), 0);
	return stats;
}

static void end(void)
{
	assert_int_equal(pm_session_detach(session), 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static const enum pm_strategy kinds[] = { PM_STRATEGY_PER_THREAD, PM_STRATEGY_SIGNALS };

/* For us it had ended when it was found; whoever has its number next is somebody else. */
static void a_number_that_comes_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!begin(&faults, kinds[i]))
			skip();
		start_worker();
		refusal.tid = worker.tid;
		refusal.error = ESRCH;
		refusal.times = 1;
		poll_listings(4);
		assert_int_equal(refusal.times, 0);
		/* Where births are told, of both who had the number. */
		assert_int_equal(stats_now().late_threads, 2 - i);
		assert_int_equal(stats_now().unwatched_threads, 0);
		let_work();
		poll_listings(1);
		assert_true(told >= FAULTS);
		end_worker();
		end();
	}
}

static void told_and_tried_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int before;

		if (!begin(&faults, kinds[i]))
			skip();
		start_worker();
		before = count_descriptors();
		refusal.tid = worker.tid;
		refusal.error = ENOMEM;
		refusal.times = 1000;
		poll_listings(4);
		assert_in_range(refusal.times, 900, 997);
		assert_int_equal(stats_now().unwatched_threads, 1);
		assert_int_equal(stats_now().late_threads, 1);
		assert_int_equal(count_descriptors(), before);
		refusal.times = 0;
		poll_listings(2);
		assert_int_equal(stats_now().unwatched_threads, 1);
		assert_int_equal(stats_now().late_threads, 1);
		let_work();
		poll_listings(1);
		assert_true(told >= FAULTS);
		end_worker();
		end();
	}
}

/* Without room for its signals there is no timer for a thread. In a child: the limit stays. */
static int no_room_for_timers(void)
{
	struct rlimit limit, none;

	if (!begin(&clock_of_all, PM_STRATEGY_TIMERS) ||
	    getrlimit(RLIMIT_SIGPENDING, &limit) != 0)
		return 2;
	none = limit;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_SIGPENDING, &none);
	start_worker();
	poll_listings(4);
	if (stats_now().unwatched_threads != 1 || stats_now().late_threads != 1)
		return 3;
	setrlimit(RLIMIT_SIGPENDING, &limit);
	poll_listings(2);
	if (stats_now().unwatched_threads != 1 || stats_now().late_threads != 1)
		return 4;
	let_work();
	end_worker();
	end();
	return 0;
}

static void timers_tried_again(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(no_room_for_timers());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Threads come and go for as long as a session lasts. */
static void what_ended_does_not_pile_up(void **state)
{
	(void)state;
	if (!begin(&faults, PM_STRATEGY_SIGNALS))
		skip();
	for (int i = 0; i < 20; i++) {
		start_worker();
		poll_listings(1);
		let_work();
		end_worker();
		poll_listings(1);
		assert_true(session->event_count < 4);
	}
	assert_true(stats_now().late_threads >= 15 && stats_now().samples >= 15 * FAULTS);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_that_comes_again),
		cmocka_unit_test(told_and_tried_again),
		cmocka_unit_test(timers_tried_again),
		cmocka_unit_test(what_ended_does_not_pile_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
