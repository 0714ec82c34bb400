/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do ids of generic hardware events say that are none? New ones are added at the end of the
 * lists; a tool must learn from an errno that it is too new. Observed: ids beyond each list, the
 * first also where there is no PMU.
 */
#include "probe.h"
#include "hardware.h"

PROBE(TITLE("ids of no hardware event")
      SINCE("2.6.31")
      POINT(event, "hardware event 1000 is refused with ENOENT, EINVAL or EOPNOTSUPP")
      POINT(cache, "cache id 7 is refused with EINVAL or ENOENT")
      NEEDS("pmu")
      POINT(operation, "cache operation 3 is refused with EINVAL or ENOENT")
      NEEDS("pmu")
      POINT(result, "cache result 2 is refused with EINVAL or ENOENT")
      NEEDS("pmu"))

TEST(event)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr = attr_of(PERF_TYPE_HARDWARE, 1000);
	attr.exclude_kernel = attr.exclude_hv = 1;	/* or privileges are asked first */
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd == -EPERM || fd == -EACCES) {	/* of these bits, by a PMU that has none of them */
		attr.exclude_kernel = attr.exclude_hv = 0;
		fd = pm_open(&attr, 0, -1, -1, 0);
	}
	if (fd >= 0)
		say_broken("hardware event 1000 is accepted");
	if (fd == -EPERM || fd == -EACCES)
		expect_refused(fd, EINVAL, BROKEN, "an id outside of the list");
	if (fd != -ENOENT && fd != -EINVAL && fd != -EOPNOTSUPP)
		say_broken("errno=%s want=ENOENT, EINVAL or EOPNOTSUPP", pm_errno_name(fd));
}

static void refuse(uint64_t config)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HW_CACHE, config);
	struct perf_event_attr control = attr_hardware();
	int fd;

	close(must_open(&control, 0, -1, -1, 0));
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd != -ENOENT)
		expect_refused(fd, EINVAL, BROKEN, "an id outside of the lists");
}

TEST(cache)
{
	refuse(PERF_COUNT_HW_CACHE_MAX);
}

TEST(operation)
{
	refuse(PERF_COUNT_HW_CACHE_OP_MAX << 8);
}

TEST(result)
{
	refuse(PERF_COUNT_HW_CACHE_RESULT_MAX << 16);
}

PROBE_MAIN
