/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does PERF_FLAG_FD_NO_GROUP keep an event out of the group whose leader is named? Observed: how
 * many members a read of that leader shows, with the flag and without; and the answer to a flag
 * that does not exist.
 */
#include "probe.h"

PROBE(TITLE("opening beside a group")
      SINCE("2.6.32")
      POINT(no_group_stays_out, "FD_NO_GROUP: the event is no member of the named group")
      POINT(group_without_flag, "without a flag the same call makes a group of two")
      SINCE("2.6.31")
      POINT(unknown_flag, "an undefined flag is refused with EINVAL"))

static struct perf_event_attr member_faults(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_GROUP;
	return attr;
}

static uint64_t members_of(unsigned long flags)
{
	struct perf_event_attr attr = member_faults();
	int leader = must_open(&attr, 0, -1, -1, 0);
	int fd = pm_open(&attr, 0, -1, leader, flags);

	if (fd < 0)
		say_broken("flags %#lx with a leader: %s", flags, pm_errno_name(fd));
	return must_counts(leader, PERF_FORMAT_GROUP).nr;
}

TEST(no_group_stays_out)
{
	uint64_t members = members_of(PERF_FLAG_FD_NO_GROUP);

	if (members != 1)
		say_broken("members=%" PRIu64 " want=1", members);
}

TEST(group_without_flag)
{
	uint64_t members = members_of(0);

	if (members != 2)
		say_broken("members=%" PRIu64 " want=2", members);
}

TEST(unknown_flag)
{
	struct perf_event_attr attr = member_faults();

	close(must_open(&attr, 0, -1, -1, 0));
	expect_refused(pm_open(&attr, 0, -1, -1, 1ul << 30), EINVAL, BROKEN, "open flag 1 << 30");
}

PROBE_MAIN
