/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the count of an inherited task folded into its parent's exactly once when it ends? It could be
 * lost, or be there twice, as the living copy and in the folded sum.
 * Observed: threads cause exact numbers of page faults between ENABLE and DISABLE; the sum must be
 * the same when all have ended, and so must the times.
 */
#include "probe.h"
#include "timed.h"

PROBE(TITLE("counts of ended tasks in the sum")
      SINCE("2.6.31")
      POINT(threads, "eight threads: the sum after their end is the sum before")
      POINT(children, "eight children: the sum after their end is the sum before")
      POINT(times, "the times of ended threads stay in the sum as well"))

#define TASKS 8
#define FAULTS 20
#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static int open_inherit(bool disabled, uint64_t format)
{
	struct perf_event_attr attr = attr_counter(true);

	attr.disabled = disabled;
	attr.read_format = format;
	return must_open(&attr, 0, -1, -1, 0);
}

static void fold(enum worker_kind kind)
{
	int fd = open_inherit(true, 0);
	struct worker workers[TASKS];
	uint64_t alive, ended;

	for (int i = 0; i < TASKS; i++)
		must_start_worker(&workers[i], kind);
	/* A rehearsal: what the way there costs this task after its forks is not to be counted. */
	for (int i = 0; i < TASKS; i++)
		ASSERT_EQ(0, worker_faults(&workers[i], 1));
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < TASKS; i++)
		ASSERT_EQ(0, worker_faults(&workers[i], FAULTS + i));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	alive = must_count(fd);
	for (int i = 0; i < TASKS; i++)
		ASSERT_EQ(0, worker_stop(&workers[i]));
	ended = must_count(fd);
	if (alive != TASKS * FAULTS + TASKS * (TASKS - 1) / 2 || ended != alive)
		say_broken("alive=%" PRIu64 " ended=%" PRIu64 " want=%d", alive, ended,
			   TASKS * FAULTS + TASKS * (TASKS - 1) / 2);
}

TEST(threads)
{
	fold(WORKER_THREAD);
}

TEST(children)
{
	fold(WORKER_CHILD);
}

TEST(times)
{
	int fd = open_inherit(false, TIMES);
	struct pm_counts alive, ended;
	struct worker worker;

	must_start_worker(&worker, WORKER_THREAD);
	ASSERT_EQ(0, worker_faults(&worker, FAULTS));
	spin_until_timed(fd, &worker);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, pm_read_counts(fd, TIMES, &alive));
	ASSERT_EQ(0, worker_stop(&worker));
	ASSERT_EQ(0, pm_read_counts(fd, TIMES, &ended));
	if (!alive.time_running || ended.time_enabled < alive.time_enabled ||
	    ended.time_running < alive.time_running)
		say_broken("enabled %" PRIu64 " then %" PRIu64 ", running %" PRIu64
			   " then %" PRIu64,
			   alive.time_enabled, ended.time_enabled, alive.time_running,
			   ended.time_running);
}

PROBE_MAIN
