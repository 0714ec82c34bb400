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

#include "../../policy/engine/engine.h"
#include "between.h"
#include "sessions.h"

#define FAULTS 50
#define ROUNDS 3

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

/* So many threads are born just after an inheriting event was opened on this one. */
static struct {
	unsigned int left;
	int cpu;
} births;

/* -------------------------------------------------------------------------------------- threads */

static struct worker workers[ROUNDS + 1];
static size_t worker_count;
static unsigned int told;		/* samples of the first */

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
	struct worker *worker = &workers[worker_count++];

	worker->tid = 0;
	assert_true(pipe(worker->gate) == 0 && pipe(worker->done) == 0);
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
	while (worker->tid == 0)
		usleep(200);
}

static void let_work(void)
{
	char byte;

	for (size_t i = 0; i < worker_count; i++) {
		assert_int_equal(write(workers[i].gate[1], "x", 1), 1);
		assert_int_equal(read(workers[i].done[0], &byte, 1), 1);
	}
}

static void end_workers(void)
{
	while (worker_count > 0) {
		struct worker *worker = &workers[--worker_count];

		assert_int_equal(write(worker->gate[1], "x", 1), 1);
		expect_null(worker->thread);
		for (int i = 0; i < 2; i++) {
			close(worker->gate[i]);
			close(worker->done[i]);
		}
	}
}

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	long fd;

	if (refusal.times > 0 && args[1] == refusal.tid) {
		refusal.times--;
		return refuse_with(refusal.error);
	}
	fd = open_really(real, args);
	if (fd >= 0 && births.left > 0 && attr->inherit && (int)args[2] == births.cpu &&
	    (pid_t)args[1] == getpid()) {
		births.left--;
		start_worker();
	}
	return fd;
}

/* ------------------------------------------------------------------------- found while polling */

static struct pm_plan *plan;
static struct pm_session *session;

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	told += (pid_t)sample->tid == workers[0].tid;
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

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * The library lists threads each 50 ms, if it is polled: the time between is waited for so often,
 * as it may be over at once where other programs take the CPU.
 */
static void poll_listings(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		const int64_t end = now_ms() + 60;

		/* A fault of ours, or of a sanitizer, ends a poll. */
		do
			assert_true(pm_session_poll(session, 10) >= 0);
		while (now_ms() < end);
	}
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
		refusal.tid = workers[0].tid;
		refusal.error = ESRCH;
		refusal.times = 1;
		poll_listings(4);
		assert_int_equal(refusal.times, 0);
		/* Where new threads are announced, both that had this number are. */
		assert_int_equal(stats_now().late_threads, 2 - i);
		assert_int_equal(stats_now().unwatched_threads, 0);
		let_work();
		poll_listings(1);
		assert_true(told >= FAULTS);
		end_workers();
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
		refusal.tid = workers[0].tid;
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
		end_workers();
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
	end_workers();
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
		end_workers();
		poll_listings(1);
		assert_true(session->events.count < 4);
	}
	assert_true(stats_now().late_threads >= 15 && stats_now().samples >= 15 * FAULTS);
	end();
}

/* ------------------------------------------------------------------------- born while attaching */

static bool begin_with_births(enum pm_strategy strategy, unsigned int count)
{
	const struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .rounds = ROUNDS,
					      .descriptors_percent = 100,
					      .forbid = ~(1u << strategy) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_event_spec spec = faults;

	spec.want = 0;
	if (strategy != PM_STRATEGY_PER_CPU)
		spec.period = 0;
	births.cpu = strategy == PM_STRATEGY_COUNTERS ? -1 : sched_getcpu();
	if (pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan) < 0) {
		print_message("%s\n", diag.text);
		return false;
	}
	session = pm_session_create(plan, &listener, NULL);
	births.left = count;
	if (pm_session_attach(session, &diag) < 0)
		fail_msg("%s", diag.text);
	assert_int_equal(births.left, 0);
	return true;
}

/* Each undertaking meets a thread more: what the last one does is counted, and once. */
static void counted_once(enum pm_strategy strategy)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;
	cpu_set_t all, here;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
	if (begin_with_births(strategy, ROUNDS)) {
		assert_int_equal(stats_now().late_threads, 1);
		assert_int_equal(pm_session_read(session, &before, 1), 1);
		let_work();
		assert_int_equal(pm_session_read(session, &after, 1), 1);
		assert_in_range(after.value - before.value, ROUNDS * FAULTS,
				ROUNDS * FAULTS + FAULTS / 2);
		end_workers();
		end();
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void counters_count_once(void **state)
{
	(void)state;
	counted_once(PM_STRATEGY_COUNTERS);
	counted_once(PM_STRATEGY_COUNTERS_PER_CPU);
}

/* What it does is told once, and counted once. */
static void born_at_the_first_undertaking(void **state)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;

	(void)state;
	if (!begin_with_births(PM_STRATEGY_PER_CPU, 1))
		skip();
	poll_listings(1);
	told = 0;	/* What it did to begin with. */
	assert_int_equal(pm_session_read(session, &before, 1), 1);
	let_work();
	assert_int_equal(pm_session_read(session, &after, 1), 1);
	poll_listings(1);
	assert_in_range(told, FAULTS, FAULTS + FAULTS / 2);
	assert_in_range(after.value - before.value, FAULTS, FAULTS + FAULTS / 2);
	assert_int_equal(stats_now().duplicates, 0);
	end_workers();
	end();
}

/* A thread of a later listing has events of its own beside others': no sum is given out. */
static void sums_that_hold_more(void **state)
{
	struct pm_value value = { .size = sizeof(value) };

	(void)state;
	if (!begin_with_births(PM_STRATEGY_PER_CPU, ROUNDS + 1))
		skip();
	assert_int_equal(pm_session_read(session, &value, 1), -ENOTSUP);
	let_work();
	end_workers();
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_that_comes_again),
		cmocka_unit_test(told_and_tried_again),
		cmocka_unit_test(timers_tried_again),
		cmocka_unit_test(what_ended_does_not_pile_up),
		cmocka_unit_test(counters_count_once),
		cmocka_unit_test(born_at_the_first_undertaking),
		cmocka_unit_test(sums_that_hold_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
