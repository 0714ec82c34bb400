/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does PERF_FLAG_FD_OUTPUT do? The manual calls it broken; it is not, when its target is
 * mapped first. Observed: records that arrive in the other event's ring, and the answer where that
 * ring is not there.
 * Linux ac9721f3f54b ("perf_events: Fix races and clean up perf_event and perf_mmap_data
 * interaction") (v2.6.35): output needs a mapped target.
 */
#include "probe.h"

PROBE(TITLE("a group descriptor for output only")
      SINCE("2.6.32")
      POINT(output_arrives, "FD_OUTPUT: samples arrive in the ring of the mapped target")
      SINCE("2.6.35")
      COMMIT("ac9721f3f54b")
      POINT(output_without_group, "PERF_FLAG_FD_OUTPUT and FD_NO_GROUP: the same, and no group")
      SINCE("2.6.35")
      POINT(unmapped_target, "FD_OUTPUT to an event without a ring is refused with EINVAL")
      SINCE("2.6.35")
      POINT(no_target, "FD_OUTPUT and FD_NO_GROUP without a descriptor are accepted and ignored"))

static struct perf_event_attr member_faults(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_GROUP;
	return attr;
}

#define BOTH (PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP)

/* How many of 16 samples of a source, and how many members, its target's ring and group show. */
static int forwarded(unsigned long flags, uint64_t *members)
{
	struct perf_event_attr quiet = member_faults(), attr = member_faults();
	struct sampler target;
	int fd;

	quiet.config = PERF_COUNT_SW_CPU_MIGRATIONS;
	target = must_sampler(&quiet, 0, -1, 4);
	fd = pm_open(&attr, 0, -1, target.fd, flags);
	if (fd < 0)
		say_broken("flags %#lx with a mapped target: %s", flags, pm_errno_name(fd));
	*members = must_counts(target.fd, PERF_FORMAT_GROUP).nr;
	return samples_of_faults(&target, NULL, 16);
}

TEST(output_arrives)
{
	uint64_t members;
	int samples = forwarded(PERF_FLAG_FD_OUTPUT, &members);

	if (samples != 16)
		say_broken("samples=%d want=16", samples);
}

TEST(output_without_group)
{
	uint64_t members;
	int samples = forwarded(BOTH, &members);

	if (samples != 16 || members != 1)
		say_broken("samples=%d want=16, members=%" PRIu64 " want=1", samples, members);
}

TEST(unmapped_target)
{
	struct perf_event_attr attr = member_faults();
	int target = must_open(&attr, 0, -1, -1, 0);

	expect_refused(pm_open(&attr, 0, -1, target, PERF_FLAG_FD_OUTPUT), EINVAL, NO,
		       "FD_OUTPUT to an unmapped event");
}

TEST(no_target)
{
	struct perf_event_attr attr = member_faults();
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.read_format = 0;
	attr.disabled = 1;
	fd = pm_open(&attr, 0, -1, -1, BOTH);
	if (fd == -EBADF || fd == -EINVAL)
		say_no("%s with both flags and no descriptor, ok without", pm_errno_name(fd));
	if (fd < 0)
		say_unknown("%s with both flags and no descriptor", pm_errno_name(fd));
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, 16, 16);
}

PROBE_MAIN
