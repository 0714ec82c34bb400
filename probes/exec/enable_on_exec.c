/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attr.enable_on_exec: does a disabled event start by itself when its task executes a program? With
 * it a profiler counts the program and not its own preparations.
 * Observed: exact page-fault counts of a child before and after it executes this program anew, of
 * an event with the bit and of one without.
 */
#include "probe.h"
#include "come_and_go.h"
#include "fork_exec.h"

PROBE(TITLE("events that start at execve")
      SINCE("2.6.31")
      POINT(off_before, "an event with enable_on_exec counts nothing before execve")
      POINT(on_after, "an event with enable_on_exec counts exactly after execve")
      POINT(once, "DISABLE after execve stops it; another execve starts it again or does not")
      POINT(not_by_thread, "a thread or a fork that comes and goes does not start the event")
      POINT(not_without, "a disabled event without enable_on_exec counts nothing after execve")
      FACT(again, bool, "-", "a second execve starts the event again after DISABLE"))

#define FAULTS 16

FIXTURE(enable)
{
	struct worker child;
	int fd;
};

FIXTURE_SETUP(enable)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.enable_on_exec = 1;
	must_start_worker(&self->child, WORKER_CHILD);
	self->fd = must_open(&attr, self->child.tid, -1, -1, 0);
}

FIXTURE_TEARDOWN(enable)
{
	worker_stop(&self->child);
}

TEST_F(enable, off_before)
{
	expect_gain(self->fd, &self->child, FAULTS, 0);
	must_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0);		/* the control */
	expect_gain(self->fd, &self->child, FAULTS, FAULTS);
}

TEST_F(enable, on_after)
{
	must_exec_worker(&self->child);
	expect_gain(self->fd, &self->child, FAULTS, FAULTS);
}

/* The kernel clears the bit when it fires, so the second execve is no second start. */
TEST_F(enable, once)
{
	uint64_t gain;

	must_exec_worker(&self->child);
	expect_gain(self->fd, &self->child, FAULTS, FAULTS);
	must_ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_gain(self->fd, &self->child, FAULTS, 0);
	must_exec_worker(&self->child);
	gain = gain_of_faults(self->fd, &self->child, FAULTS);
	fact_bool("again", gain > 0);
	if (gain && gain != FAULTS)
		say_broken("gained=%" PRIu64 " want=0 or %d", gain, FAULTS);
}

TEST_F(enable, not_by_thread)
{
	ASSERT_EQ(0, worker_do(&self->child, worker_come_and_go, NULL));
	expect_gain(self->fd, &self->child, FAULTS, 0);
	must_exec_worker(&self->child);
	expect_gain(self->fd, &self->child, FAULTS, FAULTS);
}

TEST_F(enable, not_without)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, self->child.tid, -1, -1, 0);

	must_exec_worker(&self->child);
	expect_gain(self->fd, &self->child, FAULTS, FAULTS);	/* the exec has happened */
	expect_gain(fd, &self->child, FAULTS, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);		/* the control */
	expect_gain(fd, &self->child, FAULTS, FAULTS);
}

PROBE_MAIN
