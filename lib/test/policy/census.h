/* SPDX-License-Identifier: MIT */
/* Threads that cause exactly known numbers of page faults; each is to be reported once. */
#ifndef CENSUS_H
#define CENSUS_H

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

static inline void touch(struct worker *worker)
{
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)worker->area)[i * page_size] = 1;
}

static inline void *work(void *context)
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

static inline void start_worker(struct worker *worker)
{
	memset(worker, 0, sizeof(*worker));
	assert_true(pipe(worker->go) == 0 && pipe(worker->done) == 0);
	worker->area = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(worker->area != MAP_FAILED);
	(void)madvise(worker->area, PAGES * page_size, MADV_NOHUGEPAGE);
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
}

static inline void let_work(struct worker *worker)
{
	char byte;

	assert_int_equal(write(worker->go[1], "x", 1), 1);
	assert_int_equal(read(worker->done[0], &byte, 1), 1);
}

static inline void end_worker(struct worker *worker)
{
	assert_int_equal(write(worker->go[1], "x", 1), 1);
	assert_int_equal(pthread_join(worker->thread, NULL), 0);
	munmap(worker->area, PAGES * page_size);
	for (int i = 0; i < 2; i++) {
		close(worker->go[i]);
		close(worker->done[i]);
	}
}

static inline void on_sample(void *context, const struct pm_observed *sample)
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

static inline void on_task(void *context, int tid, int parent, uint64_t time)
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

static inline struct pm_session *attached(struct pm_plan *plan, enum pm_strategy want)
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

/* The library lists threads each 50 ms; what there is to deliver ends a poll at once. */
static inline void poll_a_while(struct pm_session *session)
{
	uint64_t end = 0, now = 0;

	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &end), 0);
	end += 100000000;
	for (int i = 0; i < 10 || now < end; i++) {
		assert_true(pm_session_poll(session, 10) >= 0);
		assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &now), 0);
	}
}

static inline void check_seen(const struct pm_stats *stats)
{
	assert_int_equal(stats->lost, 0);
	assert_int_equal(stats->corrupt, 0);
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < PAGES; k++)
			if (workers[i].seen[k] != 1)
				fail_msg("thread %d page %d: %u times", i, k, workers[i].seen[k]);
}

/* Half of the threads are older than the session, half of all end before it does. */
static inline void census(enum pm_strategy strategy)
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

#endif
