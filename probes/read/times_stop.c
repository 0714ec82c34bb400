/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When do time_enabled and time_running stand still? While the event is disabled and while its task
 * does not run, or every rate is wrong.
 * Observed: both are read twice around a busy stretch of somebody else, in which neither may move.
 */
#include "probe.h"
#include "timed.h"

PROBE(TITLE("times that stand still")
      SINCE("2.6.31")
      POINT(stops_disabled, "they stand still while the event is disabled")
      POINT(stops_asleep, "they stand still while the task sleeps")
      POINT(stops_dead, "they stand still after the task's end"))

#define FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define SPIN 2000000u

static void want_still(const struct pm_counts *before, const struct pm_counts *after)
{
	if (after->time_enabled != before->time_enabled ||
	    after->time_running != before->time_running)
		say_broken("enabled +%" PRIu64 " ns, running +%" PRIu64 " ns, want 0",
			   after->time_enabled - before->time_enabled,
			   after->time_running - before->time_running);
	if (!before->time_enabled || !before->time_running)
		say_broken("enabled=%" PRIu64 " running=%" PRIu64 " although it had run",
			   before->time_enabled, before->time_running);
}

/* An event with both times, on a task that has run until they show. */
static int open_timed(struct worker *worker)
{
	struct perf_event_attr attr = attr_counter(false);
	int fd;

	attr.read_format = FORMAT;
	fd = must_open(&attr, worker ? worker->tid : 0, -1, -1, 0);
	spin_until_timed(fd, worker);
	return fd;
}

TEST(stops_disabled)
{
	int fd = open_timed(NULL);
	struct pm_counts before, after;

	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = must_counts(fd, FORMAT);
	spin_ns(SPIN);
	after = must_counts(fd, FORMAT);
	want_still(&before, &after);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int tries = 0; tries < 50 && before.time_enabled == after.time_enabled; tries++)
		before = spin_until_timed(fd, NULL);
	if (before.time_enabled <= after.time_enabled)
		say_broken("enabled again, and yet time_enabled stays %" PRIu64,
			   after.time_enabled);
}

/* The worker may need a moment to fall asleep: bounded tries until two reads agree. */
TEST(stops_asleep)
{
	struct pm_counts before, after;
	struct worker child;
	int fd, tries = 0;

	must_start_worker(&child, WORKER_CHILD);
	fd = open_timed(&child);
	do {
		spin_ns(SPIN / 4);
		before = must_counts(fd, FORMAT);
		spin_ns(SPIN);
		after = must_counts(fd, FORMAT);
	} while (after.time_enabled != before.time_enabled && tries++ < 200);
	want_still(&before, &after);
	worker_stop(&child);
}

TEST(stops_dead)
{
	struct pm_counts before, after;
	struct worker child;
	int fd;

	must_start_worker(&child, WORKER_CHILD);
	fd = open_timed(&child);
	ASSERT_EQ(0, worker_stop(&child));
	before = must_counts(fd, FORMAT);
	spin_ns(SPIN);
	after = must_counts(fd, FORMAT);
	want_still(&before, &after);
}

PROBE_MAIN
