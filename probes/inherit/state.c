/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do inherited copies follow ENABLE and DISABLE of the descriptor? A tool switches counting on and
 * off for a whole program with one ioctl, and expects new tasks to start in the same state.
 * Observed: exact gains while a thread or a child, existing or new, causes page faults.
 */
#include "probe.h"

#include <sys/prctl.h>

PROBE(TITLE("state of inherited events")
      SINCE("2.6.31")
      POINT(starts_enabled, "the copy of an enabled event counts, although attr.disabled is set")
      POINT(starts_disabled, "the copy of a disabled event does not count, although attr.disabled "
	    "is 0")
      POINT(enable_reaches, "ENABLE starts the copies of living threads and children")
      POINT(disable_reaches, "DISABLE stops the copies of living threads and children")
      POINT(prctl_reaches, "PR_TASK_PERF_EVENTS_DISABLE stops the copies of living threads and "
	    "children"))

#define FAULTS 11

static int open_inherit(bool disabled)
{
	struct perf_event_attr attr = attr_counter(true);

	attr.disabled = disabled;
	return must_open(&attr, 0, -1, -1, 0);
}

TEST(starts_enabled)
{
	int fd = open_inherit(true);
	struct worker worker;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	must_start_worker(&worker, WORKER_THREAD);
	expect_gain(fd, &worker, FAULTS, FAULTS);
}

TEST(starts_disabled)
{
	int fd = open_inherit(false);
	struct worker worker;

	expect_gain(fd, NULL, FAULTS, FAULTS);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	must_start_worker(&worker, WORKER_THREAD);
	expect_gain(fd, &worker, FAULTS, 0);
}

TEST(enable_reaches)
{
	int fd = open_inherit(true);
	struct worker thread, child;

	must_start_worker(&thread, WORKER_THREAD);
	must_start_worker(&child, WORKER_CHILD);
	expect_gain(fd, &thread, FAULTS, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, &thread, FAULTS, FAULTS);
	expect_gain(fd, &child, FAULTS, FAULTS);
	worker_stop(&child);
}

TEST(disable_reaches)
{
	int fd = open_inherit(false);
	struct worker thread, child;

	must_start_worker(&thread, WORKER_THREAD);
	must_start_worker(&child, WORKER_CHILD);
	expect_gain(fd, &thread, FAULTS, FAULTS);
	expect_gain(fd, &child, FAULTS, FAULTS);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_gain(fd, &thread, FAULTS, 0);
	expect_gain(fd, &child, FAULTS, 0);
	worker_stop(&child);
}

TEST(prctl_reaches)
{
	int fd = open_inherit(false);
	struct worker thread;

	must_start_worker(&thread, WORKER_THREAD);
	expect_gain(fd, &thread, FAULTS, FAULTS);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
	expect_gain(fd, &thread, FAULTS, 0);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0));
	expect_gain(fd, &thread, FAULTS, FAULTS);
}

PROBE_MAIN
