/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does PR_TASK_PERF_EVENTS_DISABLE leave alone what others have opened on the calling thread?
 * Observed: exact page faults on events opened by another thread and by another process.
 */
#include "probe.h"
#include <sys/prctl.h>

PROBE(TITLE("prctl and events that others opened")
      SINCE("2.6.31")
      POINT(not_opened_by_others, "an event that another process opened on this one goes on")
      POINT(thread_scope, "an event that another thread of this process opened goes on"))

static int open_on(pid_t pid)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	return must_open(&attr, pid, -1, -1, 0);
}

/* An event that a worker opens on another task and keeps. */
struct opening {
	pid_t task;
	int fd;
};

static int open_counter(void *argument)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct opening *opening = argument;

	attr.disabled = 0;
	opening->fd = pm_open(&attr, opening->task, -1, -1, 0);
	return opening->fd;
}

TEST(thread_scope)
{
	struct opening opening = { .task = pm_gettid() };
	int own = open_on(0);
	struct worker other;

	must_start_worker(&other, WORKER_THREAD);
	if (worker_do(&other, open_counter, &opening) < 0)
		say_unknown("another thread may not watch this one: %s", pm_errno_name(opening.fd));
	expect_gain(opening.fd, NULL, 10, 10);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE));
	expect_gain(own, NULL, 10, 0);
	expect_gain(opening.fd, NULL, 10, 10);
}

/* In the other process: what its event has counted so far. */
static int count_now(void *argument)
{
	const struct opening *opening = argument;
	uint64_t count = 0;

	return pm_read_count(opening->fd, &count) ? -1 : (int)count;
}

/* A child has its own copy of what it is given; this one keeps the opening in its memory. */
static struct opening in_child;

TEST(not_opened_by_others)
{
	int own = open_on(0), before, between, after;
	struct worker other;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);	/* Yama would let only parents watch */
	in_child.task = getpid();
	must_start_worker(&other, WORKER_CHILD);
	if (worker_do(&other, open_counter, &in_child) < 0)
		say_blocked("the child may not watch its parent");
	before = worker_do(&other, count_now, &in_child);
	ASSERT_EQ(0, cause_faults(10));
	between = worker_do(&other, count_now, &in_child);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE));
	expect_gain(own, NULL, 10, 0);
	after = worker_do(&other, count_now, &in_child);
	/* fork made pages fault again: 10 or more */
	if (before < 0 || between - before < 10 || after - between < 10)
		say_broken("the child's event counted %d,%d,%d, want 10 more each time", before,
			   between, after);
}

PROBE_MAIN
