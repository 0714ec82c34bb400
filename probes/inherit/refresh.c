/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can an inherit event be limited to a number of overflows? The kernel refuses, because each copy
 * would have a limit of its own.
 * Observed: the answer to REFRESH of an inherit event; a plain one stops after one page fault.
 */
#include "probe.h"

PROBE(TITLE("REFRESH of an inherit event")
      SINCE("2.6.31")
      POINT(refresh, "REFRESH of an inherit event is refused with EINVAL"))

/* Page faults, never a clock: REFRESH of a clock hangs some kernels. */
TEST(refresh)
{
	struct perf_event_attr attr = attr_faults(0);
	int fd = must_open(&attr, 0, -1, -1, 0), got;

	must_ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);	/* the control, without inherit */
	ASSERT_EQ(0, cause_faults(5));
	if (must_count(fd) != 1)
		say_broken("counted=%" PRIu64 " want=1, and then a stop", must_count(fd));
	attr.inherit = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	got = pm_ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
	if (got >= 0)
		say_no("REFRESH of an inherit event is accepted");
	if (got != -EINVAL)
		say_broken("errno=%s want=EINVAL", pm_errno_name(got));
}

PROBE_MAIN
