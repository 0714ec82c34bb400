/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does a sibling's descriptor read? Its own read_format decides: itself alone, or the whole
 * group, so that whoever holds one descriptor can have all values.
 * Observed: leader and siblings count different, exact numbers of page faults, and are read through
 * a sibling that reads the group, and through one that does not.
 */
#include "probe.h"

PROBE(TITLE("reading a group by a sibling")
      SINCE("2.6.32")
      POINT(sibling_reads_group, "a sibling with PERF_FORMAT_GROUP reads the whole group")
      POINT(by_own_format, "a member without PERF_FORMAT_GROUP reads itself alone"))

#define GROUP_FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_ID)

FIXTURE(sibling)
{
	int whole, lone;		/* of the group, of itself */
	struct pm_counts group;		/* as the leader reads it */
};

/* The leader counts 3 + 4 + 5 faults, the first sibling the last 4 + 5, the second the last 5. */
FIXTURE_SETUP(sibling)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int leader, error;

	attr.read_format = GROUP_FORMAT;
	leader = must_open(&attr, 0, -1, -1, 0);
	self->whole = must_open(&attr, 0, -1, leader, 0);
	attr.read_format = PERF_FORMAT_ID;
	self->lone = must_open(&attr, 0, -1, leader, 0);
	error = cause_faults(1);
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	error = error ?: cause_faults(3);
	must_ioctl(self->whole, PERF_EVENT_IOC_ENABLE, 0);
	error = error ?: cause_faults(4);
	must_ioctl(self->lone, PERF_EVENT_IOC_ENABLE, 0);
	error = error ?: cause_faults(5);
	must_ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	if (error)
		say_unknown("no page faults: %s", pm_errno_name(error));
	self->group = must_counts(leader, GROUP_FORMAT);
}

FIXTURE_TEARDOWN(sibling)
{
}

TEST_F(sibling, sibling_reads_group)
{
	const struct pm_counts counts = must_counts(self->whole, GROUP_FORMAT);
	static const uint64_t want[] = { 3 + 4 + 5, 4 + 5, 5 };

	if (counts.nr != 3)
		say_broken("nr=%" PRIu64 " want=3", counts.nr);
	for (int i = 0; i < 3; i++)
		if (counts.member[i].id != self->group.member[i].id ||
		    counts.member[i].value != want[i])
			say_broken("member %d: id=%" PRIu64 " want=%" PRIu64 ", value=%" PRIu64
				   " want=%" PRIu64,
				   i, counts.member[i].id, self->group.member[i].id,
				   counts.member[i].value, want[i]);
}

TEST_F(sibling, by_own_format)
{
	const struct pm_counts counts = must_counts(self->lone, PERF_FORMAT_ID);

	if (counts.nr != 1 || counts.member[0].value != 5 ||
	    counts.member[0].id != self->group.member[2].id)
		say_broken("nr=%" PRIu64 " value=%" PRIu64 " want=1,5, id=%" PRIu64
			   " want=%" PRIu64,
			   counts.nr, counts.member[0].value, counts.member[0].id,
			   self->group.member[2].id);
}

PROBE_MAIN
