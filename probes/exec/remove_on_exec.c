/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attr.remove_on_exec: is the event taken off its task at execve(2)? A watcher of one program does
 * not want to go on with whatever that program becomes.
 * Observed: exact page-fault counts before, none after, the last value still readable; other events
 * of the task keep what is theirs.
 * Linux 2e498d0a74e5 ("perf: Add support for event removal on exec") (v5.13)
 */
#include "probe.h"
#include "come_and_go.h"
#include "fork_exec.h"

PROBE(TITLE("events that are removed at execve")
      SINCE("5.13")
      COMMIT("2e498d0a74e5")
      POINT(counts_before, "counts exactly before execve")
      POINT(silent_after, "counts nothing after execve, and the last value stays readable")
      POINT(not_by_fork, "a fork or a thread of the task does not remove it")
      POINT(others_stay, "an event without the bit on the same task counts on"))

#define FAULTS 14

static struct perf_event_attr removed(void)
{
	struct perf_event_attr attr = attr_counter(false);

	attr.remove_on_exec = 1;
	return attr;
}

FIXTURE(remove)
{
	struct worker child;
	int fd;
};

FIXTURE_SETUP(remove)
{
	const struct perf_event_attr attr = removed(), without = attr_counter(false);

	must_start_worker(&self->child, WORKER_CHILD);
	self->fd = ask_open(&attr, &without, self->child.tid, -1, "remove_on_exec");
}

FIXTURE_TEARDOWN(remove)
{
	worker_stop(&self->child);
}

TEST_F(remove, counts_before)
{
	expect_gain(self->fd, &self->child, FAULTS, FAULTS);
}

TEST_F(remove, silent_after)
{
	uint64_t last;

	expect_gain(self->fd, &self->child, FAULTS, FAULTS);
	last = must_count(self->fd);
	must_exec_worker(&self->child);
	if (must_count(self->fd) < last)
		say_broken("last=%" PRIu64 " after execve=%" PRIu64, last, must_count(self->fd));
	expect_gain(self->fd, &self->child, FAULTS, 0);
}

TEST_F(remove, not_by_fork)
{
	ASSERT_EQ(0, worker_do(&self->child, worker_come_and_go, NULL));
	expect_gain(self->fd, &self->child, FAULTS, FAULTS);
}

TEST_F(remove, others_stay)
{
	const struct perf_event_attr attr = attr_counter(false);
	int other = must_open(&attr, self->child.tid, -1, -1, 0);

	must_exec_worker(&self->child);
	expect_gain(other, &self->child, FAULTS, FAULTS);
	expect_gain(self->fd, &self->child, FAULTS, 0);
}

PROBE_MAIN
