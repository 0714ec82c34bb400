/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of the siblings when the leader's descriptor is closed? They are to become groups
 * of one and count on. Kernels before v6.12.105 and others of that time could free the leader
 * while a sibling still led to it, so this never runs by default.
 * Observed: siblings gain exact page-fault counts after the close, and their group read has one
 * member, themselves. Kernels that split a group keep the size of the group's read
 * for its siblings and fill the rest with zeros: nr tells the number of members, the length of
 * the read does not.
 */
#include "probe.h"

PROBE(TITLE("siblings after the leader is closed")
      SINCE("2.6.31")
      HAZARD("closing a group leader frees it under its siblings on some kernels before 6.12.105")
      POINT(siblings_count, "each sibling still counts exactly after its leader is closed")
      POINT(groups_of_one, "after its leader is closed, the group read of a sibling has one "
	    "member with its own id")
      POINT(own_way, "after their leader is closed, one sibling can be disabled without the other")
      FACT(rest, int, "bytes", "zeros behind the one member in the group read of a sibling"))

#define FAULTS 8
#define FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_ID)

static ssize_t rest;

static struct pm_counts must_read(int fd)
{
	uint64_t words[1 + 2 * 3] = { 0 };
	ssize_t size = read(fd, words, sizeof(words));
	struct pm_counts counts = { .nr = 0 };
	int used = size < 0 ? -errno : pm_counts_decode(words, (size_t)size, FORMAT, &counts);

	if (used < 0)
		say_unknown("a sibling's read of %zd bytes: %s", size, pm_errno_name(used));
	rest = size - used;
	for (ssize_t at = used / 8; at < size / 8; at++)
		if (words[at])
			say_broken("word %zd behind nr=%" PRIu64 " members: %#" PRIx64, at,
				   counts.nr, words[at]);
	return counts;
}

/* Twice, so that the second reading finds all that it needs mapped and adds no fault. */
static void read_values(const int *fds, uint64_t *values)
{
	for (int twice = 0; twice < 2; twice++)
		for (int i = 1; i < 3; i++)
			values[i] = must_read(fds[i]).member[0].value;
}

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
		say_unknown("the group reads %" PRIu64 " members", self->group.nr);
	close(self->fds[0]);
}

FIXTURE_TEARDOWN(leader_close)
{
}

TEST_F(leader_close, siblings_count)
{
	uint64_t before[3], after[3];

	ASSERT_EQ(0, cause_faults(1));
	read_values(self->fds, before);
	ASSERT_EQ(0, cause_faults(FAULTS));
	read_values(self->fds, after);
	for (int i = 1; i < 3; i++)
		if (after[i] - before[i] != FAULTS)
			say_broken("sibling %d: gained=%" PRIu64 " want=%d", i,
				   after[i] - before[i], FAULTS);
}

TEST_F(leader_close, groups_of_one)
{
	for (int i = 1; i < 3; i++) {
		struct pm_counts counts = must_read(self->fds[i]);

		if (counts.nr != 1 || counts.member[0].id != self->group.member[i].id)
			say_broken("sibling %d: nr=%" PRIu64 " id=%" PRIu64 " want=%" PRIu64, i,
				   counts.nr, counts.member[0].id, self->group.member[i].id);
	}
	fact_int("rest", rest);
}

TEST_F(leader_close, own_way)
{
	uint64_t before[3], after[3];

	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(self->fds[1], PERF_EVENT_IOC_DISABLE, 0);
	read_values(self->fds, before);
	ASSERT_EQ(0, cause_faults(FAULTS));
	read_values(self->fds, after);
	if (after[1] != before[1] || after[2] != before[2] + FAULTS)
		say_broken("disabled +%" PRIu64 " want=0, enabled +%" PRIu64 " want=%d",
			   after[1] - before[1], after[2] - before[2], FAULTS);
}

PROBE_MAIN
