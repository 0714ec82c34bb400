/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which events cannot be given a limit of samples? One that does not sample has nothing to limit,
 * and the children of an inherited one would each need a limit of their own.
 * Observed: the twin without that trait takes the limit and keeps it.
 */
#include "probe.h"

PROBE(TITLE("events that IOC_REFRESH refuses")
      SINCE("2.6.31")
      POINT(counting_is_refused, "EINVAL for an event that does not sample")
      SINCE("2.6.37")
      POINT(inherited_is_refused, "EINVAL for an inherited event"))

/* Refused for this event, while a plain sampler takes a limit of one and keeps it. */
static void must_refuse(const struct perf_event_attr *attr, enum verdict accepted, const char *what)
{
	struct perf_event_attr plain = attr_faults(PERF_SAMPLE_IP);
	int twin = must_open(&plain, 0, -1, -1, 0), fd = must_open(attr, 0, -1, -1, 0);

	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(twin, PERF_EVENT_IOC_REFRESH, 1);
	ASSERT_EQ(0, cause_faults(3));
	if (must_count(twin) != 1)
		say_broken("the twin counted %" PRIu64 " of 3 with a limit of 1", must_count(twin));
	expect_refused(pm_ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL, accepted, what);
}

TEST(counting_is_refused)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	must_refuse(&attr, NO, "REFRESH of an event that does not sample");
}

TEST(inherited_is_refused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	attr.inherit = 1;
	must_refuse(&attr, BROKEN, "REFRESH of an inherited event");
}

PROBE_MAIN
