/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of the siblings when the leader's descriptor is closed? They are to become groups
 * of one and count on. Kernels before v6.12.105 and others of that time could free the leader
 * while a sibling still led to it, so this never runs by default.
 * Observed: siblings gain exact page-fault counts after the close, and their group read has one
 * member, themselves.
 */
#include "probe.h"

PROBE(TITLE("siblings after the leader is closed")
      SINCE("2.6.31")
      HAZARD("closing a group leader frees it under its siblings on some kernels before 6.12.105")
      POINT(siblings_count, "each sibling counts on, exactly")
      POINT(groups_of_one, "the group read of a sibling has one member, with its own id")
      POINT(own_way, "one sibling can be disabled without the other"))

#define FAULTS 8
#define FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_ID)

FIXTURE(leader_close)
{
	int fds[3];
	struct pm_counts group;
};

FIXTURE_SETUP(leader_close)
{
	struct perf_event_attr attr = attr_counter(false);

	attr.read_format = FORMAT;
	for (int i = 0; i < 3; i++)
		self->fds[i] = must_open(&attr, 0, -1, i ? self->fds[0] : -1, 0);
	self->group = must_counts(self->fds[0], FORMAT);
	if (self->group.nr != 3)
		cannot_tell("the group reads %" PRIu64 " members", self->group.nr);
	close(self->fds[0]);
}

FIXTURE_TEARDOWN(leader_close)
{
}

TEST_F(leader_close, siblings_count)
{
	struct pm_counts before[3], after;

	ASSERT_EQ(0, cause_faults(1));
	for (int i = 1; i < 3; i++)
		before[i] = must_counts(self->fds[i], FORMAT);
	ASSERT_EQ(0, cause_faults(FAULTS));
	for (int i = 1; i < 3; i++) {
		after = must_counts(self->fds[i], FORMAT);
		if (after.member[0].value - before[i].member[0].value != FAULTS)
			broken("sibling %d: gained=%" PRIu64 " want=%d", i,
			       after.member[0].value - before[i].member[0].value, FAULTS);
	}
}

TEST_F(leader_close, groups_of_one)
{
	for (int i = 1; i < 3; i++) {
		struct pm_counts counts = must_counts(self->fds[i], FORMAT);

		if (counts.nr != 1 || counts.member[0].id != self->group.member[i].id)
			broken("sibling %d: nr=%" PRIu64 " id=%" PRIu64 " want=%" PRIu64, i,
			       counts.nr, counts.member[0].id, self->group.member[i].id);
	}
}

TEST_F(leader_close, own_way)
{
	struct pm_counts before[3], after[3];

	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(self->fds[1], PERF_EVENT_IOC_DISABLE, 0);
	for (int i = 1; i < 3; i++)
		before[i] = must_counts(self->fds[i], FORMAT);
	ASSERT_EQ(0, cause_faults(FAULTS));
	for (int i = 1; i < 3; i++)
		after[i] = must_counts(self->fds[i], FORMAT);
	if (after[1].member[0].value != before[1].member[0].value ||
	    after[2].member[0].value != before[2].member[0].value + FAULTS)
		broken("disabled +%" PRIu64 " want=0, enabled +%" PRIu64 " want=%d",
		       after[1].member[0].value - before[1].member[0].value,
		       after[2].member[0].value - before[2].member[0].value, FAULTS);
}

PROBE_MAIN
