/* SPDX-License-Identifier: MIT */
/*
 * Sessions on the running kernel: threads that cause exactly known numbers of page faults, seen by
 * each strategy. Where perf is refused, what needs it is skipped and the timers are still tested.
 */
#include "../test.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "sessions.h"

#define THREADS 6
#define PAGES 40

static struct worker {
	pthread_t thread;
	char *area;
	_Atomic uint32_t tid;
	int go[2], done[2];
	unsigned int seen[PAGES];
} workers[THREADS];

static size_t page_size;
static unsigned int others, tasks_born, tasks_ended;

static void touch(struct worker *worker)
{
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)worker->area)[i * page_size] = 1;
}

static void *work(void *context)
{
	struct worker *worker = context;
	char byte;

	worker->tid = (uint32_t)pm_gettid();
	if (read(worker->go[0], &byte, 1) == 1)
		touch(worker);
	if (write(worker->done[1], "x", 1) != 1 || read(worker->go[0], &byte, 1) != 1)
		return NULL;
	return NULL;
}

static void start_worker(struct worker *worker)
{
	memset(worker, 0, sizeof(*worker));
	assert_true(pipe(worker->go) == 0 && pipe(worker->done) == 0);
	worker->area = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(worker->area != MAP_FAILED);
	(void)madvise(worker->area, PAGES * page_size, MADV_NOHUGEPAGE);
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
}

static void let_work(struct worker *worker)
{
	char byte;

	assert_int_equal(write(worker->go[1], "x", 1), 1);
	assert_int_equal(read(worker->done[0], &byte, 1), 1);
}

static void end_worker(struct worker *worker)
{
	assert_int_equal(write(worker->go[1], "x", 1), 1);
	assert_int_equal(pthread_join(worker->thread, NULL), 0);
	munmap(worker->area, PAGES * page_size);
	for (int i = 0; i < 2; i++) {
		close(worker->go[i]);
		close(worker->done[i]);
	}
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	assert_ptr_equal(context, workers);
	assert_int_equal(sample->pid, getpid());
	for (int i = 0; i < THREADS; i++) {
		uint64_t begin = (uintptr_t)workers[i].area;

		/* Others may use the same addresses later. */
		if (workers[i].tid == sample->tid && sample->address >= begin &&
		    sample->address < begin + PAGES * page_size) {
			workers[i].seen[(sample->address - begin) / page_size]++;
			return;
		}
	}
	others++;
}

static void on_task(void *context, int tid, int parent, uint64_t time)
{
	(void)context;
	(void)time;
	assert_true(tid > 0);
	if (parent >= 0)
		tasks_born++;
	else
		tasks_ended++;
}

static const struct pm_listener listener = {
	.size = sizeof(listener), .sample = on_sample, .task = on_task,
};

static struct pm_session *attached(struct pm_plan *plan, enum pm_strategy want)
{
	struct pm_session *session = pm_session_create(plan, &listener, workers);
	struct pm_diag diag = { .size = sizeof(diag) };
	int err = pm_session_attach(session, &diag);

	if (err < 0)
		fail_msg("%d %s", err, diag.text);
	assert_int_equal(err, want);
	assert_int_equal(pm_plan_strategy(plan), want);
	assert_int_equal(pm_session_attach(session, &diag), -EALREADY);
	return session;
}

static void poll_a_while(struct pm_session *session)
{
	for (int i = 0; i < 10; i++)
		assert_true(pm_session_poll(session, 10) >= 0);
}

static void check_seen(const struct pm_stats *stats)
{
	assert_int_equal(stats->lost, 0);
	assert_int_equal(stats->corrupt, 0);
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < PAGES; k++)
			if (workers[i].seen[k] != 1)
				fail_msg("thread %d page %d: %u times", i, k, workers[i].seen[k]);
}

/* Half of the threads are older than the session, half of all end before it does. */
static void census(enum pm_strategy strategy)
{
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_plan *plan = plan_of(&faults, 1, strategy, NULL);
	struct pm_session *session;
	int before;

	if (plan == NULL)
		skip();
	others = 0;
	for (int i = 0; i < THREADS / 2; i++)
		start_worker(&workers[i]);
	before = count_descriptors() + 2 * THREADS / 2 * 2;
	session = attached(plan, strategy);
	for (int i = THREADS / 2; i < THREADS; i++)
		start_worker(&workers[i]);
	poll_a_while(session);
	for (int i = 0; i < THREADS; i++)
		let_work(&workers[i]);
	for (int i = 0; i < THREADS; i += 2)
		end_worker(&workers[i]);
	poll_a_while(session);
	assert_int_equal(pm_session_detach(session), 0);
	assert_int_equal(pm_session_stats(session, &stats), 0);
	assert_int_equal(pm_session_poll(session, 0), -ENOTCONN);
	assert_int_equal(count_maps(NULL), 0);
	check_seen(&stats);
	for (int i = 1; i < THREADS; i += 2)
		end_worker(&workers[i]);
	assert_int_equal(count_descriptors(), before - 2 * THREADS / 2 * 2 - 4 * THREADS / 2);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void census_per_core(void **state)
{
	(void)state;
	tasks_born = tasks_ended = 0;
	census(PM_STRATEGY_PER_CORE);
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
	struct pm_plan *plan = plan_of(specs, 2, PM_STRATEGY_PER_CORE, NULL);
	struct pm_session *session;
	struct pm_value values[2];

	(void)state;
	if (plan == NULL)
		skip();
	session = attached(plan, PM_STRATEGY_PER_CORE);
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

static void attach_while_threads_come_and_go(void **state)
{
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_diag diag = { .size = sizeof(diag) };
	pthread_t churner;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CORE, NULL);
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
			check_seen(&stats);
		}
		for (int i = 0; i < THREADS; i++)
			end_worker(&workers[i]);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
}

