/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the count of an inherited task folded into its parent's exactly once when it ends? Under
 * churn a count could be lost, or be seen both in the living copy and in the folded sum.
 * Observed: threads cause exact numbers of page faults between ENABLE and DISABLE; the sum must be
 * the same when all have ended, and must never fall while some are ending.
 */
#include "probe.h"

PROBE(TITLE("counts of ended tasks in the sum")
      SINCE("2.6.31")
      POINT(threads, "eight threads: the sum after their end is the sum before")
      POINT(children, "eight children: the sum after their end is the sum before")
      POINT(times, "the times of ended threads stay in the sum as well")
      POINT(monotone_in_churn, "the sum never falls while threads come and go"))

#define TASKS 8
#define FAULTS 20
#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static int open_inherit(struct __test_metadata *_metadata, bool disabled, uint64_t format)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = disabled;
	attr.inherit = 1;
	attr.read_format = format;
	return must_open(&attr, 0, -1, -1, 0);
}

static void fold(struct __test_metadata *_metadata, enum worker_kind kind)
{
	int fd = open_inherit(_metadata, true, 0);
	struct worker workers[TASKS];
	uint64_t alive, ended;

	for (int i = 0; i < TASKS; i++)
		must_start(&workers[i], kind);
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < TASKS; i++)
		ASSERT_EQ(0, worker_faults(&workers[i], FAULTS + i));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	alive = must_count(fd);
	for (int i = 0; i < TASKS; i++)
		ASSERT_EQ(0, worker_stop(&workers[i]));
	ended = must_count(fd);
	if (alive != TASKS * FAULTS + TASKS * (TASKS - 1) / 2 || ended != alive)
		broken("alive=%" PRIu64 " ended=%" PRIu64 " want=%d", alive, ended,
		       TASKS * FAULTS + TASKS * (TASKS - 1) / 2);
}

TEST(threads)
{
	fold(_metadata, WORKER_THREAD);
}

TEST(children)
{
	fold(_metadata, WORKER_CHILD);
}

TEST(times)
{
	int fd = open_inherit(_metadata, false, TIMES);
	struct pm_counts alive, ended;
	struct worker worker;

	must_start(&worker, WORKER_THREAD);
	ASSERT_EQ(0, worker_faults(&worker, FAULTS));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, pm_read_counts(fd, TIMES, &alive));
	ASSERT_EQ(0, worker_stop(&worker));
	ASSERT_EQ(0, pm_read_counts(fd, TIMES, &ended));
	if (!alive.time_running || ended.time_enabled < alive.time_enabled ||
	    ended.time_running < alive.time_running)
		broken("enabled %" PRIu64 " then %" PRIu64 ", running %" PRIu64 " then %" PRIu64,
		       alive.time_enabled, ended.time_enabled, alive.time_running,
		       ended.time_running);
}

static void *fault_once(void *unused)
{
	(void)unused;
	cause_faults(FAULTS);
	return NULL;
}

/* Read as fast as can be while three threads at a time are born and die. */
TEST(monotone_in_churn)
{
	int fd = open_inherit(_metadata, false, 0);
	uint64_t last = 0, now;

	for (int round = 0; round < 40; round++) {
		pthread_t threads[3];

		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, fault_once, NULL));
		for (int reads = 0; reads < 30; reads++) {
			now = must_count(fd);
			if (now < last)
				broken("round %d: %" PRIu64 " after %" PRIu64, round, now, last);
			last = now;
		}
		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_join(threads[i], NULL));
	}
	now = must_count(fd);
	if (now < 40 * 3 * FAULTS)
		broken("sum=%" PRIu64 " want at least %d", now, 40 * 3 * FAULTS);
}

PROBE_MAIN
