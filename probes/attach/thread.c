/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does `pid` name a process or a thread? The kernel takes it as a thread id: a profiler that passes
 * getpid() watches the main thread only, and nothing tells it so.
 * Observed: exact page faults of the main thread and of a second one, attached to each id.
 */
#include "probe.h"

PROBE(TITLE("pid means thread")
      SINCE("2.6.31")
      POINT(process_id_is_main_thread, "pid = process id counts the main thread and no other")
      POINT(thread_id_is_that_thread, "pid = a thread's id counts that thread and no other")
      POINT(zero_is_this_thread, "pid = 0 counts the thread that opens and no other")
      POINT(opener_does_not_matter, "an event opened by one thread on another counts the other"))

struct gains {
	uint64_t main, other;
};

static struct gains gains_of(struct worker *worker, int fd)
{
	struct gains gains = { .main = gain_of_faults(fd, NULL, 16) };

	gains.other = gain_of_faults(fd, worker, 24);
	return gains;
}

TEST(process_id_is_main_thread)
{
	struct perf_event_attr attr = attr_counter(false);
	struct worker worker;
	struct gains gains;

	must_start_worker(&worker, WORKER_THREAD);
	gains = gains_of(&worker, must_open(&attr, getpid(), -1, -1, 0));
	if (gains.main != 16 || gains.other != 0)
		say_broken("main=%" PRIu64 " want=16, other=%" PRIu64 " want=0", gains.main,
			   gains.other);
}

TEST(thread_id_is_that_thread)
{
	struct perf_event_attr attr = attr_counter(false);
	struct worker worker;
	struct gains gains;

	must_start_worker(&worker, WORKER_THREAD);
	gains = gains_of(&worker, must_open(&attr, worker.tid, -1, -1, 0));
	if (gains.main != 0 || gains.other != 24)
		say_broken("main=%" PRIu64 " want=0, other=%" PRIu64 " want=24", gains.main,
			   gains.other);
}

static pid_t target;

static int open_target(void *unused)
{
	struct perf_event_attr attr = attr_counter(false);

	(void)unused;
	return pm_open(&attr, target, -1, -1, 0);
}

TEST(zero_is_this_thread)
{
	struct perf_event_attr attr = attr_counter(false);
	struct worker worker;
	struct gains gains;
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	must_start_worker(&worker, WORKER_THREAD);
	target = 0;
	fd = worker_do(&worker, open_target, NULL);
	ASSERT_LE(0, fd);
	gains = gains_of(&worker, fd);
	if (gains.main != 0 || gains.other != 24)
		say_broken("main=%" PRIu64 " want=0, other=%" PRIu64 " want=24", gains.main,
			   gains.other);
}

TEST(opener_does_not_matter)
{
	struct perf_event_attr attr = attr_counter(false);
	struct worker opener;
	uint64_t gain;
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	must_start_worker(&opener, WORKER_THREAD);
	target = pm_gettid();
	fd = worker_do(&opener, open_target, NULL);
	ASSERT_LE(0, fd);
	gain = gain_of_faults(fd, NULL, 16) + gain_of_faults(fd, &opener, 24);
	if (gain != 16)
		say_broken("counted=%" PRIu64 " want=16", gain);
}

PROBE_MAIN