static void counts_are_exact(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_COUNT, NULL);
	struct pm_value before, after;
	struct pm_session *session;

	(void)state;
	if (plan == NULL)
		skip();
	for (int i = 0; i < THREADS; i++)
		start_worker(&workers[i]);
	session = attached(plan, PM_STRATEGY_COUNT);
	assert_int_equal(pm_session_read(session, &before, 1), 1);
	for (int i = 0; i < THREADS; i++)
		let_work(&workers[i]);
	assert_int_equal(pm_session_read(session, &after, 1), 1);
	/* The workers' stacks and the allocator may fault a little as well. */
	assert_in_range(after.value - before.value, THREADS * PAGES,
			THREADS * PAGES * 3 / 2);
	for (int i = 0; i < THREADS; i++)
		end_worker(&workers[i]);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* -------------------------------------------------------------------------------------- timers */

static unsigned int ticks_of[2];
static int spinner_tid;

static void *spin(void *context)
{
	uint64_t now = 0;

	spinner_tid = pm_gettid();
	while (pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now) == 0 && now < 150000000)
		;
	return context;
}

static void on_tick(void *context, const struct pm_observed *sample)
{
	(void)context;
	assert_true(sample->time != 0 && sample->period >= 1000000);
	ticks_of[(int)sample->tid == spinner_tid]++;
}

static void timers_see_a_busy_thread(void **state)
{
	const struct pm_listener ticks = { .size = sizeof(ticks), .sample = on_tick };
	struct pm_plan *plan = plan_of(&clock_of_all, 1, PM_STRATEGY_TIMERS, NULL);
	struct pm_session *session = pm_session_create(plan, &ticks, NULL);
	struct sigaction action;
	struct pm_value value;
	pthread_t thread;

	(void)state;
	assert_non_null(plan);
	memset(ticks_of, 0, sizeof(ticks_of));
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_TIMERS);
	assert_int_equal(pm_session_read(session, &value, 1), -ENOTSUP);
	assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
	for (int i = 0; i < 40; i++)
		assert_true(pm_session_poll(session, 10) >= 0);
	pthread_join(thread, NULL);
	assert_int_equal(pm_session_detach(session), 0);
	/* 100 ms at least after it was noticed, at a tick of 10 ms on the coarsest kernels */
	assert_in_range(ticks_of[1], 5, 200);
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

static void stops_at_once(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CORE, NULL);
	struct pm_session *session;
	pthread_t thread;
	void *result;
	uint64_t begin;

	(void)state;
	if (plan == NULL)
		skip();
	session = attached(plan, PM_STRATEGY_PER_CORE);
	assert_int_equal(pthread_create(&thread, NULL, run, session), 0);
	usleep(30000);
	begin = now_ns();
	assert_int_equal(pm_session_stop(session), 0);
	assert_true(now_ns() - begin < 100000000);
	pthread_join(thread, &result);
	assert_null(result);
	/* A stop that comes first is not lost. */
	pm_session_stop(session);
	assert_int_equal(pm_session_run(session), 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void a_forked_child_delivers_nothing(void **state)
{
	struct pm_plan *plan = plan_of(&faults, 1, PM_STRATEGY_PER_CORE, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	int status;
	pid_t child;

	(void)state;
	if (plan == NULL)
		skip();
	session = attached(plan, PM_STRATEGY_PER_CORE);
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
	assert_true(stats.foreign > 0);
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
		cmocka_unit_test(census_per_core),
		cmocka_unit_test(census_per_thread),
		cmocka_unit_test(two_events_keep_apart),
		cmocka_unit_test(attach_while_threads_come_and_go),
		cmocka_unit_test(counts_are_exact),
		cmocka_unit_test(timers_see_a_busy_thread),
		cmocka_unit_test(timers_respect_another_profiler),
		cmocka_unit_test(stops_at_once),
		cmocka_unit_test(a_forked_child_delivers_nothing),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
