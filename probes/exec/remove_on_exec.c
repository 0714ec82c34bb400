/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attr.remove_on_exec: is the event taken off its task at execve(2)? A watcher of one program does
 * not want to go on with whatever that program becomes.
 * Observed: exact page-fault counts before, none after, the last value still readable, poll says
 * hang-up, and siblings or other tasks keep what is theirs.
 * Linux 2e498d0a74e5 ("perf: Add support for event removal on exec") (v5.13)
 */
#include "probe.h"

PROBE(TITLE("events that are removed at execve")
      SINCE("5.13")
      COMMIT("2e498d0a74e5")
      POINT(counts_before, "counts exactly before execve")
      POINT(silent_after, "counts nothing after execve, and the last value stays readable")
      POINT(hangs_up, "poll of the ring says POLLHUP after execve, and not before")
      POINT(not_by_fork, "a fork or a thread of the task does not remove it")
      POINT(inherited_copy, "the copy in a child is removed by the child's execve")
      POINT(parent_keeps, "and the parent's own event counts on")
      POINT(others_stay, "an event without the bit on the same task counts on")
      POINT(not_with_enable, "EINVAL together with enable_on_exec"))

#define FAULTS 14

static struct perf_event_attr counting(bool remove)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.disabled = 0;
	attr.remove_on_exec = remove;
	return attr;
}

FIXTURE(remove)
{
	struct worker child;
	int fd;
};

FIXTURE_SETUP(remove)
{
	const struct perf_event_attr attr = counting(true), without = counting(false);

	must_start(&self->child, WORKER_CHILD);
	self->fd = ask_open(&attr, &without, self->child.tid, -1, "remove_on_exec");
}

FIXTURE_TEARDOWN(remove)
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

TEST_F(remove, counts_before)
{
	want(_metadata, self->fd, &self->child, FAULTS);
}

TEST_F(remove, silent_after)
{
	uint64_t last;

	want(_metadata, self->fd, &self->child, FAULTS);
	last = must_count(self->fd);
	must_exec(_metadata, &self->child);
	if (must_count(self->fd) < last)
		broken("last=%" PRIu64 " after execve=%" PRIu64, last, must_count(self->fd));
	want(_metadata, self->fd, &self->child, 0);
}

TEST_F(remove, hangs_up)
{
	struct pm_ring ring;
	int before, after;

	must_map(self->fd, 4, &ring);
	before = poll_once(self->fd, POLLIN, 0);
	must_exec(_metadata, &self->child);
	after = poll_once(self->fd, POLLIN, 1000);
	if (before & POLLHUP || !(after & POLLHUP))
		broken("revents before=%#x after=%#x want POLLHUP", before, after);
}

static int come_and_go(void *argument)
{
	struct worker *other = argument;

	return worker_start(other, WORKER_THREAD) ?: worker_stop(other) ?:
	       worker_start(other, WORKER_CHILD) ?: worker_stop(other);
}

TEST_F(remove, not_by_fork)
{
	struct worker other;

	ASSERT_EQ(0, worker_do(&self->child, come_and_go, &other));
	want(_metadata, self->fd, &self->child, FAULTS);
}

TEST_F(remove, others_stay)
{
	const struct perf_event_attr attr = counting(false);
	int other = must_open(&attr, self->child.tid, -1, -1, 0);

	must_exec(_metadata, &self->child);
	want(_metadata, other, &self->child, FAULTS);
	want(_metadata, self->fd, &self->child, 0);
}

TEST_F(remove, inherited_copy)
{
	struct perf_event_attr attr = counting(true);
	struct worker heir;
	int fd;

	attr.inherit = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	must_start(&heir, WORKER_CHILD);
	want(_metadata, fd, &heir, FAULTS);
	must_exec(_metadata, &heir);
	want(_metadata, fd, &heir, 0);
	worker_stop(&heir);
}

TEST_F(remove, parent_keeps)
{
	struct perf_event_attr attr = counting(true);
	struct worker heir;
	int fd;

	attr.inherit = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	must_start(&heir, WORKER_CHILD);
	must_exec(_metadata, &heir);
	want(_metadata, fd, NULL, FAULTS);
	worker_stop(&heir);
}

TEST_F(remove, not_with_enable)
{
	struct perf_event_attr attr = counting(true);

	attr.enable_on_exec = 1;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN,
		  "remove_on_exec with enable_on_exec");
	attr.remove_on_exec = 0;
	must_open(&attr, 0, -1, -1, 0);
}

PROBE_MAIN
