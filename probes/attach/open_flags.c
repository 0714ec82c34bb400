/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do PERF_FLAG_FD_NO_GROUP and PERF_FLAG_FD_OUTPUT do? The manual calls the second broken;
 * it is not, when its target is mapped first. Observed: members of a group read, records that
 * arrive in the other event's ring, and the answer where that ring is not there.
 * Linux ac9721f3f54b ("perf_events: Fix races and clean up perf_event and perf_mmap_data
 * interaction") (v2.6.35): output needs a mapped target.
 */
#include "probe.h"

PROBE(TITLE("a group descriptor for output only")
      SINCE("2.6.32")
      POINT(no_group_stays_out, "FD_NO_GROUP: the event is no member of the named group")
      POINT(group_without_flag, "without a flag the same call makes a group of two")
      SINCE("2.6.31")
      POINT(output_arrives, "FD_OUTPUT: samples arrive in the ring of the mapped target")
      SINCE("2.6.35")
      COMMIT("ac9721f3f54b")
      POINT(output_without_group, "FD_OUTPUT and FD_NO_GROUP: the same, and no group")
      SINCE("2.6.35")
      POINT(unmapped_target, "FD_OUTPUT to an event without a ring is refused with EINVAL")
      SINCE("2.6.35")
      POINT(no_target, "FD_OUTPUT and FD_NO_GROUP without a descriptor are accepted and ignored")
      POINT(unknown_flag, "an undefined flag is refused with EINVAL"))

#define FD_NO_GROUP (1ul << 0)
#define FD_OUTPUT (1ul << 1)

static struct perf_event_attr member_faults(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_GROUP;
	return attr;
}

static uint64_t members_of(struct __test_metadata *_metadata, unsigned long flags)
{
	struct perf_event_attr attr = member_faults();
	struct pm_counts counts;
	int leader = must_open(&attr, 0, -1, -1, 0);
	int fd = pm_open(&attr, 0, -1, leader, flags);

	if (fd < 0)
		broken("flags %#lx with a leader: %s", flags, errno_name(fd));
	ASSERT_EQ(0, pm_read_counts(leader, PERF_FORMAT_GROUP, &counts));
	return counts.nr;
}

TEST(no_group_stays_out)
{
	uint64_t members = members_of(_metadata, FD_NO_GROUP);

	if (members != 1)
		broken("members=%" PRIu64 " want=1", members);
}

TEST(group_without_flag)
{
	uint64_t members = members_of(_metadata, 0);

	if (members != 2)
		broken("members=%" PRIu64 " want=2", members);
}

/* How many of 16 samples of a source, and how many members, its target's ring and group show. */
static int forwarded(struct __test_metadata *_metadata, unsigned long flags, uint64_t *members)
{
	struct perf_event_attr quiet = member_faults(), attr = member_faults();
	struct pm_counts counts;
	struct watch target;
	int fd;

	quiet.config = PERF_COUNT_SW_CPU_MIGRATIONS;
	target = must_watch(&quiet, 0, -1, 4);
	fd = pm_open(&attr, 0, -1, target.fd, flags);
	if (fd < 0)
		broken("flags %#lx with a mapped target: %s", flags, errno_name(fd));
	ASSERT_EQ(0, pm_read_counts(target.fd, PERF_FORMAT_GROUP, &counts));
	*members = counts.nr;
	for (int i = 0; i < 2; i++) {	/* reading the ring's first page is a fault, too */
		cause_faults(1);
		count_records(&target.ring, PERF_RECORD_SAMPLE);
	}
	ASSERT_EQ(0, cause_faults(16));
	return count_records(&target.ring, PERF_RECORD_SAMPLE);
}

TEST(output_arrives)
{
	uint64_t members;
	int samples = forwarded(_metadata, FD_OUTPUT, &members);

	if (samples != 16)
		broken("samples=%d want=16", samples);
}

TEST(output_without_group)
{
	uint64_t members;
	int samples = forwarded(_metadata, FD_OUTPUT | FD_NO_GROUP, &members);

	if (samples != 16 || members != 1)
		broken("samples=%d want=16, members=%" PRIu64 " want=1", samples, members);
}

TEST(unmapped_target)
{
	struct perf_event_attr attr = member_faults();
	int target = must_open(&attr, 0, -1, -1, 0);

	hold_rule(pm_open(&attr, 0, -1, target, FD_OUTPUT), EINVAL, NO,
		  "FD_OUTPUT to an unmapped event");
}

TEST(no_target)
{
	struct perf_event_attr attr = member_faults();
	uint64_t gain;
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.read_format = 0;
	fd = pm_open(&attr, 0, -1, -1, FD_OUTPUT | FD_NO_GROUP);
	if (fd < 0)
		say_no("%s with both flags and no descriptor, ok without", errno_name(fd));
	gain = gain_of_faults(fd, NULL, 16);
	if (gain != 16)
		broken("counted=%" PRIu64 " want=16", gain);
}

TEST(unknown_flag)
{
	struct perf_event_attr attr = member_faults();

	close(must_open(&attr, 0, -1, -1, 0));
	hold_rule(pm_open(&attr, 0, -1, -1, 1ul << 30), EINVAL, BROKEN, "open flag 1 << 30");
}

PROBE_MAIN
