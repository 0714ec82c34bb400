/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attr.enable_on_exec: does a disabled event start by itself when its task executes a program?
 * So a profiler counts the program and not its own preparations.
 * Observed: exact page-fault counts of a child before and after it executes this program anew.
 */
#include "probe.h"

PROBE(TITLE("events that start at execve")
      SINCE("2.6.31")
      POINT(off_before, "counts nothing before execve")
      POINT(on_after, "counts exactly after execve")
      POINT(once, "disabled again, it starts again at the next execve or not at all: see the fact")
      POINT(not_by_thread, "the end of another thread or a fork does not start it")
      POINT(sibling, "siblings with the bit start with the leader")
      SINCE("3.3")
      POINT(plain_sibling, "siblings without the bit, but enabled, start with the leader")
      POINT(inherited_copy, "the copy in a child starts at the child's execve")
      POINT(parent_stays_off, "and the event of the parent stays off")
      FACT(again, bool, "-", "a second execve starts it again after DISABLE"))

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
	must_start(&self->child, WORKER_CHILD);
	self->fd = must_open(&attr, self->child.tid, -1, -1, 0);
}

FIXTURE_TEARDOWN(enable)
{
	worker_stop(&self->child);
}

static void must_exec(struct __test_metadata *_metadata, struct worker *child)
{
	int error = worker_exec(child, NULL);

	if (error)
		cannot_tell("the child could not execute this program: %s", errno_name(error));
}

static void want(struct __test_metadata *_metadata, int fd, struct worker *worker, int faults)
{
	uint64_t gain = gain_of_faults(fd, worker, FAULTS);

	if (gain != (uint64_t)faults)
		broken("gained=%" PRIu64 " want=%d", gain, faults);
}

TEST_F(enable, off_before)
{
	want(_metadata, self->fd, &self->child, 0);
	must_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0);		/* the control */
	want(_metadata, self->fd, &self->child, FAULTS);
}

TEST_F(enable, on_after)
{
	must_exec(_metadata, &self->child);
	want(_metadata, self->fd, &self->child, FAULTS);
}

/* The kernel clears the bit when it fires, so the second execve is no second start. */
TEST_F(enable, once)
{
	uint64_t gain;

	must_exec(_metadata, &self->child);
	want(_metadata, self->fd, &self->child, FAULTS);
	must_ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0);
	want(_metadata, self->fd, &self->child, 0);
	must_exec(_metadata, &self->child);
	gain = gain_of_faults(self->fd, &self->child, FAULTS);
	fact_bool("again", gain > 0);
	if (gain && gain != FAULTS)
		broken("gained=%" PRIu64 " want=0 or %d", gain, FAULTS);
}

static int come_and_go(void *argument)
{
	struct worker *other = argument;

	return worker_start(other, WORKER_THREAD) ?: worker_stop(other) ?:
	       worker_start(other, WORKER_CHILD) ?: worker_stop(other);
}

TEST_F(enable, not_by_thread)
{
	struct worker other;

	ASSERT_EQ(0, worker_do(&self->child, come_and_go, &other));
	want(_metadata, self->fd, &self->child, 0);
	must_exec(_metadata, &self->child);
	want(_metadata, self->fd, &self->child, FAULTS);
}

TEST_F(enable, sibling)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS_MIN);
	int sibling;

	attr.enable_on_exec = 1;
	sibling = must_open(&attr, self->child.tid, -1, self->fd, 0);
	want(_metadata, sibling, &self->child, 0);
	must_exec(_metadata, &self->child);
	want(_metadata, sibling, &self->child, FAULTS);
	want(_metadata, self->fd, &self->child, FAULTS);
}

TEST_F(enable, plain_sibling)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS_MIN);
	int sibling;

	attr.disabled = 0;
	sibling = must_open(&attr, self->child.tid, -1, self->fd, 0);
	want(_metadata, sibling, &self->child, 0);
	must_exec(_metadata, &self->child);
	want(_metadata, sibling, &self->child, FAULTS);
}

static int open_on_self(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.enable_on_exec = 1;
	attr.inherit = 1;
	return must_open(&attr, 0, -1, -1, 0);
}

TEST(inherited_copy)
{
	int fd = open_on_self(_metadata);
	struct worker child;

	must_start(&child, WORKER_CHILD);
	want(_metadata, fd, &child, 0);
	must_exec(_metadata, &child);
	want(_metadata, fd, &child, FAULTS);
	worker_stop(&child);
}

TEST(parent_stays_off)
{
	int fd = open_on_self(_metadata);
	struct worker child;

	must_start(&child, WORKER_CHILD);
	must_exec(_metadata, &child);
	want(_metadata, fd, NULL, 0);
	want(_metadata, fd, &child, FAULTS);
	worker_stop(&child);
}

PROBE_MAIN
