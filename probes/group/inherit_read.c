/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can an inherited group be read as one? perf stat needs it to count a whole program in groups.
 * Observed: faults of a new thread are in every member of the group read, alive and after its
 * end; when the group has grown since the thread was made, the kernel must refuse the sum with
 * ECHILD, for the thread's copy of the group is another one.
 * Linux 32671e3799ca ("perf: Disallow mis-matched inherited group reads") (v6.6)
 */
#include "probe.h"

PROBE(TITLE("group read of inherited events")
      SINCE("4.13")
      POINT(alive, "each member's sum includes a living thread")
      POINT(ended, "each member's sum includes a thread that has ended")
      POINT(grown_group, "reading a group is ECHILD when the inherited copy of the group lacks a "
	    "later sibling")
      SINCE("6.6")
      COMMIT("32671e3799ca"))

#define FAULTS 13

static struct perf_event_attr member(bool inherit)
{
	struct perf_event_attr attr = attr_counter(inherit);

	attr.read_format = PERF_FORMAT_GROUP;
	return attr;
}

FIXTURE(inherit_read)
{
	struct worker worker;
	int leader;
};

/*
 * An event that is not inherited stands beside: if all were, the kernel could exchange the contexts
 * of this task and its thread, and the leader would no longer be one of this task (EINVAL).
 */
FIXTURE_SETUP(inherit_read)
{
	const struct perf_event_attr alone = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	const struct perf_event_attr attr = member(true), without = member(false);

	self->leader = ask_open(&attr, &without, 0, -1, "inherit with PERF_FORMAT_GROUP");
	must_open(&attr, 0, -1, self->leader, 0);
	must_open(&alone, 0, -1, -1, 0);
	must_start_worker(&self->worker, WORKER_THREAD);
}

FIXTURE_TEARDOWN(inherit_read)
{
	worker_stop(&self->worker);
}

static struct pm_counts sums(int leader)
{
	struct pm_counts counts = { .nr = 0 };
	int error = pm_read_counts(leader, PERF_FORMAT_GROUP, &counts);

	if (error)
		say_broken("group read: %s", pm_errno_name(error));
	if (counts.nr != 2)
		say_broken("nr=%" PRIu64 " want=2", counts.nr);
	return counts;
}

TEST_F(inherit_read, alive)
{
	struct pm_counts before, after;

	sums(self->leader);	/* every page of the way there has been touched now */
	before = sums(self->leader);
	ASSERT_EQ(0, worker_faults(&self->worker, FAULTS));
	after = sums(self->leader);
	for (int i = 0; i < 2; i++)
		if (after.member[i].value - before.member[i].value != FAULTS)
			say_broken("member %d: gained=%" PRIu64 " want=%d", i,
				   after.member[i].value - before.member[i].value, FAULTS);
}

TEST_F(inherit_read, ended)
{
	struct pm_counts start = sums(self->leader), alive, ended;

	ASSERT_EQ(0, worker_faults(&self->worker, FAULTS));
	must_ioctl(self->leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	alive = sums(self->leader);
	ASSERT_EQ(0, worker_stop(&self->worker));
	ended = sums(self->leader);
	for (int i = 0; i < 2; i++)
		if (alive.member[i].value < start.member[i].value + FAULTS ||
		    ended.member[i].value != alive.member[i].value)
			say_broken("member %d: start=%" PRIu64 " alive=%" PRIu64 " ended=%" PRIu64,
				   i, start.member[i].value, alive.member[i].value,
				   ended.member[i].value);
}

/* Only ever grown: a group that shrinks under its copies is dangerous to some kernels. */
TEST_F(inherit_read, grown_group)
{
	const struct perf_event_attr attr = member(true);
	struct pm_counts counts;
	int error;

	sums(self->leader);
	must_open(&attr, 0, -1, self->leader, 0);
	error = pm_read_counts(self->leader, PERF_FORMAT_GROUP, &counts);
	if (!error)
		say_no("the group read sums two different groups; ECHILD once it was the same");
	if (error != -ECHILD)
		say_broken("errno=%s want=ECHILD", pm_errno_name(error));
	ASSERT_EQ(0, worker_stop(&self->worker));
}

PROBE_MAIN
